package wire_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"millrace/wire"
)

func protobufEvents(frames ...[]byte) *wire.EventReader {
	return new(wire.Scanner).Events(wire.Protobuf, bytes.NewReader(bytes.Join(frames, nil)))
}

func protobufBookmark(tb testing.TB, rv string, annotations map[string]string) []byte {
	tb.Helper()
	return framed(tb, "BOOKMARK", sealed(tb, &corev1.Pod{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"},
		ObjectMeta: metav1.ObjectMeta{ResourceVersion: rv, Annotations: annotations},
	}))
}

// badFrames are frames of which each is one bad event.
func badFrames(tb testing.TB) [][]byte {
	tb.Helper()
	return [][]byte{
		frame(tb, nil),
		frame(tb, []byte("\xff\xff")),
		frame(tb, sealed(tb, &metav1.WatchEvent{})), // with an envelope around the event
		framed(tb, "ADDED", nil),
		framed(tb, "ADDED", []byte(`{"metadata":{"name":"a"}}`)),
		framed(tb, "ADDED", around(tb, tagged(1, 2, tagged(1, 2, nil)))), // no name
		framed(tb, "ADDED", around(tb, tagged(1, 2, tagged(7, 2, nil)))),
		framed(tb, "BOOKMARK", around(tb, nil)),
		framed(tb, "SURPRISE", around(tb, tagged(1, 2, tagged(1, 2, []byte("a"))))),
	}
}

func TestAProtobufStreamTellsItsEventsInOrder(t *testing.T) {
	expect(t, told(protobufEvents(podEvent(t, "ADDED", "a", "1"), podEvent(t, "MODIFIED", "a", "2"), podEvent(t, "DELETED", "a", "3"))),
		"ADDED n/a@1 false", "MODIFIED n/a@2 false", "DELETED n/a@3 false", "EOF")
}

func TestAProtobufBookmarkTellsWhenTheInitialEventsEnd(t *testing.T) {
	const end = metav1.InitialEventsAnnotationKey
	expect(t, told(protobufEvents(protobufBookmark(t, "9", map[string]string{"a": "true", end: "true", "z": "x"}), protobufBookmark(t, "10", map[string]string{end: "false"}), protobufBookmark(t, "11", nil))),
		"BOOKMARK /@9 true", "BOOKMARK /@10 false", "BOOKMARK /@11 false", "EOF")

	entry := func(value string) []byte {
		return tagged(12, 2, slices.Concat(tagged(1, 2, []byte(end)), tagged(2, 2, []byte(value))))
	}
	twice := slices.Concat(tagged(6, 2, []byte("9")), entry("false"), entry("true")) // the last one counts
	expect(t, told(protobufEvents(framed(t, "BOOKMARK", around(t, tagged(1, 2, twice))))), "BOOKMARK /@9 true", "EOF")
}

func TestAProtobufErrorEventCarriesItsStatus(t *testing.T) {
	status := apierrors.NewResourceExpired("too old resource version: 1 (5)").Status()
	status.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}
	e, err := protobufEvents(framed(t, "ERROR", sealed(t, &status))).Next()
	if err != nil || e.Status == nil || e.Status.Reason != metav1.StatusReasonExpired || e.Status.Code != 410 || e.Status.Kind != "Status" {
		t.Fatalf("%+v, %v", e, err)
	}
}

func TestAProtobufErrorEventWithoutAStatusIsStillAnError(t *testing.T) {
	other := around(t, tagged(2, 2, []byte("Failure"))) // would be a Status, if only it said so
	for _, object := range [][]byte{nil, []byte("gone"), sealed(t, podOf(t, bigPod)), around(t, []byte("\xff")), other} {
		e, err := protobufEvents(framed(t, "ERROR", object)).Next()
		if err != nil || e.Status == nil || !strings.Contains(e.Status.Message, "without a Status") || e.Status.Code != 500 || len(e.Status.Message) > 4000 {
			t.Errorf("%+v, %v", e, err)
		}
	}
}

func TestAProtobufStreamTellsTheSameInAnyPieces(t *testing.T) {
	stream := bytes.Join([][]byte{podEvent(t, "ADDED", "a", "1"), framed(t, "MODIFIED", sealed(t, podOf(t, bigPod))), framed(t, "ADDED", nil), protobufBookmark(t, "9", nil)}, nil)
	want := told(protobufEvents(stream))
	if len(want) != 5 || want[4] != "EOF" {
		t.Fatalf("%q", want)
	}
	expect(t, told(new(wire.Scanner).Events(wire.Protobuf, iotest.OneByteReader(bytes.NewReader(stream)))), want...)
	expect(t, told(new(wire.Scanner).Events(wire.Protobuf, iotest.DataErrReader(bytes.NewReader(stream)))), want...)
}

func TestAProtobufEventIsToldWhenItsLastByteIsThere(t *testing.T) {
	r, w := io.Pipe()
	got := make(chan string)
	go func() {
		defer close(got)
		reader := new(wire.Scanner).Events(wire.Protobuf, r)
		for range 2 {
			e, err := reader.Next()
			if err != nil {
				t.Error(err)
				return
			}
			got <- e.Object.Key().Name
		}
	}()
	for _, name := range []string{"a", "b"} {
		if _, err := w.Write(podEvent(t, "ADDED", name, "1")); err != nil {
			t.Fatal(err)
		}
		if seen := <-got; seen != name {
			t.Errorf("%q, want %q", seen, name)
		}
	}
}

func TestABadProtobufFrameIsToldAndTheStreamGoesOn(t *testing.T) {
	for _, bad := range badFrames(t) {
		lines := told(protobufEvents(podEvent(t, "ADDED", "a", "1"), bad, podEvent(t, "ADDED", "b", "2")))
		if len(lines) != 4 || lines[0] != "ADDED n/a@1 false" || !strings.HasPrefix(lines[1], "bad ") || lines[2] != "ADDED n/b@2 false" || lines[3] != "EOF" {
			t.Errorf("%q:\n%s", bad, strings.Join(lines, "\n"))
		}
	}
}

// The error of a bad object says which one it was, as far as that was read.
func TestABadProtobufObjectIsToldWithItsKey(t *testing.T) {
	meta := slices.Concat(tagged(1, 2, []byte("web")), tagged(3, 2, []byte("shop")), tagged(6, 2, []byte("41")), tagged(7, 2, nil))
	_, err := protobufEvents(framed(t, "ADDED", around(t, tagged(1, 2, meta)))).Next()
	bad, ok := errors.AsType[*wire.ScanError](err)
	if !ok || bad.Key.String() != "shop/web" || bad.ResourceVersion != "41" {
		t.Errorf("%+v", err)
	}
	if _, ok := errors.AsType[*wire.SyntaxError](err); !ok || !strings.Contains(err.Error(), "not protobuf") {
		t.Errorf("%v", err)
	}
}

func TestAProtobufStreamThatEndsWithinAFrameIsUnexpected(t *testing.T) {
	whole := podEvent(t, "ADDED", "a", "1")
	for n := 1; n < len(whole); n++ {
		lines := told(protobufEvents(whole, whole[:n]))
		expect(t, lines, "ADDED n/a@1 false", io.ErrUnexpectedEOF.Error())
	}
}

// A length is believed when the bytes are there.
func TestAHugeLengthCostsNothing(t *testing.T) {
	long := binary.BigEndian.AppendUint32(nil, wire.MaxFrame-4)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	if _, err := protobufEvents(long, []byte("x")).Next(); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Error(err)
	}
	runtime.ReadMemStats(&after)
	if n := after.TotalAlloc - before.TotalAlloc; n > 1<<18 {
		t.Errorf("%d bytes allocated", n)
	}
	_, err := protobufEvents(binary.BigEndian.AppendUint32(nil, wire.MaxFrame-3), []byte("x")).Next()
	if !errors.Is(err, wire.ErrTooLarge) {
		t.Errorf("%v", err)
	}
}

// FuzzProtobufEvents: whatever comes in, a stream ends, has no more to tell
// than it has bytes, and tells the same in any pieces.
func FuzzProtobufEvents(f *testing.F) {
	good := podEvent(f, "ADDED", "a", "1")
	f.Add(slices.Concat(good, protobufBookmark(f, "9", map[string]string{metav1.InitialEventsAnnotationKey: "true"})))
	for _, bad := range badFrames(f) {
		f.Add(slices.Concat(bad, good))
	}
	for _, s := range protobufSeeds(f) {
		f.Add(framed(f, "MODIFIED", s))
		f.Add(framed(f, "ERROR", s))
	}
	f.Fuzz(func(t *testing.T, stream []byte) {
		lines := told(protobufEvents(stream))
		if len(lines) > len(stream)/4+1 {
			t.Fatalf("%d bytes tell %d lines", len(stream), len(lines))
		}
		expect(t, told(new(wire.Scanner).Events(wire.Protobuf, iotest.OneByteReader(bytes.NewReader(stream)))), lines...)
	})
}

func TestAnErrorOfTheSourceEndsAProtobufStream(t *testing.T) {
	gone := errors.New("connection reset")
	whole := podEvent(t, "ADDED", "a", "1")
	for n := range whole {
		r := new(wire.Scanner).Events(wire.Protobuf, io.MultiReader(bytes.NewReader(whole), bytes.NewReader(whole[:n]), iotest.ErrReader(gone)))
		if _, err := r.Next(); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			if _, err := r.Next(); !errors.Is(err, gone) {
				t.Errorf("after %d bytes: %v", n, err)
			}
		}
	}
}

// The buffer that one long frame took is given back when it is not needed.
func TestOneLongFrameDoesNotStayInMemory(t *testing.T) {
	long := framed(t, "ADDED", around(t, slices.Concat(tagged(1, 2, tagged(1, 2, []byte("long"))), tagged(2, 2, make([]byte, 8<<20)))))
	small := podEvent(t, "ADDED", "a", "1")
	r := new(wire.Scanner).Events(wire.Protobuf, io.MultiReader(bytes.NewReader(long), &again{of: small}))
	held := func() uint64 {
		var now runtime.MemStats
		runtime.GC()
		runtime.GC() // for what a sync.Pool keeps
		runtime.ReadMemStats(&now)
		return now.HeapAlloc
	}
	before := held()
	for range 100 {
		if _, err := r.Next(); err != nil {
			t.Fatal(err)
		}
	}
	after := held()
	runtime.KeepAlive(r)
	runtime.KeepAlive(long)
	if after > before+4<<20 {
		t.Errorf("%d bytes more than before", after-before)
	}
}
