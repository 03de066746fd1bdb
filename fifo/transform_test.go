package fifo_test

import (
	"errors"
	"testing"

	"millrace/fifo"
	"millrace/wire"
)

var errTransform = errors.New("cannot be transformed")

// counted is a transform that notes what it was asked for.
func counted(calls *[]string, refuse string) func(*wire.Object) (*wire.Object, error) {
	return func(o *wire.Object) (*wire.Object, error) {
		*calls = append(*calls, o.Key().Name+"@"+o.ResourceVersion())
		if o.Key().Name == refuse {
			return nil, errTransform
		}
		return o.Cut(wire.Path{"metadata", "uid"})
	}
}

func TestTheTransformRunsOnceForEachStateThatIsNews(t *testing.T) {
	var calls []string
	r := newRig(t, fifo.Config{Transform: counted(&calls, "")})
	r.do("begin =a/u1@1 =b/u2@2 commit@3")
	r.pop()
	r.do("begin =a/u1@1 =b/u2@4 commit@5 resync begin =a/u1@1 commit@6") // b vanishes: there is no state to transform
	r.pop()
	r.do("-a/u1@7")
	r.pop()
	want := []string{"a@1", "b@2", "b@4", "a@7"}
	if len(calls) != len(want) {
		t.Fatalf("%q, want %q", calls, want)
	}
	for i := range want {
		if calls[i] != want[i] {
			t.Errorf("%q, want %q", calls, want)
		}
	}
}

func TestNobodySeesAnObjectBeforeItsTransform(t *testing.T) {
	var calls []string
	r := newRig(t, fifo.Config{Transform: counted(&calls, "")})
	r.do("+a/u1@1 ~a/u1@2 +b/u2@3 -b/u2@4")
	for !r.Idle() {
		err := r.Pop(t.Context(), func(e fifo.Entry) error {
			for _, d := range e.Deltas {
				if d.Object.Saved() == 0 {
					t.Errorf("%s of %s has not been transformed", d.Type, e.Key)
				}
			}
			return r.store.take(e)
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

// Upstream loses the event of a watch, and the whole of a list, for one object
// that the transform refuses.
func TestAnObjectThatTheTransformRefusesIsReportedAndTheOthersFlow(t *testing.T) {
	var calls []string
	cfg := fifo.Config{Transform: counted(&calls, "bad")}
	r := newRig(t, cfg)
	r.Begin()
	r.do("=a/u1@1")
	if err := r.Item(obj(t, "bad", "u2", "2")); !errors.Is(err, errTransform) {
		t.Errorf("item: %v", err)
	}
	r.do("=c/u3@3 commit@4")
	r.expect("a Added u1@1 initial →", "c Added u3@3 initial →4")
	if !r.synced() {
		t.Error("not synced")
	}
	if err := r.Add(obj(t, "bad", "u2", "5")); !errors.Is(err, errTransform) {
		t.Errorf("add: %v", err)
	}
	r.do("~c/u3@6")
	r.expect("Bookmark →5", "c Updated u3@6 →6")
}

// A panic over an object is that object's loss: it would kill every process that
// lists it.
func TestAnObjectThatTheTransformPanicsOverIsRefused(t *testing.T) {
	r := newRig(t, fifo.Config{Transform: func(o *wire.Object) (*wire.Object, error) {
		if o.Key().Name == "bad" {
			panic("index out of range")
		}
		return o, nil
	}})
	r.Begin()
	if err := r.Item(obj(t, "bad", "u2", "2")); err == nil || err.Error() != "transform n/bad: panic: index out of range" {
		t.Errorf("item: %v", err)
	}
	r.do("=c/u3@3 commit@4")
	r.expect("c Added u3@3 initial →4")
	if err := r.Delete(obj(t, "bad", "u2", "5")); err != nil {
		t.Errorf("delete: %v", err)
	}
	r.expect("Bookmark →5")
}

func TestARefusedObjectIsStillThere(t *testing.T) {
	refuse := false
	r := newRig(t, fifo.Config{Transform: func(o *wire.Object) (*wire.Object, error) {
		if refuse {
			return nil, errTransform
		}
		return o, nil
	}}).has(obj(t, "a", "u1", "1"))
	refuse = true
	r.Begin()
	if err := r.Item(obj(t, "a", "u1", "2")); !errors.Is(err, errTransform) {
		t.Errorf("%v", err)
	}
	r.Commit("3")
	r.expect("Bookmark →3")
	if len(r.store) != 1 {
		t.Error("it was taken for vanished")
	}
	// Its deletion needs no state.
	r.do("-a/u1@4")
	r.expect("a Deleted u1 unseen →4")
	if len(r.store) != 0 {
		t.Error("it cannot be deleted")
	}
}

func TestATransformMustNotMakeAnotherObject(t *testing.T) {
	for name, other := range map[string]*wire.Object{
		"none":                    nil,
		"another name":            obj(t, "b", "u1", "1"),
		"another UID":             obj(t, "a", "u2", "1"),
		"another resourceVersion": obj(t, "a", "u1", "2"),
	} {
		r := newRig(t, fifo.Config{Transform: func(*wire.Object) (*wire.Object, error) { return other, nil }})
		if err := r.Add(obj(t, "a", "u1", "1")); err == nil || r.Len() != 0 {
			t.Errorf("%s: %v", name, err)
		}
	}
}
