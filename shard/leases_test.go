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
