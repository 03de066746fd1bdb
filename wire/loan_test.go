package wire_test

import (
	"bytes"
	"fmt"
	"runtime"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"millrace/wire"
)

// namedPod is a pod that says what it is, as one does that comes alone.
const namedPod = `{"kind":"Pod","apiVersion":"v1",` + podMembers

// lending is one object, read in every way in which objects are lent.
func lending(t *testing.T, see func(way string, o *wire.Object)) {
	t.Helper()
	sent := podOf(t, []byte(pod))
	body := marshalled(t, sent)
	for way, stream := range map[string]string{
		"event":          `{"type":"ADDED","object":` + namedPod + `}`,
		"protobuf event": string(framed(t, "ADDED", sealed(t, sent))),
	} {
		f := wire.JSON
		if way != "event" {
			f = wire.Protobuf
		}
		e, err := new(wire.Scanner).Events(f, strings.NewReader(stream)).Next()
		if err != nil {
			t.Fatalf("%s: %v", way, err)
		}
		see(way, e.Object)
	}
	item := func(way string) func(o *wire.Object, err error) error {
		return func(o *wire.Object, err error) error {
			if err == nil {
				see(way, o)
			}
			return err
		}
	}
	for way, list := range map[string]string{
		"item":      `{"kind":"List","items":[` + namedPod + `]}`,
		"bare item": `{"kind":"PodList","apiVersion":"v1","items":[{` + podMembers + `]}`,
	} {
		if _, err := new(wire.Scanner).List(wire.JSON, strings.NewReader(list), item(way)); err != nil {
			t.Fatalf("%s: %v", way, err)
		}
	}
	if _, err := new(wire.Scanner).List(wire.Protobuf, bytes.NewReader(listOf(t, "PodList", tagged(2, 2, body))), item("protobuf item")); err != nil {
		t.Fatal(err)
	}
}

// alone is the same object, read as one that comes alone.
func alone(t *testing.T, f wire.Format) *wire.Object {
	t.Helper()
	if f == wire.Protobuf {
		return scanProtobuf(t, podOf(t, []byte(pod)))
	}
	return scan(t, namedPod)
}

// sameObject compares all that can be asked of an object.
func sameObject(t *testing.T, what string, got, want *wire.Object) {
	t.Helper()
	if !bytes.Equal(got.Bytes(), want.Bytes()) {
		t.Fatalf("%s:\n%s\nwant\n%s", what, got.Bytes(), want.Bytes())
	}
	facts := func(o *wire.Object) string {
		var labels strings.Builder
		for k, v := range o.Labels() {
			labels.WriteString(k + "=" + v + ",")
		}
		return fmt.Sprint(o, o.UID(), o.Generation(), o.Deleting(), labels.String(), o.Owners(), o.Format(), o.Size(), o.Saved())
	}
	check(t, what, facts(got), facts(want))
}

func TestALentObjectIsTheOneThatComesAlone(t *testing.T) {
	lending(t, func(way string, o *wire.Object) {
		want := alone(t, o.Format())
		sameObject(t, way, o, want)
		sameObject(t, way+", owned", o.Own(), want)
		if o.Own() == o {
			t.Errorf("%s: it was not lent", way)
		}
		if own := o.Own(); own.Own() != own {
			t.Errorf("%s: what is its own is copied again", way)
		}
		if wire.Changed(o, want) || wire.Changed(want, o) {
			t.Errorf("%s: changed", way)
		}
		got, err := wire.Decode[corev1.Pod](o)
		if err != nil || !bytes.Equal(marshalled(t, &got), marshalled(t, podOf(t, []byte(pod)))) {
			t.Errorf("%s: decoded %v, %v", way, got, err)
		}
	})
}

func TestWhatIsCutOutOfALentObjectIsItsOwn(t *testing.T) {
	for _, paths := range [][]wire.Path{
		{managedFields, lastApplied},
		{managedFields},
		{{"metadata", "labels"}, managedFields},
		{{"metadata"}},
		{{"status"}},
	} {
		lending(t, func(way string, o *wire.Object) {
			c := cut(t, o, paths...)
			sameObject(t, fmt.Sprint(way, paths), c, cut(t, alone(t, o.Format()), paths...))
			if c.Own() != c {
				t.Errorf("%s: cut %v: it is lent still", way, paths)
			}
			// It can be cut further, from where it is now.
			sameObject(t, way, cut(t, c, lastApplied), cut(t, alone(t, o.Format()), append(paths, lastApplied)...))
		})
	}
	lending(t, func(way string, o *wire.Object) {
		if c := cut(t, o, wire.Path{"metadata", "finalizers"}); c != o {
			t.Errorf("%s: where nothing is cut, there is a copy", way)
		}
	})
}

func TestOneCopyIsMadeOfAnEvent(t *testing.T) {
	frame := `{"type":"MODIFIED","object":` + string(bigPod) + `}`
	r := new(wire.Scanner).Events(wire.JSON, &again{of: []byte(frame)})
	size := len(bigPod)
	if n := bytesPerRun(t, func() { next(t, r) }); n > 300 {
		t.Errorf("%d bytes for an event that nobody keeps", n)
	}
	if n := bytesPerRun(t, func() { next(t, r).Own() }); n < size || n > size*3/2 {
		t.Errorf("%d bytes for an event of %d that is kept", n, size)
	}
	left := len(cut(t, scan(t, string(bigPod)), managedFields, lastApplied).Bytes())
	if n := bytesPerRun(t, func() { cut(t, next(t, r), managedFields, lastApplied) }); n < left || n > left*3/2 {
		t.Errorf("%d bytes for an event of which %d are kept", n, left)
	}
}

func next(tb testing.TB, r *wire.EventReader) *wire.Object {
	tb.Helper()
	e, err := r.Next()
	if err != nil {
		tb.Fatal(err)
	}
	return e.Object
}

// bytesPerRun is how many bytes are allocated by one call, on average.
func bytesPerRun(t *testing.T, f func()) int {
	t.Helper()
	const runs = 200
	var before, after runtime.MemStats
	f()
	runtime.ReadMemStats(&before)
	for range runs {
		f()
	}
	runtime.ReadMemStats(&after)
	return int(after.TotalAlloc-before.TotalAlloc) / runs
}

// The mistake that a loan invites, and what comes of it.
func TestWhoKeepsALentObjectHasTheNextOne(t *testing.T) {
	r := events(event("ADDED", "a", "1") + event("ADDED", "b", "2"))
	lent := next(t, r)
	key, version, own := lent.Key(), lent.ResourceVersion(), lent.Own()
	next(t, r)
	check(t, "what was kept", lent.Key().Name, "b")
	check(t, "its key", key.Name, "a")
	check(t, "its resourceVersion", version, "1")
	check(t, "its own", own.String(), "n/a@1")
	if !strings.Contains(string(own.Bytes()), `"name":"a"`) {
		t.Errorf("%s", own.Bytes())
	}
}
