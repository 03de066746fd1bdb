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

// An index function that panics over an object is that index's loss alone.
func TestAPanicOfAnIndexFunctionIsolatesItsKey(t *testing.T) {
	picky := func(o *wire.Object, add func(string)) {
		add("some")
		if bad, _ := o.Label("bad"); bad != "" {
			panic("boom: " + bad)
		}
		add("fine")
	}
	x := with(t, obj(t, "a", "u1", "1"), obj(t, "late", "u2", "2", "bad=early"))
	index := indexer.AddIndex(x, "picky", picky)
	uids := indexer.AddIndex(x, "uid", func(o *wire.Object, add func(types.UID)) { add(o.UID()) })
	expect := func(fine, failures string, count int64) {
		t.Helper()
		if got := names(index.Keys("fine")); got != fine {
			t.Errorf("found %q, want %q", got, fine)
		}
		if got := names(index.Keys("some")); got != fine {
			t.Errorf("by half of what it had said before the panic %q, want %q", got, fine)
		}
		var failed []string
		for _, f := range x.Failures() {
			failed = append(failed, f.Index+" "+f.Key.Name+" "+f.Err.Error())
		}
		if got := strings.Join(failed, ", "); got != failures {
			t.Errorf("failures: %q, want %q", got, failures)
		}
		if got := x.Stats().IndexFailures; got != count {
			t.Errorf("%d failures counted, want %d", got, count)
		}
	}
	expect("a", "picky late panic: boom: early", 1)
	got := showAll(x.Apply(entry("b", "", added(obj(t, "b", "u3", "3", "bad=yes")))))
	if o, ok := x.Object(key("b")); got != "create b - u3@3" || !ok || o.UID() != "u3" {
		t.Errorf("the store does not hold it, told %s", got)
	}
	if got := names(uids.Keys("u3")); got != "b" {
		t.Errorf("the other index finds %q", got)
	}
	expect("a", "picky b panic: boom: yes, picky late panic: boom: early", 2)
	x.Apply(entry("a", "", updated(obj(t, "a", "u1", "4", "bad=now")))) // and is not found by what it was
	expect("", "picky a panic: boom: now, picky b panic: boom: yes, picky late panic: boom: early", 3)
	x.Apply(entry("b", "", updated(obj(t, "b", "u3", "5")))) // and is mended
	x.Apply(entry("late", "", deleted(obj(t, "late", "u2", "6"))))
	expect("b", "picky a panic: boom: now", 3)
	x.Apply(entry("a", "", deleted(obj(t, "a", "u1", "7")), added(obj(t, "a", "u9", "8"))))
	expect("a b", "", 3)
}

// A function that depends on more than the object may panic over what it took
// before. Then its answer cannot say where the object stands.
func TestAnIndexFunctionThatBreaksLeavesNothingStale(t *testing.T) {
	broken := false
	x := indexer.New("things")
	index := indexer.AddIndex(x, "moody", func(o *wire.Object, add func(string)) {
		if broken {
			panic("boom")
		}
		app, _ := o.Label("app")
		add(app)
	})
	put(x, obj(t, "a", "u1", "1", "app=web"), obj(t, "b", "u2", "1", "app=web"))
	broken = true
	x.Apply(entry("a", "", deleted(obj(t, "a", "u1", "2"))))
	x.Apply(entry("c", "", added(obj(t, "c", "u3", "2", "app=web")))) // in the room of a, most likely
	if got := names(index.Keys("web")); got != "b" {
		t.Errorf("found %q", got)
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

// heapInUse is what is in use. What a sync.Pool keeps goes with the second collection.
func heapInUse() int64 {
	runtime.GC()
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
