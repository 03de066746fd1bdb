package indexer_test

import (
	"fmt"
	"iter"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/types"

	"millrace/indexer"
	"millrace/wire"
)

// The inside of the store against a map: many objects that come and go in any
// order, in sets of any size.
func TestTablesAndSetsStayWholeHoweverObjectsComeAndGo(t *testing.T) {
	for seed := range uint64(6) {
		r := rand.New(rand.NewPCG(seed, 3))
		x := indexer.New("things")
		apps := indexer.AddIndex(x, "app", indexer.Label("app"))
		uids := indexer.AddIndex(x, "uid", func(o *wire.Object, add func(types.UID)) { add(o.UID()) })
		now := map[string]*wire.Object{}
		for i := range 6000 {
			name := fmt.Sprintf("p%04d", r.IntN(2000))
			o := obj(t, name, "u"+name, fmt.Sprint(i+1), fmt.Sprint("app=", r.IntN(1+i/1500)))
			if now[name] != nil && r.IntN(3-i/4000) == 0 { // fewer in the end
				x.Apply(entry(name, "", deleted(o)))
				delete(now, name)
			} else {
				x.Apply(entry(name, "", updated(o)))
				now[name] = o
			}
			if i%500 == 0 {
				x.Objects("") // a moment, so that the writer has to copy
				if err := x.Check(); err != nil {
					t.Fatal(err)
				}
			}
		}
		if err := x.Check(); err != nil {
			t.Error(err)
		}
		counted := 0
		for app := range 4 {
			counted += len(apps.Keys(fmt.Sprint(app)))
		}
		if n := len(x.Objects("n")); n != len(now) || n != counted || n != uids.Values() {
			t.Errorf("seed %d: %d objects, %d by app, %d by UID, want %d", seed, n, counted, uids.Values(), len(now))
		}
		for name, o := range now {
			if got, ok := x.Object(key(name)); !ok || got != o {
				t.Errorf("seed %d: %s is %v", seed, name, got)
			}
		}
	}
}

// What a reader has taken does not change under him, whatever is written while
// he goes through it.
func TestAListIsOfOneMoment(t *testing.T) {
	x := indexer.New("things")
	apps := indexer.AddIndex(x, "app", indexer.Label("app"))
	const n = 1000
	name := func(i int) string { return fmt.Sprintf("p%03d", i) }
	state := func(version, app string) {
		for i := range n {
			put(x, obj(t, name(i), fmt.Sprint("u", i), version, app))
		}
	}
	state("1", "app=web")
	moments := []iter.Seq[*wire.Object]{x.Moment(), apps.Moment("web")}
	keys := x.Keys()
	state("2", "app=web")
	moments = append(moments, x.Moment())
	for i := range n / 2 {
		x.Apply(entry(name(2*i), "", deleted(obj(t, name(2*i), fmt.Sprint("u", 2*i), "3"))))
	}
	put(x, obj(t, "a", "u", "4", "app=web"), obj(t, "p0005", "u", "4", "app=web")) // in the room of others
	state("5", "app=db")

	i := 0
	for k := range keys {
		if k != key(name(i)) {
			t.Errorf("key %d is %s", i, k)
		}
		i++
	}
	for j, version := range []string{"1", "1", "2"} {
		i := 0
		for o := range moments[j] {
			if want := "n/" + name(i) + "@" + version; o.String() != want {
				t.Errorf("moment %d: %s, want %s", j, o, want)
			}
			i++
		}
		if i != n {
			t.Errorf("moment %d: %d objects", j, i)
		}
	}
	if got := len(x.Objects("")); got != n+2 || len(apps.Keys("web")) != 2 || len(apps.Keys("db")) != n {
		t.Errorf("%d objects now", got)
	}
}

// Every namespace that could stand next to another, and what is in none.
func TestANamespaceIsListedAlone(t *testing.T) {
	for _, each := range []int{1, 30} { // few enough to be copied, and not
		x := indexer.New("things")
		namespaces := []string{"", "a", "a-b", "a.", "aa", "b"}
		for _, ns := range namespaces {
			for i := range each {
				put(x, scan(t, fmt.Sprintf(`{"metadata":{"namespace":%q,"name":"n%02d","uid":"u","resourceVersion":"1"}}`, ns, i)))
			}
		}
		for _, ns := range namespaces[1:] {
			list := x.Objects(ns)
			if len(list) != each || slices.ContainsFunc(list, func(o *wire.Object) bool { return o.Key().Namespace != ns }) {
				t.Errorf("%q: %v", ns, list)
			}
		}
		if got := len(x.Objects("")); got != each*len(namespaces) {
			t.Errorf("%d in all", got)
		}
	}
}

// Issue 84959 of kubernetes, and what is behind it: a table keeps the size of
// its best day.
func TestMemoryComesBackAfterAMassDeletion(t *testing.T) {
	const n = 40000
	x := indexer.New("pods")
	runs := indexer.AddIndex(x, "run", indexer.Label("run"))
	apps := indexer.AddIndex(x, "app", indexer.Label("app"))
	objects := make([]*wire.Object, n)
	for i := range objects {
		objects[i] = obj(t, fmt.Sprintf("p%05d", i), fmt.Sprint("u", i), "1", fmt.Sprint("run=r", i), "app=web")
	}
	before := heapInUse()
	put(x, objects...)
	full := heapInUse() - before
	for i, o := range objects {
		if i%1000 != 7 { // the survivors are strewn over all
			x.Apply(entry(o.Key().Name, "", deleted(o)))
		}
	}
	left := heapInUse() - before
	if left > full/10 {
		t.Errorf("%d bytes for %d objects, and still %d for %d", full, n, left, n/1000)
	}
	if len(runs.Keys("r7007")) != 1 || len(apps.Keys("web")) != n/1000 || x.Cells() > n/4 {
		t.Errorf("%d under web, %d cells", len(apps.Keys("web")), x.Cells())
	}
	if err := x.Check(); err != nil {
		t.Error(err)
	}
	runtime.KeepAlive(objects)
}

// As above where the objects stay: their values were all different once.
func TestAnIndexGivesBackWhatItsValuesTook(t *testing.T) {
	const n = 20000
	x := indexer.New("pods")
	runs := indexer.AddIndex(x, "run", indexer.Label("run"))
	one, many := make([]*wire.Object, n), make([]*wire.Object, n)
	for i := range n {
		name, uid := fmt.Sprintf("p%05d", i), fmt.Sprint("u", i)
		one[i], many[i] = obj(t, name, uid, "1", "run=r"), obj(t, name, uid, "2", fmt.Sprint("run=r", i))
	}
	put(x, one...)
	before := heapInUse()
	put(x, many...)
	full := heapInUse() - before
	put(x, one...)
	if left := heapInUse() - before; left > full/4 {
		t.Errorf("%d bytes of %d are left", left, full)
	}
	if got := len(runs.Keys("r")); got != n || runs.Values() != 1 {
		t.Errorf("%d objects, %d values", got, runs.Values())
	}
	runtime.KeepAlive(many)
}

func TestANewStateWithTheSameValuesAllocatesNothing(t *testing.T) {
	x := indexer.New("pods")
	indexer.AddIndex(x, "owner", indexer.OwnerUID)
	indexer.AddIndex(x, "app", indexer.Label("app"))
	put(x, obj(t, "a", "u1", "1", "app=web", "^o1", "^o2"))
	e := entry("a", "2", updated(obj(t, "a", "u1", "2", "app=web", "^o1", "^o2")))
	if n := testing.AllocsPerRun(100, func() { x.Apply(e) }); n > 1 { // the list of changes, which Run uses again
		t.Errorf("%v allocations", n)
	}
}

// Whoever goes through a list may take as long as he wants: here he even writes.
func TestAListHoldsNoLock(t *testing.T) {
	x := with(t, crowd(t, 300)...)
	n := 0
	for k := range x.Keys() {
		x.Apply(entry(k.Name, "", updated(pod(t, k.Name, fmt.Sprint(1000+n), "Failed"))))
		n++
	}
	packer := indexer.NewPacker(x, indexer.PackConfig{After: 1, Every: 1, Live: func(o *wire.Object) bool {
		x.Apply(entry(o.Key().Name, "", deleted(o)))
		return false
	}})
	for range 3 {
		if err := packer.Sweep(t.Context()); err != nil {
			t.Error(err)
		}
	}
	if s := x.Stats(); n != 300 || s.Objects != 0 {
		t.Errorf("%d keys, %+v", n, s)
	}
	if err := x.Check(); err != nil {
		t.Error(err)
	}
}
