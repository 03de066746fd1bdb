package fifo_test

import (
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"

	"millrace/fifo"
	"millrace/wire"
)

// state is a state of an object, as long as objects are.
func state(name, version string) string {
	return fmt.Sprintf(`{"metadata":{"namespace":"n","name":%q,"uid":"u-%s","resourceVersion":%q,"labels":{"of":%q},"managedFields":[{"manager":"m"}]},"spec":{"text":%q}}`,
		name, name, version, name, strings.Repeat(name+" ", 1000))
}

// read gives a stream to the queue, as a reflector does.
func read(t *testing.T, f *fifo.FIFO, stream string) {
	t.Helper()
	events := new(wire.Scanner).Events(wire.JSON, strings.NewReader(stream))
	give := map[wire.EventType]func(*wire.Object) error{wire.Added: f.Add, wire.Modified: f.Update, wire.Deleted: f.Delete}
	for {
		e, err := events.Next()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		if err := give[e.Type](e.Object); err != nil {
			t.Fatal(err)
		}
	}
}

func cutting(path ...string) func(*wire.Object) (*wire.Object, error) {
	paths := []wire.Path{path}
	return func(o *wire.Object) (*wire.Object, error) { return o.Cut(paths...) }
}

// What is read is lent, and overwritten by what is read next; with the race
// detector on, with rubbish.
func TestWhatWaitsIsNotWhatIsReadNext(t *testing.T) {
	for name, cfg := range map[string]fifo.Config{
		"without a transform":    {},
		"with one that cuts":     {Transform: cutting("metadata", "managedFields")},
		"with one that does not": {Transform: cutting("status")},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, cfg)
			read(t, r.FIFO, `{"type":"ADDED","object":`+state("a", "1")+`}
{"type":"ADDED","object":`+state("b", "2")+`}
{"type":"MODIFIED","object":`+state("b", "3")+`}
{"type":"DELETED","object":`+state("a", "4")+`}
{"type":"ADDED","object":`+state("c", "5")+`}`)
			var popped []*wire.Object
			for !r.Idle() {
				err := r.Pop(t.Context(), func(e fifo.Entry) error {
					for _, d := range e.Deltas {
						popped = append(popped, d.Object)
					}
					return r.store.take(e)
				})
				if err != nil {
					t.Fatal(err)
				}
			}
			want := []string{"a@4", "b@2", "b@3", "c@5"}
			if len(popped) != len(want) {
				t.Fatalf("%v, want %v", popped, want)
			}
			for i, o := range popped {
				name, version, _ := strings.Cut(want[i], "@")
				sent, err := wire.Scan(wire.JSON, []byte(state(name, version)))
				if err != nil {
					t.Fatal(err)
				}
				if cfg.Transform != nil {
					if sent, err = cfg.Transform(sent); err != nil {
						t.Fatal(err)
					}
				}
				label, _ := o.Label("of")
				if string(o.Bytes()) != string(sent.Bytes()) || o.String() != "n/"+want[i] || label != name {
					t.Errorf("%s has label %q and the bytes\n%.300s\nwant\n%.300s", o, label, o.Bytes(), sent.Bytes())
				}
			}
		})
	}
}

// What is kept of an event are the object, its bytes, its labels, and three short
// strings in one; the queue adds an entry.
func TestAnEventTakesOneAllocationHere(t *testing.T) {
	events := new(wire.Scanner).Events(wire.JSON, &endless{text: fmt.Sprintf(`{"type":"MODIFIED","object":%s}{"type":"MODIFIED","object":%s}`, run("1"), run("2"))})
	next := func() *wire.Object {
		e, err := events.Next()
		if err != nil {
			t.Fatal(err)
		}
		return e.Object
	}
	keep := cutting("metadata", "managedFields")
	kept := testing.AllocsPerRun(500, func() {
		if _, err := keep(next()); err != nil {
			t.Fatal(err)
		}
	})
	r := newRig(t, fifo.Config{Transform: keep})
	popped := testing.AllocsPerRun(500, func() {
		if err := r.Update(next()); err != nil {
			t.Fatal(err)
		}
		if err := r.Pop(t.Context(), r.store.take); err != nil {
			t.Fatal(err)
		}
	})
	if kept > 4 || popped > kept+1 {
		t.Errorf("%v allocations for an event that is kept, %v for one that comes through here", kept, popped)
	}
}

func TestARelistOfNothingNewCopiesNothing(t *testing.T) {
	const n = 500
	var items []string
	for i := range n {
		items = append(items, state(fmt.Sprint("pod-", i), fmt.Sprint(i+1)))
	}
	list := `{"items":[` + strings.Join(items, ",") + `]}`
	r := newRig(t, fifo.Config{Transform: cutting("metadata", "managedFields")})
	var scanner wire.Scanner
	read := func() {
		r.Begin()
		_, err := scanner.List(wire.JSON, strings.NewReader(list), func(o *wire.Object, err error) error {
			if err != nil {
				return err
			}
			return r.Item(o)
		})
		if err != nil {
			t.Fatal(err)
		}
		r.Commit("1000")
		r.pop()
	}
	allocated := func(f func()) uint64 {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		f()
		runtime.ReadMemStats(&after)
		return after.TotalAlloc - before.TotalAlloc
	}
	first, again := allocated(read), allocated(read)
	if first < uint64(len(list)) {
		t.Errorf("the first list of %d bytes has taken %d: it was not kept", len(list), first)
	}
	// What is left is the read buffer, the table of what is there, and three
	// short strings for each object.
	if most := uint64(200*n + 64<<10); again > most {
		t.Errorf("a list of nothing new has taken %d bytes, of %d that it has; want at most %d", again, len(list), most)
	}
}
