package wire

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
	"unsafe"
)

func object(tb testing.TB, raw string) *Object {
	tb.Helper()
	o, err := Scan(JSON, []byte(raw))
	if err != nil {
		tb.Fatal(err)
	}
	return o
}

// within reports whether a string or a slice lies in a buffer.
func within(buffer []byte, p *byte) bool {
	from := uintptr(unsafe.Pointer(unsafe.SliceData(buffer)))
	at := uintptr(unsafe.Pointer(p))
	return from <= at && at < from+uintptr(cap(buffer))
}

func TestAnObjectKeepsNothingOfTheBufferItWasReadFrom(t *testing.T) {
	frame := []byte(`{"kind":"Pod","metadata":{"name":"name","namespace":"space","uid":"uid","resourceVersion":"12","labels":{"key":"value"},"ownerReferences":[{"apiVersion":"v1","kind":"Kind","name":"owner","uid":"u2"}]}}`)
	o, err := Scan(JSON, frame)
	if err != nil {
		t.Fatal(err)
	}
	strings := []string{o.key.Name, o.key.Namespace, string(o.uid), o.version, o.labels[0].key, o.labels[0].value, o.owners[0].APIVersion, o.owners[0].Kind, o.owners[0].Name, string(o.owners[0].UID)}
	for _, s := range strings {
		if within(frame, unsafe.StringData(s)) {
			t.Errorf("%q points into the frame", s)
		}
		if within(o.raw, unsafe.StringData(s)) {
			t.Errorf("%q points into the object's bytes, and would keep them after a cut", s)
		}
	}
	if within(frame, unsafe.SliceData(o.raw)) {
		t.Error("the object's bytes are the frame's")
	}
}

// Issue 113305 of kubernetes: one object kept the memory of its whole list.
func TestOneObjectDoesNotKeepItsList(t *testing.T) {
	const n = 5000
	body := strings.NewReader(`{"items":[` + strings.Repeat(`{"metadata":{"name":"a","labels":{"app":"web"}},"x":"`+strings.Repeat("y", 1000)+`"},`, n-1) + `{"metadata":{"name":"z"}}]}`)
	heap := func() uint64 {
		runtime.GC()
		runtime.GC() // for what a sync.Pool keeps
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	before := heap()
	var kept *Object
	_, err := new(Scanner).List(JSON, body, func(o *Object, err error) error {
		if kept == nil {
			kept = o.Own()
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if after := heap(); after > before+100<<10 {
		t.Errorf("%d bytes are kept with one object of %d", after-before, kept.Size())
	}
	runtime.KeepAlive(kept)
	runtime.KeepAlive(body)
}

func TestObjectsOfOneScannerShareTheirStrings(t *testing.T) {
	const item = `{"metadata":{"name":"%s","namespace":"space","labels":{"app.kubernetes.io/name":"web"},"ownerReferences":[{"kind":"TaskRun","uid":"u"}]}}`
	var s Scanner
	var objects []*Object
	keep := func(o *Object, err error) error {
		objects = append(objects, o.Own())
		return err
	}
	list := fmt.Sprintf(`{"items":[`+item+`]}`, "a")
	if _, err := s.List(JSON, strings.NewReader(list), keep); err != nil {
		t.Fatal(err)
	}
	e, err := s.Events(JSON, strings.NewReader(fmt.Sprintf(`{"type":"ADDED","object":`+item+`}`, "b"))).Next()
	if err != nil {
		t.Fatal(err)
	}
	a, b := objects[0], e.Object.Own()
	same := func(what, x, y string) {
		if x != y || unsafe.StringData(x) != unsafe.StringData(y) {
			t.Errorf("%s is held twice", what)
		}
	}
	same("the namespace", a.key.Namespace, b.key.Namespace)
	same("a label's key", a.labels[0].key, b.labels[0].key)
	same("a label's value", a.labels[0].value, b.labels[0].value)
	same("an owner's kind", a.owners[0].Kind, b.owners[0].Kind)
	same("an owner's uid", string(a.owners[0].UID), string(b.owners[0].UID))
}

func TestAnInternerIsBoundedAndKeepsWhatRepeats(t *testing.T) {
	var in interner
	repeats := in.get("repeats")
	for i := range 50 * internCount {
		in.get(fmt.Sprint("passes-", i))
		if again := in.get("repeats"); unsafe.StringData(again) != unsafe.StringData(repeats) {
			t.Fatalf("forgotten after %d others", i)
		}
		if n := len(in.young) + len(in.old); n > 2*internCount {
			t.Fatalf("%d strings are held", n)
		}
	}
	long := strings.Repeat("x", internLength+1)
	if in.get(long) != long || len(in.young) > internCount {
		t.Error("a long string")
	}
	if _, held := in.young[long]; held {
		t.Error("a long string is held")
	}
}

func TestManyLabelsKeepTheLastValueOfEach(t *testing.T) {
	for _, n := range []int{1, fewLabels - 1, fewLabels, 10 * fewLabels} {
		var b strings.Builder
		for round := range 2 {
			for i := range n {
				fmt.Fprintf(&b, `,"k%d":"%d"`, i, round)
			}
		}
		o := object(t, `{"metadata":{"labels":{`+b.String()[1:]+`}}}`)
		if len(o.labels) != n {
			t.Errorf("%d labels, want %d", len(o.labels), n)
		}
		for key, value := range o.Labels() {
			if value != "1" {
				t.Errorf("%s=%s", key, value)
			}
		}
	}
}

func TestAnObjectDoesNotTellWhatIsInIt(t *testing.T) {
	o := object(t, `{"metadata":{"namespace":"n","name":"a","resourceVersion":"7"},"data":{"password":"hunter2"}}`)
	if got := fmt.Sprintf("%v %s", o, o); got != "n/a@7 n/a@7" {
		t.Error(got)
	}
}

func TestSizeCountsWhatIsKept(t *testing.T) {
	small := object(t, `{"metadata":{"name":"a"}}`)
	if n := small.Size(); n < len(small.raw)+100 || n > len(small.raw)+300 {
		t.Errorf("%d bytes for %d bytes of JSON", n, len(small.raw))
	}
	labelled := object(t, `{"metadata":{"name":"a","labels":{"key":"value"}}}`)
	if labelled.Size() <= small.Size()+len(labelled.raw)-len(small.raw) {
		t.Error("a label costs nothing")
	}
}

func TestABufferThatGrewIsGivenBack(t *testing.T) {
	big := `{"type":"ADDED","object":{"metadata":{"name":"a"},"x":"` + strings.Repeat("y", 1<<20) + `"}}` + "\n"
	small := `{"type":"ADDED","object":{"metadata":{"name":"b"}}}` + "\n"
	r := new(Scanner).Events(JSON, strings.NewReader(big+strings.Repeat(small, 20000)))
	next := func() int {
		if _, err := r.Next(); err != nil {
			t.Fatal(err)
		}
		return len(r.lex.feed.store)
	}
	if n := next(); n < 1<<20 {
		t.Fatalf("a buffer of %d bytes for a frame of 1 MiB", n)
	}
	for range 20000 - 1 {
		next()
	}
	if n := next(); n != feedSize {
		t.Errorf("a buffer of %d bytes after many small frames", n)
	}
}

func TestAStreamOfBigFramesKeepsItsBuffer(t *testing.T) {
	big := `{"type":"ADDED","object":{"metadata":{"name":"a"},"x":"` + strings.Repeat("y", 100<<10) + `"}}` + "\n"
	r := new(Scanner).Events(JSON, strings.NewReader(strings.Repeat(big, 200)))
	if _, err := r.Next(); err != nil {
		t.Fatal(err)
	}
	store := unsafe.SliceData(r.lex.feed.store)
	for range 199 {
		if _, err := r.Next(); err != nil {
			t.Fatal(err)
		}
	}
	if unsafe.SliceData(r.lex.feed.store) != store {
		t.Error("the buffer was made anew")
	}
}
