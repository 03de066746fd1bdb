package shard

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const leaderLease = "leader"

// beside is pair, where somebody may lead.
func beside(t *testing.T) (*shelf, *Leases, *Member) {
	t.Helper()
	s, l, m := pair(t)
	l.cfg.Leader = leaderLease
	return s, l, m
}

func TestNoShareIsBegunWhileSomebodyLeads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, _, m := beside(t)
		s.stands(t, leaderLease, "old", nil)
		if r, ok := m.begins(t, 3); ok {
			t.Fatalf("begins on %v", r)
		}
		if claim := s.leases[leaseName(0)].Annotations[onClaim]; claim != "" || !m.Led() || m.Ready() != nil {
			t.Errorf("claims %q, waits for a leader: %v, ready: %v", claim, m.Led(), m.Ready())
		}
		time.Sleep(14 * time.Second)
		s.stands(t, leaderLease, "old", nil) // renewed
		time.Sleep(14 * time.Second)
		if _, ok := m.begins(t, 3); ok {
			t.Error("begins, though the Lease was renewed 14 seconds ago")
		}
		time.Sleep(15 * time.Second)
		if _, ok := m.begins(t, 3); !ok || m.Led() {
			t.Error("does not begin, and the Lease has run out")
		}
	})
}

// Who led in this process's name is this process in its last life, or has given the Lease
// back.
func TestALeaseOfALeaderThatIsNobodysKeepsNobodyFromItsShare(t *testing.T) {
	for _, holder := range []string{"", "a"} {
		s, _, m := beside(t)
		s.stands(t, leaderLease, holder, nil)
		if _, ok := m.begins(t, 2); !ok {
			t.Errorf("%q holds it: does not begin", holder)
		}
	}
}

// Somebody comes to lead between a claim and the look that would have it begin.
func TestTheLeadersLeaseIsReadAfterTheClaimWasSeen(t *testing.T) {
	s, _, m := beside(t)
	if _, ok, again, err := m.claim(t.Context()); ok || !again || err != nil {
		t.Fatalf("the first step was not to claim: %v %v %v", ok, again, err)
	}
	s.stands(t, leaderLease, "new", nil)
	if _, ok := m.begins(t, 3); ok {
		t.Error("begins, by what it had seen before it claimed")
	}
}

func TestNoShareIsBegunByWhoCannotSeeWhetherSomebodyLeads(t *testing.T) {
	_, l, m := beside(t)
	l.client = blind{l.client.(*shelf)}
	for range 3 {
		if _, ok, _, err := m.claim(t.Context()); ok || !errors.Is(err, errRefused) {
			t.Errorf("begins: %v, %v", ok, err)
		}
	}
}

// blind may not read the Lease of a leader.
type blind struct{ *shelf }

func (b blind) Get(ctx context.Context, name string, o metav1.GetOptions) (*coordinationv1.Lease, error) {
	if name == leaderLease {
		return nil, errRefused
	}
	return b.shelf.Get(ctx, name, o)
}

// What was claimed in a leader's own name, in its last life, is not waited for.
func TestALeaderWaitsForTheClaimsOfOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShelf()
		s.stands(t, leaseName(0), "a", map[string]string{onClaim: Range{}.String()})
		began := time.Now()
		l := NewLeader(NewLeases(s, Config{Identity: "a", LeaseDuration: 15 * time.Second}), time.Second)
		if err := l.AwaitUnclaimed(t.Context()); err != nil || time.Since(began) > 0 {
			t.Errorf("its own: after %v: %v", time.Since(began), err)
		}
		s.stands(t, leaseName(1), "b", map[string]string{onClaim: Range{From: 1}.String()})
		ended, end := context.WithTimeout(t.Context(), 10*time.Second)
		defer end()
		if err := l.AwaitUnclaimed(ended); !errors.Is(err, context.DeadlineExceeded) || l.Ready() != nil {
			t.Errorf("while b claims a part: %v", err)
		}
		time.AfterFunc(time.Second, func() { s.stands(t, leaseName(1), "b", nil) })
		began = time.Now()
		if err := l.AwaitUnclaimed(t.Context()); err != nil || time.Since(began) > 2*time.Second {
			t.Errorf("b has ended: after %v: %v", time.Since(began), err)
		}
	})
}

// It will get one, and an update has to wait for that.
func TestWhoHoldsALeaseAndHasNoShareYetIsNotReady(t *testing.T) {
	s, _, m := pair(t)
	s.stands(t, DivisionLease, "b", map[string]string{onDivision: Division{Version: 2, Shares: []Share{{Shard: 1}}}.String()})
	if _, ok := m.begins(t, 2); ok || m.Ready() == nil {
		t.Errorf("begins: %v, ready: %v", ok, m.Ready())
	}
}

// keepsOut lets nobody list while it is told to.
type keepsOut struct {
	*shelf

	out   atomic.Bool
	lists atomic.Int64
}

func (k *keepsOut) List(ctx context.Context, o metav1.ListOptions) (*coordinationv1.LeaseList, error) {
	k.lists.Add(1)
	if k.out.Load() {
		return nil, errRefused
	}
	return k.shelf.List(ctx, o)
}

// during is how often somebody lists in so long.
func (k *keepsOut) during(d time.Duration) int64 {
	synctest.Wait()
	n := k.lists.Load()
	time.Sleep(d)
	synctest.Wait()
	return k.lists.Load() - n
}

// An image that is newer than its Role leads, and may not list.
func TestALeaderThatMayNotSeeTheLeasesSaysSoAndAsksSeldom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := &logged{}
		server := &keepsOut{shelf: newShelf()}
		server.out.Store(true)
		server.stands(t, leaseName(1), "b", map[string]string{onClaim: Range{}.String()})
		l := NewLeader(NewLeases(server, Config{Identity: "a", LeaseDuration: 15 * time.Second}), time.Second/2)
		if err := l.Ready(); err != nil {
			t.Errorf("before it leads: %v", err)
		}
		begun := make(chan error, 1)
		go func() { begun <- l.AwaitUnclaimed(log.in(t)) }()
		if n := server.during(10 * time.Minute); n < 120 || n > 124 {
			t.Errorf("%d looks in ten minutes: want one in 5 s", n)
		}
		if err := l.Ready(); !errors.Is(err, errRefused) || log.count(errRefused.Error()) != 1 {
			t.Errorf("ready: %v; the log:\n%s", err, log)
		}
		server.out.Store(false)
		time.Sleep(longestPause)
		synctest.Wait()
		if err := l.Ready(); err != nil || log.count("millrace-shard-1, which b holds") != 1 {
			t.Errorf("while it waits for b: %v; the log:\n%s", err, log)
		}
		if n := server.during(10 * time.Second); n != 20 {
			t.Errorf("%d looks in ten seconds while it waits for b: want 20", n)
		}
		server.out.Store(true)
		time.Sleep(10 * time.Second)
		server.out.Store(false)
		server.stands(t, leaseName(1), "", nil)
		if err := <-begun; err != nil || l.Ready() != nil || log.count("\n") != 3 {
			t.Errorf("in the end: %v, ready: %v; the log, of which three lines are wanted:\n%s", err, l.Ready(), log)
		}
	})
}
