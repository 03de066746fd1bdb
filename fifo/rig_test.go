package fifo_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/types"

	"millrace/fifo"
	"millrace/wire"
)

// obj is an object n/name of which only identity and version matter: "a/u1@7".
func obj(tb testing.TB, name, uid, version string) *wire.Object {
	tb.Helper()
	o, err := wire.Scan(wire.JSON, fmt.Appendf(nil,
		`{"metadata":{"namespace":"n","name":%q,"uid":%q,"resourceVersion":%q}}`, name, uid, version))
	if err != nil {
		tb.Fatal(err)
	}
	return o
}

func key(name string) types.NamespacedName {
	return types.NamespacedName{Namespace: "n", Name: name}
}

// store is the simplest consumer: a map of what it has.
type store map[types.NamespacedName]*wire.Object

func (s store) Known(key types.NamespacedName) (types.UID, string, bool) {
	o, ok := s[key]
	if !ok {
		return "", "", false
	}
	return o.UID(), o.ResourceVersion(), true
}

func (s store) Keys() iter.Seq[types.NamespacedName] { return maps.Keys(s) }

// take does what the deltas say, and finds fault with those that make no sense
// to it.
func (s store) take(e fifo.Entry) error {
	for _, d := range e.Deltas {
		has := s[e.Key]
		switch d.Type {
		case fifo.Added:
			if has != nil {
				return fmt.Errorf("%s is added and there", e.Key)
			}
			s[e.Key] = d.Object
		case fifo.Updated:
			if has == nil || has.UID() != d.Object.UID() {
				return fmt.Errorf("%s is updated and not there", e.Key)
			}
			s[e.Key] = d.Object
		case fifo.Deleted:
			if has != nil && has.UID() != d.UID {
				return fmt.Errorf("%s is deleted as %s and there as %s", e.Key, d.UID, has.UID())
			}
			delete(s, e.Key)
		case fifo.Sync:
			if has == nil || has.UID() != d.UID {
				return fmt.Errorf("%s is synced and not there", e.Key)
			}
		default: // a bookmark changes nothing
		}
	}
	return nil
}

// rig is a FIFO with a store behind it.
type rig struct {
	*fifo.FIFO
	t     testing.TB
	store store
}

func newRig(tb testing.TB, cfg fifo.Config) *rig {
	tb.Helper()
	s := store{}
	return &rig{FIFO: fifo.New(s, cfg), t: tb, store: s}
}

// has puts objects into the store by a first list as of resourceVersion 1.
func (r *rig) has(objects ...*wire.Object) *rig {
	r.t.Helper()
	r.Begin()
	for _, o := range objects {
		if err := r.Item(o); err != nil {
			r.t.Fatal(err)
		}
	}
	r.Commit("1")
	r.pop()
	return r
}

// do calls the producer's side: "+a/u1@7" Add, "~a/u1@8" Update, "-a/u1@9"
// Delete, "=a/u1@7" Item, "?a" Keep, and begin, abort, commit@12, bookmark@13, resync.
func (r *rig) do(script string) {
	r.t.Helper()
	for step := range strings.FieldsSeq(script) {
		word, version, _ := strings.Cut(step, "@")
		var err error
		switch word {
		case "begin":
			r.Begin()
		case "abort":
			r.Abort()
		case "resync":
			r.Resync()
		case "commit":
			r.Commit(version)
		case "bookmark":
			r.Bookmark(version)
		default:
			if name, unread := strings.CutPrefix(word, "?"); unread {
				r.Keep(key(name))
				continue
			}
			name, uid, _ := strings.Cut(word[1:], "/")
			o := obj(r.t, name, uid, version)
			err = map[byte]func(*wire.Object) error{'+': r.Add, '~': r.Update, '-': r.Delete, '=': r.Item}[word[0]](o)
		}
		if err != nil {
			r.t.Fatalf("%s: %v", step, err)
		}
	}
}

// pop takes what waits, one entry after the other, and says what it was.
func (r *rig) pop() []string {
	r.t.Helper()
	var lines []string
	for !r.Idle() {
		err := r.Pop(context.Background(), func(e fifo.Entry) error {
			lines = append(lines, show(e))
			return r.store.take(e)
		})
		if err != nil {
			r.t.Fatal(err)
		}
	}
	return lines
}

func (r *rig) expect(want ...string) {
	r.t.Helper()
	if got := strings.Join(r.pop(), "\n"); got != strings.Join(want, "\n") {
		r.t.Errorf("popped:\n%s\nwant:\n%s", got, strings.Join(want, "\n"))
	}
}

func (r *rig) synced() bool {
	select {
	case <-r.Synced():
		return true
	default:
		return false
	}
}

// show is an entry in one line: its deltas, and how far the stream has come
// with it.
func show(e fifo.Entry) string {
	var b strings.Builder
	b.WriteString(e.Key.Name)
	for _, d := range e.Deltas {
		fmt.Fprintf(&b, " %s", d.Type)
		if d.Type != fifo.Bookmark {
			fmt.Fprintf(&b, " %s", d.UID)
		}
		if d.Object != nil {
			fmt.Fprintf(&b, "@%s", d.Object.ResourceVersion())
		}
		if d.Merged > 0 {
			fmt.Fprintf(&b, "+%d", d.Merged)
		}
		if d.Initial {
			b.WriteString(" initial")
		}
		if d.FinalStateUnknown {
			b.WriteString(" unseen")
		}
	}
	return strings.TrimSpace(b.String()) + " →" + e.ResourceVersion
}

var errProcess = errors.New("cannot be processed")
