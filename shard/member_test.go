package shard

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// pair is a replica with the first half of everything, beside another with the second.
func pair(t *testing.T) (*shelf, *Leases, *Member) {
	t.Helper()
	s := newShelf()
	even := Division{Version: 1, Shares: []Share{{Shard: 0}, {Shard: 1, From: 1 << 63}}}
	s.stands(t, DivisionLease, "b", map[string]string{onDivision: even.String()})
	s.stands(t, leaseName(1), "b", map[string]string{onClaim: Range{From: 1 << 63}.String()})
	l := NewLeases(s, Config{Shards: 1, Identity: "a", LeaseDuration: 15 * time.Second})
	hold(t, l)
	return s, l, NewMember(l, MemberConfig{Poll: time.Second, Settle: 15 * time.Second})
}

// begins goes on claiming until work may begin, for some steps.
func (m *Member) begins(t *testing.T, steps int) (r Range, ok bool) {
	t.Helper()
	for range steps {
		var err error
		if r, ok, _, err = m.claim(t.Context()); err != nil {
			t.Fatal(err)
		}
		if ok {
			break
		}
	}
	return r, ok
}

// A claim that could not be taken back stands on the server, but the next renewal would
// erase it: where the same share comes back, it has to be claimed anew.
func TestWhatWasToBeGivenUpIsClaimedAnew(t *testing.T) {
	s, l, m := pair(t)
	half, ok := m.begins(t, 2)
	if !ok || half != (Range{To: 1 << 63}) {
		t.Fatalf("begins on %v: %v", half, ok)
	}
	s.refuse = true
	if err := m.drop(t.Context(), &half); err == nil {
		t.Fatal("the claim was taken back")
	}
	s.refuse = false
	if again, ok := m.begins(t, 3); !ok || again != half {
		t.Fatalf("begins on %v: %v", again, ok)
	}
	if err := l.Update(t.Context(), recordFor(l)); err != nil {
		t.Fatal(err)
	}
	if got := s.leases[leaseName(0)].Annotations[onClaim]; got != half.String() {
		t.Errorf("at work on %v, and the claim is %q", half, got)
	}
}

// What somebody else claims, with the Lease that was this replica's, is not its own.
func TestAClaimIsOursOnlyOnALeaseThatWeHold(t *testing.T) {
	s, _, m := pair(t)
	half, ok := m.begins(t, 2)
	if !ok {
		t.Fatal("does not begin")
	}
	s.stands(t, leaseName(0), "c", map[string]string{onClaim: half.String()})
	if _, ok := m.begins(t, 3); ok {
		t.Error("begins on what c claims")
	}
	if m.Ready() == nil {
		t.Error("has a share that it does not work on, and says nothing")
	}
}

// Work ends when the server does not show its claim any more: nobody else would see it.
func TestWorkEndsWhenItsClaimIsNotThereAnyMore(t *testing.T) {
	for what, happens := range map[string]func(s *shelf){
		"the Lease is deleted":  func(s *shelf) { delete(s.leases, leaseName(0)) },
		"another has the Lease": func(s *shelf) { s.stands(t, leaseName(0), "c", nil) },
		"the claim is taken off": func(s *shelf) {
			s.stands(t, leaseName(0), "a", map[string]string{})
		},
	} {
		t.Run(what, func(t *testing.T) {
			s, l, m := pair(t)
			half, ok := m.begins(t, 2)
			if !ok {
				t.Fatal("does not begin")
			}
			ends := func() bool {
				v, err := l.look(context.Background())
				if err != nil {
					t.Fatal(err)
				}
				return m.ends(v, half)
			}
			if ends() {
				t.Error("ends, and nothing has happened")
			}
			happens(s)
			if !ends() {
				t.Error("goes on")
			}
		})
	}
}

// A leader may lead for days, and each replica that stands by is asked to be patient.
func TestWhoWaitsForALeaderOrForTheServerLooksOnceInAPoll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, l, m := beside(t)
		server := &keepsOut{shelf: s}
		l.client = server
		m.cfg.Weigh = func() (Weights, bool) { return nil, false }
		log := &logged{}
		s.stands(t, leaderLease, "old", nil)
		ctx, stop := context.WithCancel(log.in(t))
		ended := make(chan error, 1)
		began := make(chan Range, 1)
		go func() {
			ended <- m.Run(ctx, func(ctx context.Context, r Range) error { began <- r; <-ctx.Done(); return nil })
		}()
		if n := server.during(10 * time.Second); n < 10 || n > 11 || log.count("is for everything") != 1 || !m.Led() {
			t.Errorf("%d looks in ten seconds beside a leader: want one a second; the log:\n%s", n, log)
		}
		server.out.Store(true)
		if n := server.during(10 * time.Second); n != 10 || log.count(errRefused.Error()) != 1 || !strings.Contains(m.Ready().Error(), errRefused.Error()) {
			t.Errorf("%d looks in ten seconds at a server that refuses, ready: %v; the log:\n%s", n, m.Ready(), log)
		}
		server.out.Store(false)
		s.stands(t, leaderLease, "", nil)
		if n := server.during(time.Second + m.cfg.Poll/2); n < 3 || len(began) != 1 {
			t.Errorf("%d looks, and work on %d shares has begun, when the leader has gone", n, len(began))
		}
		server.out.Store(true)
		if server.during(10 * time.Second); log.count(errRefused.Error()) != 2 {
			t.Errorf("at work; the log:\n%s", log)
		}
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}
