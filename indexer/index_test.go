package indexer_test

import (
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"

	"k8s.io/apimachinery/pkg/types"

	"millrace/indexer"
	"millrace/wire"
)

func TestAnIndexFollowsItsObjects(t *testing.T) {
	x := indexer.New("pods")
	apps := indexer.AddIndex(x, "app", indexer.Label("app"))
	expect := func(value, want string) {
		t.Helper()
		if got := names(apps.Keys(value)); got != want {
			t.Errorf("app=%s: %q, want %q", value, got, want)
		}
		objects := apps.Objects(value)
		if len(objects) != len(strings.Fields(want)) {
			t.Errorf("app=%s: %d objects, want %q", value, len(objects), want)
		}
	}
	put(x, obj(t, "b", "u2", "1", "app=web"), obj(t, "c", "u3", "1", "app=db"), obj(t, "a", "u1", "1", "app=web"), obj(t, "d", "u4", "1"))
	expect("web", "a b")
	expect("db", "c")
	x.Apply(entry("a", "", updated(obj(t, "a", "u1", "2", "app=db"))))
	expect("web", "b")
	expect("db", "a c")
	x.Apply(entry("b", "", deleted(obj(t, "b", "u2", "3"))))
	expect("web", "")
	x.Apply(entry("c", "", deleted(obj(t, "c", "u3", "4")), added(obj(t, "c", "u9", "5", "app=web"))))
	expect("web", "c")
	expect("db", "a")
	if o := apps.Objects("db")[0]; o.ResourceVersion() != "2" {
		t.Errorf("an index shows an older state: %s", o.ResourceVersion())
	}
}

// The lock is free: whoever recovers can still read, and end in good order.
func TestAnIndexFunctionThatPanicsLeavesTheLockFree(t *testing.T) {
	picky := func(o *wire.Object) []string {
		if o.Key().Name == "bad" {
			panic("boom")
		}
		return []string{"fine"}
	}
	panics := func(what string, f func()) {
		t.Helper()
		defer func() {
			if recover() == nil {
				t.Errorf("%s does not panic", what)
			}
		}()
		f()
	}
	x := with(t, obj(t, "a", "u1", "1"))
	index := indexer.AddIndex(x, "picky", picky)
	panics("Apply", func() { put(x, obj(t, "bad", "u2", "2")) })
	put(x, obj(t, "b", "u3", "3"))
	if got := names(index.Keys("fine")); got != "a b" {
		t.Errorf("after the panic the index finds %q", got)
	}

	x = with(t, obj(t, "a", "u1", "1"), obj(t, "bad", "u2", "2"))
	panics("AddIndex", func() { indexer.AddIndex(x, "name", picky) })
	put(x, obj(t, "a", "u1", "3")) // no half of an index is asked
	if got := names(indexer.AddIndex(x, "name", indexer.Label("app")).Keys("")); got != "" {
		t.Errorf("another index of that name finds %q", got)
	}
}

// A new state with the same values must be what the index shows, without the
// index being told.
func TestAnIndexShowsTheNewestState(t *testing.T) {
	x := indexer.New("pods")
	apps := indexer.AddIndex(x, "app", indexer.Label("app"))
	put(x, obj(t, "a", "u1", "1", "app=web"))
	x.Apply(entry("a", "", updated(obj(t, "a", "u1", "2", "app=web"))))
	if o := apps.Objects("web"); len(o) != 1 || o[0].ResourceVersion() != "2" {
		t.Errorf("%v", o)
	}
}

// Upstream: Indexing functions with multiple values.
func TestOwnersAreIndexedEveryOne(t *testing.T) {
	x := indexer.New("pods")
	owners := indexer.AddIndex(x, "owner", indexer.OwnerUID)
	put(x, obj(t, "a", "u1", "1", "^o1", "^o2"), obj(t, "b", "u2", "1", "^o2", "^o2"), obj(t, "c", "u3", "1"))
	for owner, want := range map[types.UID]string{"o1": "a", "o2": "a b", "o3": ""} {
		if got := names(owners.Keys(owner)); got != want {
			t.Errorf("owner %s: %q, want %q", owner, got, want)
		}
	}
	x.Apply(entry("a", "", updated(obj(t, "a", "u1", "2", "^o2", "^o3"))))
	x.Apply(entry("b", "", updated(obj(t, "b", "u2", "2"))))
	for owner, want := range map[types.UID]string{"o1": "", "o2": "a", "o3": "a"} {
		if got := names(owners.Keys(owner)); got != want {
			t.Errorf("owner %s: %q, want %q", owner, got, want)
		}
	}
}

func TestAnIndexThatComesLateSeesWhatIsThere(t *testing.T) {
	x := with(t, obj(t, "b", "u2", "1", "app=web"), obj(t, "a", "u1", "1", "app=web"))
	apps := indexer.AddIndex(x, "app", indexer.Label("app"))
	if got := names(apps.Keys("web")); got != "a b" {
		t.Errorf("%q", got)
	}
}

func TestTwoIndicesOfOneNameAreAMistake(t *testing.T) {
	x := indexer.New("pods")
	indexer.AddIndex(x, "app", indexer.Label("app"))
	defer func() {
		if recover() == nil {
			t.Error("no panic")
		}
	}()
	indexer.AddIndex(x, "app", indexer.Label("tier"))
}

// Issue 84959 of kubernetes. Upstream: DeleteRemovesEmptySetsFromIndex,
// AddKeepsNonEmptySetPostDeleteFromIndex.
func TestAValueThatNobodyHasCostsNothing(t *testing.T) {
	x := indexer.New("pods")
	runs := indexer.AddIndex(x, "run", indexer.Label("run"))
	const n = 20000
	objects := make([]*wire.Object, n)
	for i := range objects {
		objects[i] = obj(t, fmt.Sprint("p", i), fmt.Sprint("u", i), "1", fmt.Sprint("run=r", i))
	}
	heap := heapInUse()
	put(x, objects...)
	if runs.Values() != n {
		t.Fatalf("%d values", runs.Values())
	}
	for _, o := range objects[1:] {
		x.Apply(entry(o.Key().Name, "", deleted(o)))
	}
	if runs.Values() != 1 || names(runs.Keys("r0")) != "p0" {
		t.Errorf("%d values left", runs.Values())
	}
	x.Apply(entry("p0", "", deleted(objects[0])))
	if runs.Values() != 0 {
		t.Errorf("%d values left", runs.Values())
	}
	// What remains is the tables of two maps, not twenty thousand sets.
	if grown := heapInUse() - heap; grown > n*200 {
		t.Errorf("%d bytes more than before", grown)
	}
	runtime.KeepAlive(objects)
}

func heapInUse() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

func TestALargeSetThatShrinksKeepsItsOrder(t *testing.T) {
	x := indexer.New("pods")
	apps := indexer.AddIndex(x, "app", indexer.Label("app"))
	for i := range 500 {
		put(x, obj(t, fmt.Sprintf("p%03d", (i*37)%500), fmt.Sprint("u", i), "1", "app=web"))
	}
	for i := range 490 {
		name := fmt.Sprintf("p%03d", (i*41)%500)
		o, _ := x.Object(key(name))
		x.Apply(entry(name, "", deleted(o)))
	}
	keys := apps.Keys("web")
	if len(keys) != 10 {
		t.Fatalf("%d keys", len(keys))
	}
	for i := 1; i < len(keys); i++ {
		if keys[i-1].Name >= keys[i].Name {
			t.Errorf("%s before %s", keys[i-1], keys[i])
		}
	}
}

// Issues 124337 and 133788 of kubernetes: readers and a late index beside a
// writer. The race detector watches.
func TestReadersMayLookWhileTheWriterWrites(t *testing.T) {
	x := indexer.New("pods")
	apps := indexer.AddIndex(x, "app", indexer.Label("app"))
	stop := make(chan struct{})
	var readers sync.WaitGroup
	for i := range 4 {
		readers.Go(func() {
			r := indexer.Read[map[string]any](x)
			for n := 0; ; n++ {
				select {
				case <-stop:
					return
				default:
				}
				for _, o := range apps.Objects("web") {
					if v, _ := o.Label("app"); v != "web" {
						t.Errorf("app=%s is found under web", v)
					}
				}
				if _, err := r.List(""); err != nil {
					t.Error(err)
				}
				x.Stats()
				if n == 10 {
					indexer.AddIndex(x, fmt.Sprint("late", i), indexer.OwnerUID)
				}
			}
		})
	}
	for i := range 2000 {
		app := "app=web"
		if i%3 == 0 {
			app = "app=db"
		}
		x.Apply(entry(fmt.Sprint("p", i%7), "", updated(obj(t, fmt.Sprint("p", i%7), "u", fmt.Sprint(i+1), app))))
		if i%5 == 0 {
			runtime.Gosched()
		}
	}
	close(stop)
	readers.Wait()
}
