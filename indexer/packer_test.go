package indexer_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"

	"millrace/fifo"
	"millrace/indexer"
	"millrace/wire"
)

// pod is one of which there is something to pack.
func pod(tb testing.TB, name, version, phase string, labels ...string) *wire.Object {
	tb.Helper()
	head := string(obj(tb, name, "uid-of-"+name, version, append(labels, "app=web", "^run-of-"+name)...).Bytes())
	var containers []string
	for i := range 3 {
		containers = append(containers, fmt.Sprintf(`{"name":"step-%d","image":"registry.example.com/ci/go@sha256:2c1f0d3a90bd4d5c9d55","args":["-post_file","/tekton/run/%d/out","--","%s"]}`, i, i, name))
	}
	return scan(tb, strings.TrimSuffix(head, "}")+fmt.Sprintf(`,"spec":{"containers":[%s],"restartPolicy":"Never"},"status":{"phase":%q,"podIP":"10.0.0.7"}}`, strings.Join(containers, ","), phase))
}

// crowd is so many pods, and enough of them for a dictionary.
func crowd(tb testing.TB, n int) []*wire.Object {
	tb.Helper()
	pods := make([]*wire.Object, n)
	for i := range pods {
		pods[i] = pod(tb, fmt.Sprintf("p%03d", i), fmt.Sprint(i+1), "Succeeded")
	}
	return pods
}

// packing runs a packer over x in the bubble of the test, and ends it with the
// test.
func packing(t *testing.T, x *indexer.Indexer, cfg indexer.PackConfig) {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	packer := indexer.NewPacker(x, cfg)
	go func() { done <- packer.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

func expectPacked(t *testing.T, x *indexer.Indexer, plain, packed int) {
	t.Helper()
	synctest.Wait()
	if s := x.Stats(); s.Plain.Objects != plain || s.Packed.Objects != packed || s.Objects != plain+packed || s.Bytes != s.Plain.Bytes+s.Packed.Bytes {
		t.Errorf("%+v, want %d plain, %d packed", s, plain, packed)
	}
	if err := x.Check(); err != nil {
		t.Error(err)
	}
}

// after passes the time, and a second more, in which the sweep is done.
func after(d time.Duration) {
	time.Sleep(d + time.Second)
	synctest.Wait()
}

func TestWhatNobodyReadsIsPackedAndWhatIsReadTwiceIsPlainAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pods := crowd(t, 100)
		x := with(t, pods...)
		packing(t, x, indexer.PackConfig{After: 10 * time.Minute})
		before := x.Stats().Bytes
		after(9 * time.Minute)
		x.Object(key("p000"))
		expectPacked(t, x, 100, 0)
		after(2 * time.Minute)
		expectPacked(t, x, 1, 99)
		s := x.Stats()
		if s.Packs != 99 || s.Unpacks != 0 || s.Dictionaries != 1 || s.DictionaryBytes == 0 || s.Bytes > before/2 {
			t.Errorf("%+v of %d bytes", s, before)
		}
		after(9 * time.Minute)
		expectPacked(t, x, 0, 100)

		read := func(name string) {
			t.Helper()
			if o, ok := x.Object(key(name)); !ok || o.String() != "n/"+name+"@"+fmt.Sprint(1+num(name)) {
				t.Errorf("%s is %v", name, o)
			}
		}
		read("p001")
		expectPacked(t, x, 0, 100)
		after(11 * time.Minute) // too long ago
		read("p001")
		expectPacked(t, x, 0, 100)
		after(5 * time.Minute)
		read("p001")
		expectPacked(t, x, 1, 99)
		read("p001")
		if s := x.Stats(); s.Unpacks != 3 {
			t.Errorf("unpacked %d times", s.Unpacks)
		}
		after(11 * time.Minute)
		expectPacked(t, x, 0, 100)
	})
}

func num(name string) (n int) {
	_, _ = fmt.Sscanf(name, "p%d", &n)
	return n
}

// listed puts objects into the store as the first list does.
func listed(x *indexer.Indexer, objects ...*wire.Object) {
	for _, o := range objects {
		d := added(o)
		d.Initial = true
		x.Apply(fifo.Entry{Key: o.Key(), Deltas: []fifo.Delta{d}})
	}
}

// Nobody knows how long the objects of a first list have rested. They do not wait for
// After, and one look at each, of whoever takes over, is not a reason to keep them.
func TestWhatTheFirstListBroughtIsPackedInTheFirstSweep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := indexer.New("things")
		listed(x, crowd(t, 100)...)
		packing(t, x, indexer.PackConfig{After: 10 * time.Minute, Live: func(o *wire.Object) bool { return o.Key().Name == "p042" }})
		after(50 * time.Second)
		expectPacked(t, x, 100, 0)
		x.Object(key("p001"))
		x.Object(key("p002"))
		x.Object(key("p002"))
		put(x, pod(t, "new", "900", "Running"))
		x.Apply(entry("p003", "", updated(pod(t, "p003", "901", "Succeeded"))))
		after(20 * time.Second)
		expectPacked(t, x, 4, 97) // p042, p002, new and p003
		x.Object(key("p004"))
		x.Object(key("p004"))
		expectPacked(t, x, 4, 97)
		x.Object(key("p004"))
		expectPacked(t, x, 5, 96)
		after(12 * time.Minute)
		expectPacked(t, x, 1, 100)
	})
}

// filling runs a store that a queue fills, with a packer behind its handlers, and gives
// what a first list brings.
func filling(t *testing.T, x *indexer.Indexer, cfg indexer.PackConfig, handlers ...func(indexer.Change)) (q *fifo.FIFO, item func(...*wire.Object)) {
	t.Helper()
	packer := indexer.NewPacker(x, cfg)
	q = fifo.New(x, fifo.Config{})
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 2)
	go func() { done <- x.Run(ctx, q, append(handlers, packer.Handle)...) }()
	go func() { done <- packer.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		for range 2 {
			if err := <-done; err != nil {
				t.Error(err)
			}
		}
	})
	return q, func(objects ...*wire.Object) {
		for _, o := range objects {
			if err := q.Item(o); err != nil {
				t.Error(err)
			}
		}
		synctest.Wait()
	}
}

// A large list is packed while it comes, by whoever takes it in: so a start needs no
// memory for all of it, and no core to spare.
func TestALargeFirstListIsPackedWhileItComes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := indexer.New("things")
		pods := crowd(t, 2000)
		sweeps := make(chan indexer.Sweep, 10)
		q, item := filling(t, x, indexer.PackConfig{
			Live:  func(o *wire.Object) bool { return o.Key().Name == "p042" },
			Trace: indexer.PackTrace{Swept: func(s indexer.Sweep) { sweeps <- s }},
		})
		q.Begin()
		item(pods[:1000]...)
		expectPacked(t, x, 1000, 0)
		item(pods[1000:1024]...)
		expectPacked(t, x, 1, 1023)
		item(pods[1024:1055]...)
		expectPacked(t, x, 32, 1023)
		item(pods[1055])
		expectPacked(t, x, 1, 1055)
		item(pods[1056:]...)
		expectPacked(t, x, 1+16, 1983)
		q.Commit("2000")
		if err := q.Add(pod(t, "late", "9001", "Succeeded")); err != nil {
			t.Error(err)
		}
		expectPacked(t, x, 2+16, 1983)
		after(time.Minute)
		expectPacked(t, x, 2, 1999)
		if s := <-sweeps; s.Idle != 1999 || s.Packed != 1999 || !s.Dictionary || s.Ratio <= 0 || s.Ratio > 0.5 || s.Freed < 100*1999 {
			t.Errorf("the first sweep tells of %+v", s)
		}
		after(time.Minute)
		if s := <-sweeps; s.Packed != 0 || s.Freed != 0 {
			t.Errorf("the second sweep tells of %+v", s)
		}
	})
}

// Whoever reads meets Handle and a sweep that falls into the list; nobody sees more of it
// than time.
func TestReadersAndSweepsMeetAFirstList(t *testing.T) {
	x := indexer.New("things")
	packer := indexer.NewPacker(x, indexer.PackConfig{After: 1, Every: 1, Crowd: 64})
	q := fifo.New(x, fifo.Config{Crowd: 8})
	pods := crowd(t, 600)
	ctx, stop := context.WithCancel(t.Context())
	var all sync.WaitGroup
	all.Go(func() {
		if err := x.Run(ctx, q, packer.Handle); err != nil {
			t.Error(err)
		}
	})
	for range 2 {
		all.Go(func() {
			for i := 0; ctx.Err() == nil; i++ {
				if o, ok := x.Object(pods[i%len(pods)].Key()); ok && o.ResourceVersion() != pods[i%len(pods)].ResourceVersion() {
					t.Errorf("%s is read as %s", pods[i%len(pods)], o)
				}
				time.Sleep(50 * time.Microsecond)
			}
		})
	}
	all.Go(func() {
		// The list waits for each sweep, and goes on between two: else there would be as
		// many as it has objects, and on one processor they took minutes.
		for next := 0; ctx.Err() == nil; time.Sleep(50 * time.Microsecond) {
			if n := x.Stats().Objects; n >= min(next, len(pods)) {
				next = n + 50
				if err := packer.Sweep(ctx); err != nil {
					t.Error(err)
				}
			}
		}
	})
	q.Begin()
	for _, o := range pods {
		q.Room(ctx)
		if err := q.Item(o); err != nil {
			t.Error(err)
		}
	}
	q.Commit("600")
	<-x.Synced()
	for i := 0; i < 60_000 && x.Stats().Packs == 0; i++ { // which is up to the scheduler
		time.Sleep(time.Millisecond)
	}
	stop()
	all.Wait()
	if s := x.Stats(); s.Objects != 600 || s.Packs == 0 {
		t.Errorf("%+v", s)
	}
	if err := x.Check(); err != nil {
		t.Error(err)
	}
}

// What is read while it is packed stays plain, and nothing is freed by it.
func TestASweepCountsWhatItHasPutThere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := indexer.New("things")
		listed(x, crowd(t, 100)...)
		var told indexer.Sweep
		packer := indexer.NewPacker(x, indexer.PackConfig{
			Live: func(o *wire.Object) bool {
				if o.Key().Name == "p099" { // when all others have been looked at
					for range 3 {
						x.Object(key("p007"))
					}
				}
				return false
			},
			Trace: indexer.PackTrace{Swept: func(s indexer.Sweep) { told = s }},
		})
		if err := packer.Sweep(t.Context()); err != nil {
			t.Fatal(err)
		}
		expectPacked(t, x, 1, 99)
		before, after := 0, 0
		for k := range x.Keys() {
			g, _ := x.Glance(k)
			if size, packed := g.Size(); packed {
				before, after = before+g.PlainSize(), after+size
			}
		}
		if told.Idle != 100 || told.Packed != 99 || told.Freed != int64(before-after) || told.Ratio != float64(after)/float64(before) {
			t.Errorf("%+v, and %d bytes are %d", told, before, after)
		}
	})
}

// A hook may take its time: a first list goes on meanwhile.
func TestWhoIsToldOfASweepHoldsUpNoFirstList(t *testing.T) {
	x := indexer.New("things")
	pods := crowd(t, 100)
	listed(x, pods...)
	told, goOn := make(chan struct{}), make(chan struct{})
	packer := indexer.NewPacker(x, indexer.PackConfig{Crowd: 64, Trace: indexer.PackTrace{Swept: func(indexer.Sweep) { close(told); <-goOn }}})
	swept, handled := make(chan error, 1), make(chan struct{})
	go func() { swept <- packer.Sweep(t.Context()) }()
	<-told
	go func() {
		defer close(handled)
		for _, o := range pods {
			packer.Handle(indexer.Change{Type: indexer.Created, Key: o.Key(), New: o, Initial: true})
		}
	}()
	select {
	case <-handled:
	case <-time.After(time.Minute):
		t.Error("it waits for who is told of the sweep")
	}
	close(goOn)
	if err := <-swept; err != nil {
		t.Error(err)
	}
	<-handled
}

// A list that is read by its handlers, or changes while it comes, is left to the sweeps.
func TestWhatIsReadOrChangesWhileTheFirstListComesIsLeftPlain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := indexer.New("things")
		q, item := filling(t, x, indexer.PackConfig{}, func(c indexer.Change) {
			if c.Key.Name == "p007" { // three times: one is a glance, two may be
				for range 3 {
					x.Object(c.Key)
				}
			}
		})
		q.Begin()
		pods := crowd(t, 1100)
		item(pods[:8]...)
		if err := q.Update(pod(t, "p003", "5000", "Running")); err != nil {
			t.Error(err)
		}
		if err := q.Delete(pods[4]); err != nil {
			t.Error(err)
		}
		item(pods[8:]...)
		q.Commit("5001")
		synctest.Wait()
		for name, plain := range map[string]bool{"p003": false, "p005": false, "p007": true} {
			before := x.Stats().Unpacks
			if o, ok := x.Object(key(name)); !ok || (x.Stats().Unpacks == before) != plain {
				t.Errorf("%s is %v, and plain: %v", name, o, !plain)
			}
		}
		if _, ok := x.Object(key("p004")); ok {
			t.Error("p004 is there")
		}
		if err := x.Check(); err != nil {
			t.Error(err)
		}
	})
}

func TestWhatSomebodyIsAtWorkForStaysPlain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := with(t, crowd(t, 80)...)
		var done atomic.Bool
		packing(t, x, indexer.PackConfig{After: time.Minute, Live: func(o *wire.Object) bool {
			return !done.Load() && strings.HasSuffix(o.Key().Name, "7")
		}})
		after(5 * time.Minute)
		expectPacked(t, x, 8, 72)
		done.Store(true)
		after(time.Minute)
		expectPacked(t, x, 0, 80)
	})
}

// Whoever follows a packed object sees no difference: not the changes, not an
// index, not a reader, not a resync.
func TestNobodySeesThatAnObjectIsPacked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pods := crowd(t, 70)
		x := with(t, pods...)
		runs := indexer.AddIndex(x, "run", indexer.OwnerUID)
		packing(t, x, indexer.PackConfig{After: time.Minute})
		after(5 * time.Minute)
		expectPacked(t, x, 0, 70)

		if uid, version, ok := x.Known(key("p003")); uid != "uid-of-p003" || version != "4" || !ok {
			t.Errorf("known as %s, %s, %v", uid, version, ok)
		}
		for k := range x.Keys() {
			if k.Namespace != "n" || len(k.Name) != 4 {
				t.Errorf("key %s", k)
			}
		}
		if got := names(runs.Keys("run-of-p003")); got != "p003" {
			t.Errorf("index: %q", got)
		}
		if s := x.Stats(); s.Unpacks != 0 {
			t.Errorf("%d objects were unpacked for what needs none", s.Unpacks)
		}
		p, ok, err := indexer.Read[corev1.Pod](x).Get(key("p003"))
		if err != nil || !ok || p.Status.Phase != "Succeeded" || len(p.Spec.Containers) != 3 {
			t.Errorf("read %v, %v, %v", p, ok, err)
		}
		told := showAll(x.Apply(entry("p004", "", fifo.Delta{Type: fifo.Sync})))
		if told != "update p004 uid-of-p004@5 uid-of-p004@5 resync" {
			t.Errorf("resync: %s", told)
		}
		expectPacked(t, x, 0, 70) // a replay is no reason to make everything plain

		c := x.Apply(entry("p005", "", updated(pod(t, "p005", "900", "Failed"))))
		if told := showAll(c); told != "update p005 uid-of-p005@6 uid-of-p005@900" || string(c[0].Old.Bytes()) != string(pods[5].Bytes()) {
			t.Errorf("update: %s", told)
		}
		c = x.Apply(entry("p006", "", fifo.Delta{Type: fifo.Deleted, UID: "uid-of-p006", FinalStateUnknown: true}))
		if told := showAll(c); told != "delete p006 uid-of-p006@7 - unseen" || string(c[0].Old.Bytes()) != string(pods[6].Bytes()) {
			t.Errorf("delete: %s", told)
		}
		if len(runs.Keys("run-of-p006")) != 0 || runs.Values() != 69 {
			t.Error("the index has what is gone")
		}
		expectPacked(t, x, 1, 68)
		late := indexer.AddIndex(x, "app", indexer.Label("app"))
		if got := len(late.Keys("web")); got != 69 {
			t.Errorf("a late index finds %d", got)
		}
		if got := len(x.Objects("")); got != 69 {
			t.Errorf("%d in the list", got)
		}
	})
}

// Fewer than a dictionary's worth are not packed, and cost little.
func TestNothingIsPackedUntilThereIsADictionary(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pods := crowd(t, 70)
		x := with(t, pods[:60]...)
		packing(t, x, indexer.PackConfig{After: time.Minute})
		after(10 * time.Minute)
		expectPacked(t, x, 60, 0)
		put(x, pods[60:]...)
		after(5 * time.Minute)
		expectPacked(t, x, 0, 70)
		put(x, pod(t, "one-more", "99", "Succeeded"))
		after(5 * time.Minute) // there is one now
		expectPacked(t, x, 0, 71)
	})
}

// noise is a text that cannot be packed, if nobody has seen it before.
func noise(seed uint64, n int) string {
	r := rand.New(rand.NewPCG(seed, 11))
	b := make([]byte, n)
	for i := range b {
		b[i] = "abcdefghijklmnopqrstuvwxyz0123456789-/"[r.IntN(38)]
	}
	return string(b)
}

// sweeping packs in sweeps, into one list of those that had something to do.
func sweeping(t *testing.T, x *indexer.Indexer) *[]indexer.Sweep {
	t.Helper()
	var sweeps []indexer.Sweep
	packing(t, x, indexer.PackConfig{After: time.Minute, Trace: indexer.PackTrace{Swept: func(s indexer.Sweep) {
		if s.Idle > 0 {
			sweeps = append(sweeps, s)
		}
	}}})
	return &sweeps
}

// Objects change. When what the dictionary has packed worse than when it was
// fresh adds up to more than another one takes, the next sweep takes another; the
// old one goes with its last object.
func TestADictionaryThatHasAgedIsReplaced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := with(t, crowd(t, 100)...)
		list := sweeping(t, x)
		after(5 * time.Minute)
		theirs := noise(0, 4000)
		stranger := func(from, to int) {
			for i := from; i < to; i++ {
				put(x, scan(t, fmt.Sprintf(`{"metadata":{"namespace":"n","name":"s%03d","uid":"s%d","resourceVersion":"1"},"data":{"ca.crt":%q,"key":%q}}`, i, i, theirs, noise(uint64(1+i), 50))))
			}
		}
		stranger(0, 100)
		after(5 * time.Minute)
		stranger(100, 200)
		after(5 * time.Minute)
		sweeps := *list
		if len(sweeps) != 3 || !sweeps[0].Dictionary || sweeps[1].Dictionary || !sweeps[2].Dictionary {
			t.Fatalf("%+v", sweeps)
		}
		if sweeps[1].Ratio < 2*sweeps[0].Ratio || sweeps[2].Ratio > sweeps[1].Ratio/2 {
			t.Errorf("%+v", sweeps)
		}
		if s := x.Stats(); s.Packed.Objects != 300 || s.Dictionaries != 2 {
			t.Errorf("%+v", s)
		}
		all := x.Objects("")
		for _, o := range all { // of both
			if !strings.Contains(string(o.Bytes()), o.Key().Name) {
				t.Errorf("%s is %s", o, o.Bytes())
			}
		}
		for _, o := range all {
			if name := o.Key().Name; name[0] == 'p' || num("p"+name[1:]) < 100 {
				x.Apply(entry(name, "", deleted(o)))
			}
		}
		if s := x.Stats(); s.Dictionaries != 1 {
			t.Errorf("%+v", s)
		}
	})
}

// What a dictionary was taken from it packs better than all that comes after it.
// That is no reason for another one, which would be no better: a cluster where a
// hundred runs end in each minute would have hundreds of them by the evening.
func TestADictionaryStaysWhileAnotherWouldBeNoBetter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := with(t)
		list := sweeping(t, x)
		for i := range 8 * 70 {
			put(x, scan(t, fmt.Sprintf(`{"metadata":{"namespace":"n","name":"p%04d","uid":"p%d","resourceVersion":"1"},"spec":{"script":%q},"status":{"log":%q}}`,
				i, i, noise(0, 1000), noise(uint64(1+i), 1000))))
			if i%70 == 69 {
				after(time.Minute)
			}
		}
		after(5 * time.Minute)
		made := 0
		for _, s := range *list {
			if s.Dictionary {
				made++
			}
		}
		if s := x.Stats(); len(*list) < 8 || made != 1 || s.Dictionaries != 1 || s.Plain.Objects != 0 {
			t.Errorf("%d dictionaries in %d sweeps; %+v", made, len(*list), s)
		}
	})
}

func TestThePackerStopsAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := with(t, crowd(t, 70)...)
		packer := indexer.NewPacker(x, indexer.PackConfig{})
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- packer.Run(ctx) }()
		synctest.Wait()
		if err := packer.Run(ctx); err == nil {
			t.Error("a second Run is no error")
		}
		after(10*time.Minute + 30*time.Second)
		begin := time.Now()
		stop()
		if err := <-done; err != nil || time.Since(begin) > 0 {
			t.Errorf("%v after %v", err, time.Since(begin))
		}
		if err := packer.Sweep(ctx); err != nil || x.Stats().Packed.Objects != 0 {
			t.Errorf("%v, %+v", err, x.Stats())
		}
	})
}

// Readers, the writer and the packer at once, for the race detector.
func TestReadersMayLookWhileThePackerPacks(t *testing.T) {
	pods := crowd(t, 100)
	x := with(t, pods...)
	apps := indexer.AddIndex(x, "app", indexer.Label("app"))
	packer := indexer.NewPacker(x, indexer.PackConfig{After: 1, Every: 1})
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan struct{})
	for range 3 {
		go func() {
			for i := 0; ctx.Err() == nil; i++ {
				name := fmt.Sprintf("p%03d", i%100)
				if o, ok := x.Object(key(name)); !ok || o.Key().Name != name {
					t.Errorf("%s is %v", name, o)
				}
				if i%50 == 0 && (len(apps.Objects("web")) != 100 || len(x.Objects("n")) != 100) {
					t.Error("a list lacks some")
				}
				time.Sleep(50 * time.Microsecond)
			}
			done <- struct{}{}
		}()
	}
	// Whether a reader comes by between two sweeps is up to the scheduler.
	met := func() bool { s := x.Stats(); return s.Packs > 0 && s.Unpacks > 0 }
	for i := 0; i < 25 || i < 5000 && !met(); i++ {
		if err := packer.Sweep(ctx); err != nil {
			t.Fatal(err)
		}
		for j := range 10 {
			put(x, pod(t, fmt.Sprintf("p%03d", j*9), fmt.Sprint(1000+i), "Failed"))
		}
		time.Sleep(5 * time.Millisecond)
	}
	stop()
	for range 3 {
		<-done
	}
	if !met() {
		t.Errorf("%+v", x.Stats())
	}
	if err := x.Check(); err != nil {
		t.Error(err)
	}
}
