package wire_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"millrace/wire"
)

func events(stream string) *wire.EventReader {
	return new(wire.Scanner).Events(wire.JSON, strings.NewReader(stream))
}

// told is everything that a stream has to say, up to and with the error that
// ends it: one line each.
func told(r *wire.EventReader) []string {
	var lines []string
	for {
		e, err := r.Next()
		var scan *wire.ScanError
		switch {
		case errors.As(err, &scan):
			lines = append(lines, fmt.Sprintf("bad %s: %v", scan.Key, scan.Err))
		case err != nil:
			return append(lines, err.Error())
		case e.Status != nil:
			lines = append(lines, fmt.Sprintf("%s %d %s", e.Type, e.Status.Code, e.Status.Message))
		default:
			lines = append(lines, fmt.Sprintf("%s %s@%s %v", e.Type, e.Object.Key(), e.Object.ResourceVersion(), e.InitialEventsEnd))
		}
	}
}

func event(kind, name, rv string) string {
	return fmt.Sprintf(`{"type":%q,"object":{"kind":"Pod","metadata":{"name":%q,"namespace":"n","resourceVersion":%q}}}`+"\n", kind, name, rv)
}

func expect(t *testing.T, got []string, want ...string) {
	t.Helper()
	if g, w := strings.Join(got, "\n"), strings.Join(want, "\n"); g != w {
		t.Errorf("told:\n%s\nwant:\n%s", g, w)
	}
}

func TestAWatchStreamTellsItsEventsInOrder(t *testing.T) {
	expect(t, told(events(event("ADDED", "a", "1")+event("MODIFIED", "a", "2")+event("DELETED", "a", "3"))),
		"ADDED n/a@1 false", "MODIFIED n/a@2 false", "DELETED n/a@3 false", "EOF")
}

func TestABookmarkTellsWhenTheInitialEventsEnd(t *testing.T) {
	const bookmark = `{"type":"BOOKMARK","object":{"kind":"Pod","metadata":{"resourceVersion":"9","annotations":{"k8s.io/initial-events-end":%s}}}}`
	expect(t, told(events(fmt.Sprintf(bookmark, `"true"`)+fmt.Sprintf(bookmark, `"tr\u0075e"`)+fmt.Sprintf(bookmark, `"false"`)+fmt.Sprintf(bookmark, `null`)+`{"type":"BOOKMARK","object":{"metadata":{"resourceVersion":"10"}}}`)),
		"BOOKMARK /@9 true", "BOOKMARK /@9 true", "BOOKMARK /@9 false", "BOOKMARK /@9 false", "BOOKMARK /@10 false", "EOF")
}

func TestAnErrorEventCarriesItsStatus(t *testing.T) {
	e, err := events(`{"type":"ERROR","object":{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"too old resource version: 1 (5)","reason":"Expired","code":410}}`).Next()
	if err != nil || e.Status == nil || e.Status.Reason != metav1.StatusReasonExpired || e.Status.Code != 410 {
		t.Fatalf("%+v, %v", e, err)
	}
}

func TestAnErrorEventWithoutAStatusIsStillAnError(t *testing.T) {
	for _, object := range []string{`{"kind":"Pod","metadata":{"name":"a"}}`, `"gone"`, `{"status":5}`} {
		e, err := events(`{"type":"ERROR","object":` + object + `}`).Next()
		if err != nil || e.Status == nil || !strings.Contains(e.Status.Message, object) || e.Status.Code != 500 {
			t.Errorf("%+v, %v", e, err)
		}
	}
}

func TestFramesNeedNoLineFeedAndMayHaveMany(t *testing.T) {
	one := event("ADDED", "a", "1")
	indented := "\r\n\t{\n \"object\" : {\n\"metadata\" : { \"name\":\"b\",\n\"resourceVersion\":\"2\"}\n}\n,\n\"type\" :\n\"ADDED\" }\n\n"
	expect(t, told(events(strings.TrimSpace(one)+strings.TrimSpace(one)+indented+one)),
		"ADDED n/a@1 false", "ADDED n/a@1 false", "ADDED /b@2 false", "ADDED n/a@1 false", "EOF")
}

func TestAnEventIsToldWhenItsLastByteIsThere(t *testing.T) {
	r, w := io.Pipe()
	got := make(chan string)
	go func() {
		reader := new(wire.Scanner).Events(wire.JSON, r)
		for range 2 {
			e, err := reader.Next()
			if err != nil {
				t.Error(err)
				close(got)
				return
			}
			got <- e.Object.Key().Name
		}
	}()
	for _, name := range []string{"a", "b"} {
		if _, err := io.WriteString(w, strings.TrimSpace(event("ADDED", name, "1"))); err != nil {
			t.Fatal(err)
		}
		if seen := <-got; seen != name {
			t.Errorf("%q, want %q", seen, name)
		}
	}
}

func TestAStreamThatEndsWithinAFrameIsUnexpected(t *testing.T) {
	frame := strings.TrimSpace(event("ADDED", "a", "1"))
	for n := 1; n < len(frame); n++ {
		r := events(event("ADDED", "b", "1") + frame[:n])
		if _, err := r.Next(); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			if _, err := r.Next(); !errors.Is(err, io.ErrUnexpectedEOF) {
				t.Fatalf("after %d bytes: %v", n, err)
			}
		}
	}
}

func TestABadObjectIsToldAndTheStreamGoesOn(t *testing.T) {
	good := event("MODIFIED", "good", "5")
	tests := []struct{ name, frame, want string }{
		{"labels are no map", `{"type":"ADDED","object":{"metadata":{"name":"a","namespace":"n","labels":[]}}}`, "bad n/a: byte 74: want an object for labels"},
		{"no name", `{"type":"ADDED","object":{"metadata":{"namespace":"n"}}}`, "bad n/: no name in its metadata"},
		{"no object", `{"type":"MODIFIED"}`, "bad /: no name in its metadata"},
		{"null", `{"type":"DELETED","object":null}`, "bad /: byte 27: want an object"},
		{"a bookmark of nothing", `{"type":"BOOKMARK","object":{"metadata":{}}}`, "bad /: no resourceVersion in a bookmark"},
		{"an unknown type", `{"type":"RENAMED","object":{"metadata":{"name":"a"}}}`, `bad /a: unknown type "RENAMED" of a watch event`},
		{"no type", `{"object":{"metadata":{"name":"a"}}}`, `bad /a: unknown type "" of a watch event`},
		{"no event", `["ADDED"]`, "bad /: byte 0: want an object with type and object"},
		{"no JSON", `{"type":"ADDED","object":{"metadata":{"name":"a"},}}`, "bad /a: not JSON at byte 50: want a member name"},
		{"a line feed in a string", `{"type":"ADDED","object":{"metadata":{"name":"a","uid":"` + "\n" + `{"type":"ADDED","object":{"metadata":{"name":"c"}}}`, "bad /a: not JSON at byte 56: control character in a string\nADDED /c@ false"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			expect(t, told(events(good+test.frame+"\n"+good)),
				"MODIFIED n/good@5 false", test.want, "MODIFIED n/good@5 false", "EOF")
		})
	}
}

// Wherever an object breaks off, it takes no other with it: half a TaskRun that
// ended within a list had the event after it read as more of that list, and
// passed over together with it (seed 388 of the storms).
func TestABrokenFrameTakesNoOtherWithIt(t *testing.T) {
	const object = `{"kind":"Pod","metadata":{"name":"a","namespace":"n","resourceVersion":"7","labels":{"x":"y"}},"spec":{"list":[{"b":[1,2,{}]},{"c":"d"}],"no":false,"n":1.5e3}}`
	good := event("MODIFIED", "good", "5")
	for half := range len(object) {
		for _, end := range []string{"}\n", "\n", "}\r\n", "}\n\n"} {
			got := told(events(`{"type":"ADDED","object":` + object[:half] + end + good + good))
			if len(got) != 4 || !slices.Equal(got[1:], []string{"MODIFIED n/good@5 false", "MODIFIED n/good@5 false", "EOF"}) || !strings.HasPrefix(got[0], "bad ") {
				t.Errorf("cut before byte %d, %q: %q", half, object[half:], got)
			}
		}
	}
}

func TestABrokenFrameIsToldAtOnce(t *testing.T) {
	r, w := io.Pipe()
	got := make(chan error)
	go func() {
		_, err := new(wire.Scanner).Events(wire.JSON, r).Next()
		got <- err
	}()
	if _, err := io.WriteString(w, `{"type":nope`); err != nil {
		t.Fatal(err)
	}
	var scan *wire.ScanError
	if err := <-got; !errors.As(err, &scan) {
		t.Errorf("%v", err)
	}
}

func TestAnErrorOfTheSourceIsPassedOnAndStays(t *testing.T) {
	reset := errors.New("connection reset")
	frame := event("ADDED", "a", "1")
	for _, n := range []int{0, 10, len(frame)} {
		r := new(wire.Scanner).Events(wire.JSON, io.MultiReader(strings.NewReader(frame[:n]), iotest.ErrReader(reset)))
		if n == len(frame) {
			if _, err := r.Next(); err != nil {
				t.Fatal(err)
			}
		}
		for range 2 {
			if _, err := r.Next(); !errors.Is(err, reset) {
				t.Errorf("after %d bytes: %v", n, err)
			}
		}
	}
}

func TestALongFrameIsReadAndATooLongOneIsNot(t *testing.T) {
	long := `{"type":"ADDED","object":{"metadata":{"name":"a"},"x":"` + strings.Repeat("y", 5<<20) + `"}}`
	expect(t, told(events(long+event("ADDED", "b", "1")+long)), "ADDED /a@ false", "ADDED n/b@1 false", "ADDED /a@ false", "EOF")

	endless := io.MultiReader(strings.NewReader(`{"type":"ADDED","object":{"metadata":{"name":"`), endless('x'))
	r := new(wire.Scanner).Events(wire.JSON, endless)
	for range 2 {
		if _, err := r.Next(); !errors.Is(err, wire.ErrTooLarge) {
			t.Fatalf("%v", err)
		}
	}
}

type endless byte

func (e endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = byte(e)
	}
	return len(p), nil
}

func TestASourceThatGivesNothingForEverIsAnError(t *testing.T) {
	if _, err := new(wire.Scanner).Events(wire.JSON, idle{}).Next(); !errors.Is(err, io.ErrNoProgress) {
		t.Errorf("%v", err)
	}
}

type idle struct{}

func (idle) Read([]byte) (int, error) { return 0, nil }

func TestNestingBeyondTheBoundIsRefused(t *testing.T) {
	nested := func(n int) string {
		return `{"metadata":{"name":"a"},"x":` + strings.Repeat("[", n) + strings.Repeat("]", n) + `}`
	}
	if _, err := wire.Scan(wire.JSON, []byte(nested(9999))); err != nil {
		t.Errorf("the ordinary decoder takes 10000 levels: %v", err)
	}
	for _, n := range []int{10000, 1 << 20} {
		if _, err := wire.Scan(wire.JSON, []byte(nested(n))); err == nil {
			t.Errorf("%d levels were taken", n+1)
		}
	}
}

func TestAnUnknownFormatIsRefused(t *testing.T) {
	const cbor = wire.Protobuf + 1
	if _, err := wire.Scan(cbor, []byte("{}")); !errors.Is(err, wire.ErrFormat) {
		t.Errorf("scan: %v", err)
	}
	if _, err := new(wire.Scanner).Events(cbor, strings.NewReader("x")).Next(); !errors.Is(err, wire.ErrFormat) {
		t.Errorf("events: %v", err)
	}
	if _, err := new(wire.Scanner).List(cbor, strings.NewReader("x"), nil); !errors.Is(err, wire.ErrFormat) {
		t.Errorf("list: %v", err)
	}
}

// FuzzEvents: whatever comes in, a stream ends, has no more to tell than it has
// bytes, and tells the same however the network cuts it to pieces. What it
// delivers are objects that scan alone as well.
func FuzzEvents(f *testing.F) {
	for _, s := range seeds {
		f.Add([]byte(`{"type":"ADDED","object":` + s + "}\n" + event("DELETED", "a", "1")))
	}
	f.Add([]byte(`{"type":"BOOKMARK","object":{"metadata":{"resourceVersion":"1","annotations":{"k8s.io/initial-events-end":"true"}}}}`))
	f.Add([]byte(`{"type":"ERROR","object":{"kind":"Status","code":410}}`))
	f.Fuzz(func(t *testing.T, stream []byte) {
		whole := told(new(wire.Scanner).Events(wire.JSON, bytes.NewReader(stream)))
		if len(whole) > len(stream)+1 {
			t.Fatalf("%d events in %d bytes", len(whole), len(stream))
		}
		expect(t, told(new(wire.Scanner).Events(wire.JSON, iotest.OneByteReader(bytes.NewReader(stream)))), whole...)
		r := new(wire.Scanner).Events(wire.JSON, bytes.NewReader(stream))
		for range whole {
			if e, err := r.Next(); err == nil && e.Object != nil {
				checkAlone(t, e.Object)
			}
		}
	})
}

func checkAlone(t *testing.T, o *wire.Object) {
	t.Helper()
	alone, err := wire.Scan(wire.JSON, o.Bytes())
	if err != nil {
		t.Fatalf("%v:\n%s", err, o.Bytes())
	}
	if alone.Key() != o.Key() || alone.UID() != o.UID() || alone.ResourceVersion() != o.ResourceVersion() {
		t.Fatalf("%v and %v", alone.Key(), o.Key())
	}
}

// FuzzList: the same for lists.
func FuzzList(f *testing.F) {
	for _, s := range seeds {
		f.Add([]byte(`{"kind":"PodList","apiVersion":"v1","items":[` + s + `,` + s + `],"metadata":{"resourceVersion":"7"}}`))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		read := func(r io.Reader) string {
			var b strings.Builder
			meta, err := new(wire.Scanner).List(wire.JSON, r, func(o *wire.Object, err error) error {
				if err == nil {
					checkAlone(t, o)
					fmt.Fprintln(&b, o.Key(), string(o.Bytes()))
				}
				return nil
			})
			fmt.Fprintln(&b, meta, err)
			return b.String()
		}
		whole := read(bytes.NewReader(body))
		if pieces := read(iotest.OneByteReader(bytes.NewReader(body))); pieces != whole {
			t.Fatalf("whole:\n%s\nin pieces:\n%s", whole, pieces)
		}
	})
}
