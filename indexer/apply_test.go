package indexer_test

import (
	"testing"

	"millrace/fifo"
	"millrace/indexer"
)

func TestApplyTellsWhatChanged(t *testing.T) {
	old := obj(t, "a", "u1", "1")
	now := obj(t, "a", "u1", "2")
	next := obj(t, "a", "u2", "3")
	unseen := fifo.Delta{Type: fifo.Deleted, UID: "u1", FinalStateUnknown: true}
	tests := []struct {
		name   string
		has    bool // old
		deltas []fifo.Delta
		want   string
		holds  string
	}{
		{"an object", false, []fifo.Delta{added(old)}, "create a - u1@1", "u1@1"},
		{"a new state", true, []fifo.Delta{updated(now)}, "update a u1@1 u1@2", "u1@2"},
		{"an object and its new state", false, []fifo.Delta{added(old), updated(now)}, "create a - u1@1\nupdate a u1@1 u1@2", "u1@2"},
		{"an end that was seen", true, []fifo.Delta{deleted(now)}, "delete a u1@2 -", ""},
		{"an end that was not", true, []fifo.Delta{unseen}, "delete a u1@1 - unseen", ""},
		{"another life", true, []fifo.Delta{deleted(now), added(next)}, "delete a u1@2 -\ncreate a - u2@3", "u2@3"},
		{"another life, its beginning unseen", true, []fifo.Delta{unseen, added(next)}, "delete a u1@1 - unseen\ncreate a - u2@3", "u2@3"},
		{"a reminder", true, []fifo.Delta{{Type: fifo.Sync, UID: "u1"}}, "update a u1@1 u1@1 resync", "u1@1"},
		{"the end of what was never held", false, []fifo.Delta{deleted(now)}, "delete a u1@2 -", ""},
		{"the end of what nobody knows anything of", false, []fifo.Delta{unseen}, "", ""},
		{"a reminder of what is gone", false, []fifo.Delta{{Type: fifo.Sync, UID: "u1"}}, "", ""},
		{"a bookmark", true, []fifo.Delta{{Type: fifo.Bookmark}}, "", "u1@1"},
		{"another UID without an end", true, []fifo.Delta{updated(next)}, "delete a u1@1 - unseen\ncreate a - u2@3", "u2@3"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			x := indexer.New("things")
			if test.has {
				put(x, old)
			}
			if got := showAll(x.Apply(entry("a", "", test.deltas...))); got != test.want {
				t.Errorf("told:\n%s\nwant:\n%s", got, test.want)
			}
			holds := ""
			if o, ok := x.Object(key("a")); ok {
				holds = string(o.UID()) + "@" + o.ResourceVersion()
			}
			if holds != test.holds {
				t.Errorf("holds %q, want %q", holds, test.holds)
			}
		})
	}
}

func TestAChangeCarriesTheMarksOfItsDelta(t *testing.T) {
	d := added(obj(t, "a", "u1", "1"))
	d.Initial, d.Merged = true, 4
	if got := showAll(indexer.New("things").Apply(entry("a", "", d))); got != "create a - u1@1 initial +4" {
		t.Errorf("%s", got)
	}
}

func TestTheNewestObjectOfAChange(t *testing.T) {
	old, now := obj(t, "a", "u1", "1"), obj(t, "a", "u1", "2")
	if (indexer.Change{Old: old, New: now}).Object() != now || (indexer.Change{Old: old}).Object() != old {
		t.Error("another one")
	}
}

func TestStatsFollowWhatIsHeld(t *testing.T) {
	a, b := obj(t, "a", "u1", "1"), obj(t, "b", "u2", "2", "app=web")
	bigger := obj(t, "a", "u1", "3", "app=web", "tier=front")
	cut, err := bigger.Cut([]string{"metadata", "labels"})
	if err != nil {
		t.Fatal(err)
	}
	x := with(t, a, b)
	expect := func(objects int, bytes, saved int) {
		t.Helper()
		if s := x.Stats(); s.Objects != objects || s.Bytes != int64(bytes) || s.SavedBytes != int64(saved) {
			t.Errorf("%+v, want %d objects, %d bytes, %d saved", s, objects, bytes, saved)
		}
	}
	expect(2, a.Size()+b.Size(), 0)
	x.Apply(entry("a", "", updated(cut)))
	expect(2, cut.Size()+b.Size(), cut.Saved())
	x.Apply(entry("b", "", deleted(b)))
	x.Apply(entry("a", "", deleted(cut), added(a)))
	expect(1, a.Size(), cut.Saved())
	x.Apply(entry("a", "", deleted(a)))
	expect(0, 0, cut.Saved())
}

func TestObjectsAreInTheOrderOfTheirKeys(t *testing.T) {
	x := with(t, obj(t, "c", "u3", "1"), obj(t, "a", "u1", "1"), obj(t, "b", "u2", "1"),
		scan(t, `{"metadata":{"namespace":"m","name":"z"}}`), scan(t, `{"metadata":{"namespace":"o","name":"a"}}`))
	list := func(namespace string) string {
		s := ""
		for _, o := range x.Objects(namespace) {
			s += o.Key().String() + " "
		}
		return s
	}
	if got := list(""); got != "m/z n/a n/b n/c o/a " {
		t.Errorf("%s", got)
	}
	if got := list("n"); got != "n/a n/b n/c " {
		t.Errorf("%s", got)
	}
	if got := list("nowhere"); got != "" {
		t.Errorf("%s", got)
	}
}
