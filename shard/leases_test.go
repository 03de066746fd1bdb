package shard

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
)

func newShelf() *shelf { return &shelf{leases: map[string]*coordinationv1.Lease{}} }

// A list that takes its time shows a Lease as it was, and its holder has gone on since.
func TestAListThatTakesLongMakesNobodySilent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShelf()
		s.stands(t, leaseName(1), "b", nil)
		l := NewLeases(s, Config{Shards: 2, Identity: "a", LeaseDuration: 15 * time.Second, Timeout: time.Minute})
		silent := func() bool {
			v, err := l.look(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			return v.slots[1].silent
		}
		if silent() {
			t.Error("silent as it was first seen")
		}
		time.Sleep(2 * time.Second)
		s.slow = 14 * time.Second
		if silent() {
			t.Error("silent, though nobody knows of more than two seconds in which it was")
		}
		s.slow = 0
		if !silent() {
			t.Error("not silent, though it has been for sixteen seconds")
		}
	})
}

// Whoever may write Leases can spoil what is on them; that is said once, and again when it
// is spoiled otherwise, or was well meanwhile.
func TestWhatCannotBeReadIsSaidOnceUntilItChanges(t *testing.T) {
	s := newShelf()
	l := NewLeases(s, Config{Shards: 2, Identity: "a", LeaseDuration: time.Hour})
	var out logged
	says := func(when string, claims, weights, divisions int, spoil func()) {
		t.Helper()
		spoil()
		before := [...]int{out.count("A claim cannot"), out.count("What a share weighs cannot"), out.count("Everything is divided anew")}
		for range 3 {
			if _, err := l.look(out.in(t)); err != nil {
				t.Fatal(err)
			}
		}
		said := [...]int{out.count("A claim cannot") - before[0], out.count("What a share weighs cannot") - before[1], out.count("Everything is divided anew") - before[2]}
		if want := [...]int{claims, weights, divisions}; said != want {
			t.Errorf("%s: said of claims, weights and the division %v times, want %v", when, said, want)
		}
	}
	on := func(shard int, claim, weights string) func() {
		return func() {
			s.stands(t, leaseName(shard), "b", map[string]string{onClaim: claim, onWeights: weights})
		}
	}
	good := Range{}.String()
	says("nothing is on it", 0, 0, 0, func() { s.stands(t, leaseName(1), "b", nil) })
	says("both are spoiled", 1, 1, 0, on(1, "?", "?"))
	says("its holder has renewed it", 0, 0, 0, on(1, "?", "?"))
	says("one is spoiled otherwise", 1, 0, 0, on(1, "??", "?"))
	says("another's", 1, 0, 0, on(0, "??", ""))
	says("both are well", 0, 0, 0, on(1, good, good))
	says("spoiled as before", 1, 1, 0, on(1, "??", "?"))
	says("the division", 0, 0, 1, func() { s.stands(t, DivisionLease, "b", map[string]string{onDivision: "?"}) })
	says("it is gone", 0, 0, 0, func() { delete(s.leases, leaseName(1)) })
	says("and there again", 1, 1, 0, on(1, "??", "?"))
}

// Work is at stake while somebody waits: the share has to be followed, and the Lease to
// be renewed.
func TestNoRequestIsWaitedForForEver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShelf()
		l := NewLeases(s, Config{Shards: 2, Identity: "a", LeaseDuration: 15 * time.Second, Timeout: 5 * time.Second})
		hold(t, l)
		s.mute = true
		for what, ask := range map[string]func(context.Context) error{
			"list":   func(ctx context.Context) error { _, err := l.look(ctx); return err },
			"claim":  func(ctx context.Context) error { return l.write(ctx, &Range{}) },
			"divide": func(ctx context.Context) error { return l.divide(ctx, view{}, Division{}) },
		} {
			began := time.Now()
			ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
			if err := ask(ctx); !errors.Is(err, context.DeadlineExceeded) || time.Since(began) != 5*time.Second {
				t.Errorf("%s: after %v: %v", what, time.Since(began), err)
			}
			cancel()
		}
	})
}

// hold has l take the Lease that it chooses, as an elector does.
func hold(t *testing.T, l *Leases) {
	t.Helper()
	if _, _, err := l.Get(t.Context()); !apierrors.IsNotFound(err) {
		t.Fatal(err)
	}
	if err := l.Create(t.Context(), recordFor(l)); err != nil {
		t.Fatal(err)
	}
}

func recordFor(l *Leases) resourcelock.LeaderElectionRecord {
	return resourcelock.LeaderElectionRecord{HolderIdentity: l.Identity(), LeaseDurationSeconds: 15}
}
