package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	coordination "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/client-go/tools/leaderelection/resourcelock"

	"millrace/indexer"
	"millrace/shard"
)

// A town is some replicas around one server's Leases. It knows who works on what, and
// fails when two do on the same.
type town struct {
	t   *testing.T
	cfg config

	mu      sync.Mutex
	leases  map[string]*coordinationv1.Lease
	version int
	at      map[string]shard.Range // by replica: what it works on
	begun   map[string]int
	weights shard.Weights
}

// inTown is a story about replicas with so many shards, in a bubble.
func inTown(t *testing.T, shards int, story func(w *town)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := &town{t: t, cfg: electing(t), leases: map[string]*coordinationv1.Lease{}, at: map[string]shard.Range{}, begun: map[string]int{}, weights: shard.Weights{}}
		w.cfg.shards = shards
		for i := range 200 {
			w.weights[shard.Hash(fmt.Sprintf("team-%d", i))] = 1 << 20
		}
		story(w)
	})
}

// A townsman is one replica.
type townsman struct {
	*town

	name  string
	gone  chan struct{} // closed when it has ended
	stop  context.CancelFunc
	drain time.Duration // how long its workers take to end

	member  *shard.Member // nil if it is to lead
	err     error         // why it ended
	cut     bool          // the server cannot be reached
	crashed bool          // nothing that it does is done any more
}

// join starts a replica, whose workers end at once.
func (w *town) join(name string) *townsman { return w.joinSlow(name, 0) }

func (w *town) joinSlow(name string, drain time.Duration) *townsman {
	m, ctx := w.comes(name, drain)
	leases := shard.NewLeases(&townLeases{m: m}, shard.Config{Shards: w.cfg.shards, Identity: name, LeaseDuration: w.cfg.leaseDuration, Leader: leaseName})
	m.member = shard.NewMember(leases, shard.MemberConfig{Poll: w.cfg.retryPeriod, Settle: w.cfg.leaseDuration, Weigh: m.weigh})
	m.runs(ctx, leases, func(ctx context.Context) error { return m.member.Run(ctx, m.work) })
	return m
}

// joinToLead starts a replica of an install without shards.
func (w *town) joinToLead(name string, drain time.Duration) *townsman {
	m, ctx := w.comes(name, drain)
	leases := shard.NewLeases(&townLeases{m: m}, shard.Config{Identity: name, LeaseDuration: w.cfg.leaseDuration})
	lock := &resourcelock.LeaseLock{
		LeaseMeta: metav1.ObjectMeta{Name: leaseName}, Client: townGetter{&townLeases{m: m}},
		LockConfig: resourcelock.ResourceLockConfig{Identity: name},
	}
	work := unshared(shard.NewLeader(leases, w.cfg.retryPeriod/2), func(ctx context.Context) error { return m.work(ctx, shard.Range{}) })
	m.runs(ctx, lock, unlessStopped(ctx, work))
	return m
}

// comes is a replica that is yet to run, until ctx ends.
func (w *town) comes(name string, drain time.Duration) (m *townsman, ctx context.Context) {
	ctx, stop := context.WithCancel(w.t.Context())
	return &townsman{town: w, name: name, gone: make(chan struct{}), stop: stop, drain: drain}, ctx
}

func (m *townsman) runs(ctx context.Context, lock resourcelock.Interface, work func(context.Context) error) {
	cfg := m.cfg
	go func() {
		defer close(m.gone)
		m.err = lead(ctx, cfg, lock, work, func(error) { m.ends() })
	}()
}

// work is a share's life, as far as it can be seen from outside.
func (m *townsman) work(ctx context.Context, r shard.Range) error {
	m.begins(r)
	<-ctx.Done()
	if errors.Is(context.Cause(ctx), errLeaseLost) {
		m.ends()
		return nil
	}
	time.Sleep(m.drain)
	m.ends()
	return nil
}

func (m *townsman) begins(r shard.Range) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.crashed {
		return
	}
	for other, o := range m.at {
		if other != m.name && o.Overlaps(r) {
			m.t.Errorf("%s begins on %v while %s works on %v", m.name, r, other, o)
		}
	}
	m.at[m.name] = r
	m.begun[m.name]++
}

func (m *townsman) ends() {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.at, m.name)
}

func (m *townsman) weigh() (shard.Weights, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	at, begun := m.at[m.name]
	if !begun {
		return nil, false // as with caches that fill
	}
	mine := shard.Weights{}
	for hash, bytes := range m.weights {
		if at.Holds(hash) {
			mine[hash] = bytes
		}
	}
	return mine, true
}

// crash ends it without a word.
func (m *townsman) crash() {
	m.mu.Lock()
	m.crashed, m.cut = true, true
	delete(m.at, m.name)
	m.mu.Unlock()
	m.stop()
}

// leave is SIGTERM; it returns when the replica has ended.
func (m *townsman) leave() {
	m.stop()
	<-m.gone
}

func (m *townsman) reachable(yes bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.cut = !yes
}

// shares checks that these replicas, and nobody else, have everything among them, and
// about the same each.
func (w *town) shares(among ...string) {
	w.t.Helper()
	w.sharesWithin(0.25, among...) // what is not worth another division
}

func (w *town) sharesWithin(tolerance float64, among ...string) {
	w.t.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	if got := slices.Sorted(maps.Keys(w.at)); !slices.Equal(got, among) {
		w.t.Errorf("at work are %v: want %v", got, among)
	}
	total, mean := 0.0, float64(len(w.weights))/float64(len(among))
	for name, r := range w.at {
		total += r.Fraction()
		n := 0
		for hash := range w.weights {
			if r.Holds(hash) {
				n++
			}
		}
		if float64(n) > mean*(1+tolerance)+2 {
			w.t.Errorf("%s has %d of %d namespaces, and there are %d replicas", name, n, len(w.weights), len(among))
		}
	}
	if total < 0.999999 || total > 1.000001 {
		w.t.Errorf("%.6f of everything is worked on: %v", total, w.at)
	}
}

// townLeases is the server, as a replica reaches it.
type townLeases struct {
	coordination.LeaseInterface

	m *townsman
}

// townGetter has Leases in one namespace only.
type townGetter struct{ *townLeases }

func (g townGetter) Leases(string) coordination.LeaseInterface { return g.townLeases }

// ask is a request that nobody else's can come between.
func (l *townLeases) ask(do func() error) error {
	l.m.mu.Lock()
	defer l.m.mu.Unlock()
	if l.m.cut {
		return errors.New("no route to host")
	}
	return do()
}

func (l *townLeases) put(lease *coordinationv1.Lease) *coordinationv1.Lease {
	l.m.version++
	lease = lease.DeepCopy()
	lease.ResourceVersion = strconv.Itoa(l.m.version)
	l.m.leases[lease.Name] = lease
	return lease.DeepCopy()
}

func (l *townLeases) Create(_ context.Context, lease *coordinationv1.Lease, _ metav1.CreateOptions) (made *coordinationv1.Lease, err error) {
	return made, l.ask(func() error {
		if l.m.leases[lease.Name] != nil {
			return apierrors.NewAlreadyExists(schema.GroupResource{Resource: "leases"}, lease.Name)
		}
		made = l.put(lease)
		return nil
	})
}

func (l *townLeases) Update(_ context.Context, lease *coordinationv1.Lease, _ metav1.UpdateOptions) (made *coordinationv1.Lease, err error) {
	return made, l.ask(func() error {
		if there := l.m.leases[lease.Name]; there == nil || there.ResourceVersion != lease.ResourceVersion {
			return apierrors.NewConflict(schema.GroupResource{Resource: "leases"}, lease.Name, errors.New("it has changed"))
		}
		made = l.put(lease)
		return nil
	})
}

func (l *townLeases) Get(_ context.Context, name string, _ metav1.GetOptions) (found *coordinationv1.Lease, err error) {
	return found, l.ask(func() error {
		if found = l.m.leases[name].DeepCopy(); found == nil {
			return apierrors.NewNotFound(schema.GroupResource{Resource: "leases"}, name)
		}
		return nil
	})
}

func (l *townLeases) List(_ context.Context, o metav1.ListOptions) (list *coordinationv1.LeaseList, err error) {
	asked, err := labels.Parse(o.LabelSelector)
	if err != nil {
		return nil, err
	}
	return list, l.ask(func() error {
		list = &coordinationv1.LeaseList{}
		for _, lease := range l.m.leases {
			if asked.Matches(labels.Set(lease.Labels)) {
				list.Items = append(list.Items, *lease.DeepCopy())
			}
		}
		return nil
	})
}

// A replica that has just been replaced has all of its share plain, the others have
// packed theirs: it is no reason to divide anything anew.
func TestWhatIsPackedWeighsAsMuchAsWhatIsNot(t *testing.T) {
	store := indexer.New("taskruns")
	for i := range 100 {
		hear(t, store, i, func(indexer.Change) {})
	}
	was, is := shard.Weights{}, shard.Weights{}
	addWeights(was, store)
	packer := indexer.NewPacker(store, indexer.PackConfig{After: time.Minute})
	for range 3 {
		if err := packer.Sweep(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	addWeights(is, store)
	if n := store.Stats().Packed.Objects; n != 100 || len(was) != 1 || !maps.Equal(was, is) {
		t.Errorf("plain it weighs %v, with %d objects packed %v", was, n, is)
	}
}

func TestReplicasShareTheNamespacesAndWhoComesGetsItsPart(t *testing.T) {
	inTown(t, 4, func(w *town) {
		a := w.join("a")
		time.Sleep(10 * time.Second)
		w.shares("a")
		b := w.join("b")
		time.Sleep(time.Minute)
		w.shares("a", "b")
		c, d := w.join("c"), w.join("d")
		time.Sleep(time.Minute)
		w.shares("a", "b", "c", "d")
		for _, m := range []*townsman{a, b, c, d} {
			m.leave()
		}
		w.nobody()
	})
}

// rests checks that nobody is at work.
func (w *town) rests() {
	w.t.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.at) > 0 {
		w.t.Errorf("at work: %v", w.at)
	}
}

// nobody checks that besides all Leases of shards were given back.
func (w *town) nobody() {
	w.t.Helper()
	w.rests()
	w.mu.Lock()
	defer w.mu.Unlock()
	for name, lease := range w.leases {
		if strings.HasPrefix(name, "millrace-shard-") && (lease.Spec.HolderIdentity == nil || *lease.Spec.HolderIdentity != "" || lease.Annotations["millrace/claim"] != "") {
			t := lease.Annotations["millrace/claim"]
			w.t.Errorf("%s was not given back: %v, claim %q", name, lease.Spec.HolderIdentity, t)
		}
	}
}

// More replicas than shards stand by, and one that leaves is replaced at once: the
// others do not notice, as in a rolling update.
func TestWhoStandsByTakesTheShareOfOneThatLeaves(t *testing.T) {
	inTown(t, 2, func(w *town) {
		a, b := w.join("a"), w.join("b")
		time.Sleep(time.Minute)
		c := w.join("c")
		time.Sleep(time.Minute)
		w.shares("a", "b")
		before := w.begun["b"]
		a.leave()
		time.Sleep(5 * time.Second)
		w.shares("b", "c")
		if w.begun["b"] != before {
			t.Error("b began anew, though only a and c have changed places")
		}
		b.leave()
		c.leave()
	})
}

func TestTheShareOfOneThatLeavesIsDividedWhenNobodyTakesItsPlace(t *testing.T) {
	inTown(t, 4, func(w *town) {
		a, b, c := w.join("a"), w.join("b"), w.join("c")
		time.Sleep(time.Minute)
		w.shares("a", "b", "c")
		b.leave()
		time.Sleep(w.cfg.leaseDuration + 5*time.Second)
		w.shares("a", "c")
		a.leave()
		c.leave()
	})
}

func TestTheShareOfOneThatHasCrashedIsTakenWhenItsLeaseHasRunOut(t *testing.T) {
	inTown(t, 4, func(w *town) {
		a, b := w.join("a"), w.join("b")
		time.Sleep(time.Minute)
		w.shares("a", "b")
		crashed := time.Now()
		a.crash()
		for {
			time.Sleep(time.Second)
			w.mu.Lock()
			all := w.at["b"].Everything() && len(w.at) == 1
			w.mu.Unlock()
			if all {
				break
			}
		}
		if took := time.Since(crashed); took > 20*time.Second {
			t.Errorf("it took %v: want 20s at most", took)
		}
		<-a.gone
		b.leave()
	})
}

// A container that kubelet starts again has its pod's name, and goes on where it was.
func TestAContainerThatIsStartedAgainTakesItsOwnShare(t *testing.T) {
	inTown(t, 2, func(w *town) {
		a, b := w.join("a"), w.join("b")
		time.Sleep(time.Minute)
		a.crash()
		<-a.gone
		before := w.begun["b"]
		again := w.join("a")
		time.Sleep(3 * time.Second)
		w.shares("a", "b")
		if w.begun["b"] != before {
			t.Error("b began anew")
		}
		again.leave()
		b.leave()
	})
}

// A replica that cannot reach the server goes on until its deadline, and not a moment
// longer: begins fails the test if another one is at work by then.
func TestAReplicaThatIsCutOffStopsBeforeAnotherTakesItsShare(t *testing.T) {
	inTown(t, 4, func(w *town) {
		a, b := w.join("a"), w.join("b")
		time.Sleep(time.Minute)
		a.reachable(false)
		cut := time.Now()
		<-a.gone
		if took := time.Since(cut); !errors.Is(a.err, errLeaseLost) || took > w.cfg.renewDeadline+w.cfg.renewDeadline/2+givingBack {
			t.Errorf("it ended after %v: %v", took, a.err)
		}
		time.Sleep(w.cfg.leaseDuration)
		w.shares("b")
		b.leave()
	})
}

// A replica that takes its time to end makes the others wait, and nothing worse.
func TestASlowWorkerIsWaitedFor(t *testing.T) {
	inTown(t, 4, func(w *town) {
		a := w.joinSlow("a", 25*time.Second)
		time.Sleep(10 * time.Second)
		b := w.join("b")
		time.Sleep(w.cfg.leaseDuration + 10*time.Second)
		w.mu.Lock()
		if _, begun := w.at["b"]; begun {
			t.Error("b has begun, and a has not ended")
		}
		w.mu.Unlock()
		time.Sleep(30 * time.Second)
		w.shares("a", "b")
		// While a part changes hands nobody tells what it weighs: that is no reason to divide
		// again, and to give it back, once a second.
		time.Sleep(5 * time.Minute)
		w.shares("a", "b")
		if w.begun["a"] != 2 || w.begun["b"] != 1 {
			t.Errorf("work on a share has begun %v times: want it twice by a, which had all of it at first, and once by b", w.begun)
		}
		a.leave()
		b.leave()
	})
}

// While the number of shards is changed, those who have the old one see those who have
// the new one.
func TestMoreShardsDoNotHideFromThoseWhoKnowOfLess(t *testing.T) {
	inTown(t, 1, func(w *town) {
		a := w.join("a")
		time.Sleep(10 * time.Second)
		w.cfg.shards = 8
		b, c := w.join("b"), w.join("c")
		time.Sleep(time.Minute)
		w.shares("a", "b", "c")
		for _, m := range []*townsman{a, b, c} {
			m.leave()
		}
	})
}

// What grows is noticed: the boundary moves to where the halves weigh the same.
func TestBoundariesFollowTheWeight(t *testing.T) {
	inTown(t, 2, func(w *town) {
		heavy := shard.Weights{}
		for i := range 200 {
			heavy[shard.Hash(fmt.Sprintf("bench-%03d", i))] = 1 << 20 // they stand close together
		}
		w.weights = shard.Weights{}
		a, b := w.join("a"), w.join("b")
		time.Sleep(time.Minute)
		w.mu.Lock()
		w.weights = heavy
		w.mu.Unlock()
		time.Sleep(time.Minute)
		w.sharesWithin(0.02, "a", "b")
		a.leave()
		b.leave()
	})
}

// An install that gets shards: until the last one that could lead has gone, the others
// stand by, and are ready, as the update else would not go on.
func TestSharesBeginWhenNobodyLeadsAnyMore(t *testing.T) {
	inTown(t, 4, func(w *town) {
		leads := w.joinToLead("old-1", 5*time.Second)
		time.Sleep(10 * time.Second)
		standsBy := w.joinToLead("old-2", 0)
		w.shares("old-1")
		var all []*townsman
		for _, name := range []string{"a", "b", "c", "d"} {
			all = append(all, w.join(name))
		}
		time.Sleep(time.Minute)
		w.shares("old-1")
		for _, m := range all {
			if err := m.member.Ready(); err != nil || !m.member.Led() {
				t.Errorf("%s waits for a leader: %v, and is not ready: %v", m.name, m.member.Led(), err)
			}
		}
		leads.leave()
		standsBy.leave()
		time.Sleep(w.cfg.retryPeriod + w.cfg.retryPeriod/2) // until they look, and the steps of a claim
		if w.mu.Lock(); len(w.at) != 4 {
			t.Errorf("at work are %v: each has a share of its own by now, and nobody begins with everything", w.at)
		}
		w.mu.Unlock()
		time.Sleep(10 * time.Second)
		w.shares("a", "b", "c", "d")
		for _, m := range all {
			if m.member.Led() {
				t.Errorf("%s waits for a leader", m.name)
			}
			m.leave()
		}
		w.nobody()
	})
}

func TestSharesBeginWhenTheLeaseOfALeaderThatHasCrashedHasRunOut(t *testing.T) {
	inTown(t, 2, func(w *town) {
		leads := w.joinToLead("old", 0)
		time.Sleep(10 * time.Second)
		a, b := w.join("a"), w.join("b")
		time.Sleep(time.Minute)
		leads.crash()
		<-leads.gone
		time.Sleep(w.cfg.leaseDuration - 2*w.cfg.retryPeriod)
		w.rests()
		time.Sleep(4 * w.cfg.retryPeriod)
		w.shares("a", "b")
		a.leave()
		b.leave()
	})
}

// And back: who is to lead has the Lease, and waits. Those who share go on until a part
// of everything is nobody's, which none of them may begin on then.
func TestALeaderBeginsWhenNobodyClaimsAShareAnyMore(t *testing.T) {
	inTown(t, 2, func(w *town) {
		a, b := w.join("a"), w.joinSlow("b", 20*time.Second)
		time.Sleep(time.Minute)
		leads := w.joinToLead("new", 0)
		time.Sleep(time.Minute)
		w.shares("a", "b")
		a.leave()
		time.Sleep(15 * time.Second) // b may have begun to end while a was still leaving
		if w.mu.Lock(); len(w.at) != 1 {
			t.Errorf("at work are %v, and b has not ended what it had in hand", w.at)
		}
		w.mu.Unlock()
		time.Sleep(10 * time.Second)
		w.shares("new")
		b.leave()
		leads.leave()
		w.nobody()
	})
}

// What a replica that has crashed claimed is waited for until its Lease has run out.
func TestALeaderBeginsWhenTheLeaseOfAShardHasRunOut(t *testing.T) {
	inTown(t, 2, func(w *town) {
		a := w.join("a")
		time.Sleep(10 * time.Second)
		a.crash()
		<-a.gone
		leads := w.joinToLead("new", 0)
		time.Sleep(w.cfg.leaseDuration - time.Second)
		w.rests()
		time.Sleep(3 * time.Second)
		w.shares("new")
		leads.leave()
	})
}

// Replicas come, go, crash and are cut off at any time; begins looks that no two of
// them ever work on the same, and in the end all is shared.
func TestNoTwoReplicasAreEverInsideOneShare(t *testing.T) {
	for _, seed := range turmoils(25) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			inTown(t, 4, func(w *town) { w.turmoil(newPCG(seed), w.joinSlow) })
		})
	}
}

// And with them those that lead, as when an install is changed to shards and back.
func TestNobodyIsEverInsideAShareWhileOneLeads(t *testing.T) {
	for _, seed := range turmoils(8) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			inTown(t, 4, func(w *town) {
				chance, led := newPCG(seed), 0
				w.turmoil(chance, func(name string, drain time.Duration) *townsman {
					if chance.IntN(2) == 0 {
						led++
						return w.joinToLead(name, drain)
					}
					return w.joinSlow(name, drain)
				})
				if led == 0 {
					t.Error("nobody came to lead")
				}
			})
		})
	}
}

// turmoils are the seeds of which such a story is told: all, or today's of them.
func turmoils(all int) (seeds []uint64) {
	few := min(fewTurmoils, all)
	for i := range few {
		seeds = append(seeds, uint64((today()*few+i)%all))
	}
	return seeds
}

func newPCG(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 1)) }

func (w *town) turmoil(chance *rand.Rand, join func(name string, drain time.Duration) *townsman) {
	var all, alive []*townsman
	for n := range 40 {
		switch pick := chance.IntN(10); {
		case pick < 4 && len(alive) < 6:
			m := join(fmt.Sprint("replica-", n), time.Duration(chance.IntN(8000))*time.Millisecond)
			all, alive = append(all, m), append(alive, m)
		case len(alive) == 0:
		case pick < 6:
			at := chance.IntN(len(alive))
			alive[at].stop()
			alive = slices.Delete(alive, at, at+1)
		case pick < 8:
			at := chance.IntN(len(alive))
			alive[at].crash()
			alive = slices.Delete(alive, at, at+1)
		default:
			m := alive[chance.IntN(len(alive))]
			m.reachable(false)
			time.Sleep(time.Duration(chance.IntN(14000)) * time.Millisecond)
			m.reachable(true)
		}
		time.Sleep(time.Duration(chance.IntN(20000)) * time.Millisecond)
	}
	last := []*townsman{w.join("x"), w.join("y"), w.join("z")}
	all = append(all, last...)
	time.Sleep(3 * time.Minute)
	w.mu.Lock()
	among := slices.Sorted(maps.Keys(w.at))
	w.mu.Unlock()
	w.shares(among...)
	for _, m := range all {
		m.leave()
	}
}
