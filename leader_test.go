package main

import (
	"context"
	"errors"
	"os"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/client-go/tools/leaderelection/resourcelock"

	"millrace/reconcile"
)

func TestMain(m *testing.M) {
	// The handlers after the first keep the time of their making, which is not a
	// bubble's time: their first call in a bubble would sleep for decades.
	utilruntime.ErrorHandlers = utilruntime.ErrorHandlers[:1] //nolint:reassign // there is no other door
	os.Exit(m.Run())
}

// A lease is the server's side of the Lease, and what happened to it.
type lease struct {
	mu     sync.Mutex
	record *resourcelock.LeaderElectionRecord
	down   bool // it answers with an error
	mute   bool // it does not answer
	miss   bool // it does not answer once
	stale  bool // it takes no renewal
	diary  []string
}

func (l *lease) note(what string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.diary) == 0 || l.diary[len(l.diary)-1] != what {
		l.diary = append(l.diary, what)
	}
}

// A holder is a replica's view of the lease.
type holder struct {
	*lease
	name string
}

func (h holder) Get(context.Context) (*resourcelock.LeaderElectionRecord, []byte, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.record == nil {
		return nil, nil, apierrors.NewNotFound(schema.GroupResource{Resource: "leases"}, leaseName)
	}
	record := *h.record
	return &record, []byte(record.HolderIdentity + record.RenewTime.String()), nil
}

func (h holder) Create(ctx context.Context, r resourcelock.LeaderElectionRecord) error {
	return h.Update(ctx, r)
}

func (h holder) Update(ctx context.Context, r resourcelock.LeaderElectionRecord) error {
	h.mu.Lock()
	down, mute := h.down || h.stale && r.HolderIdentity != "", h.mute || h.miss
	h.miss = false
	if !down && !mute {
		h.record = &r
	}
	h.mu.Unlock()
	switch {
	case mute:
		<-ctx.Done()
		return ctx.Err()
	case down:
		return errors.New("the server is away")
	case r.HolderIdentity == "":
		h.note("lease given back by " + h.name)
	default:
		h.note("lease held by " + h.name)
	}
	return nil
}

func (h holder) RecordEvent(string) {}
func (h holder) Identity() string   { return h.name }
func (h holder) Describe() string   { return leaseName }

func electing(t *testing.T) config {
	t.Helper()
	cfg, err := parseConfig(nil, none)
	if err != nil {
		t.Fatal(err)
	}
	return cfg
}

func TestTheLeaseIsGivenBackAfterTheLastWorkerHasReturned(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &lease{}
		ctx, stop := context.WithCancel(t.Context())
		work := func(ctx context.Context) error {
			l.note("work begins")
			<-ctx.Done()
			time.Sleep(20500 * time.Millisecond) // a worker finishes what it has in hand, between two renewals
			l.note("work ends")
			return nil
		}
		time.AfterFunc(time.Minute, stop)
		if err := lead(ctx, electing(t), holder{l, "a"}, work, func(error) { t.Error("the lease was lost") }); err != nil {
			t.Fatal(err)
		}
		want := []string{"lease held by a", "work begins", "lease held by a", "work ends", "lease given back by a"}
		if !slices.Equal(l.diary, want) {
			t.Errorf("%q\nwant %q", l.diary, want)
		}
	})
}

// A server that does not answer is worse than one that refuses: client-go's
// elector then tries to give the Lease back, as long as it tried to renew it,
// before it says that it is lost. Two leaders were at work for five seconds.
func TestAReplicaThatCannotRenewStopsAtTheDeadline(t *testing.T) {
	for name, cut := range map[string]func(*lease){
		"refused": func(l *lease) { l.down = true },
		"mute":    func(l *lease) { l.mute = true },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := &lease{}
				cfg := electing(t)
				var cutAt, lost, ended time.Time
				work := func(ctx context.Context) error {
					time.Sleep(time.Minute)
					l.mu.Lock()
					cut(l)
					cutAt = time.Now()
					l.mu.Unlock()
					<-ctx.Done()
					ended = time.Now()
					return ctx.Err()
				}
				err := lead(t.Context(), cfg, holder{l, "a"}, work, func(error) { lost = time.Now() })
				if !errors.Is(err, errLeaseLost) {
					t.Errorf("lead returned %v", err)
				}
				for what, at := range map[string]time.Time{"told": lost, "stopped": ended} {
					if late := at.Sub(cutAt); late > cfg.renewDeadline {
						t.Errorf("%s %s after the last renewal could be made; the deadline is %s", what, late, cfg.renewDeadline)
					}
				}
			})
		})
	}
}

// client-go's elector gives the Lease back by itself when it could not renew it, and
// would do so while the last worker still writes.
func TestALeaseThatCouldNotBeRenewedIsNotGivenBackWhileThereIsWork(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &lease{}
		work := func(ctx context.Context) error {
			l.note("work begins")
			time.Sleep(time.Minute)
			l.mu.Lock()
			l.stale = true
			l.mu.Unlock()
			<-ctx.Done()
			time.Sleep(20 * time.Second)
			l.note("work ends")
			return ctx.Err()
		}
		if err := lead(t.Context(), electing(t), holder{l, "a"}, work, func(error) {}); !errors.Is(err, errLeaseLost) {
			t.Errorf("lead returned %v", err)
		}
		want := []string{"lease held by a", "work begins", "lease held by a", "work ends"}
		if !slices.Equal(l.diary, want) {
			t.Errorf("%q\nwant %q", l.diary, want)
		}
	})
}

// The elector asks one thing at a time, and would wait for the whole deadline.
// A leader that stood still for longer than the Lease lasts is told to stop, or finds that
// its time is over, before it has looked whose the Lease is now.
func TestALeaseThatAnotherHasTakenIsNotGivenBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &lease{}
		ctx, stop := context.WithCancel(t.Context())
		work := func(ctx context.Context) error {
			<-ctx.Done()
			l.mu.Lock()
			defer l.mu.Unlock()
			l.record = &resourcelock.LeaderElectionRecord{HolderIdentity: "b", LeaseDurationSeconds: 15}
			return nil
		}
		time.AfterFunc(time.Minute+500*time.Millisecond, stop) // between two renewals, which come each second
		if err := lead(ctx, electing(t), holder{l, "a"}, work, func(error) { t.Error("it was found out before the stop") }); err != nil {
			t.Fatal(err)
		}
		if l.record.HolderIdentity != "b" || slices.Contains(l.diary, "lease given back by a") {
			t.Errorf("b's Lease is now %q's: %q", l.record.HolderIdentity, l.diary)
		}
	})
}

func TestOneRenewalWithoutAnAnswerDoesNotCostTheLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &lease{}
		ctx, stop := context.WithCancel(t.Context())
		work := func(ctx context.Context) error {
			time.Sleep(time.Minute)
			l.mu.Lock()
			l.miss = true
			l.mu.Unlock()
			time.AfterFunc(time.Minute, stop)
			<-ctx.Done()
			return nil
		}
		if err := lead(ctx, electing(t), holder{l, "a"}, work, func(err error) { t.Error(err) }); err != nil {
			t.Fatal(err)
		}
	})
}

func TestAServerThatDoesNotAnswerDoesNotHoldUpAStop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &lease{}
		ctx, stop := context.WithCancel(t.Context())
		var ended time.Time
		work := func(ctx context.Context) error {
			time.Sleep(time.Minute)
			l.mu.Lock()
			l.mute = true
			l.mu.Unlock()
			stop()
			ended = time.Now()
			return nil
		}
		if err := lead(ctx, electing(t), holder{l, "a"}, work, func(error) {}); err != nil {
			t.Fatal(err)
		}
		if late := time.Since(ended); late > givingBack {
			t.Errorf("gone %s after the work had ended", late)
		}
	})
}

func TestASuccessorWorksOnlyAfterTheLeaseHasRunOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &lease{}
		cfg := electing(t)
		crashed, crash := context.WithCancel(t.Context())
		go holder{l, "a"}.crashAfter(crashed, cfg)
		time.Sleep(time.Minute)
		l.note("a is killed")
		crash()
		killed := time.Now()
		ctx, stop := context.WithCancel(t.Context())
		work := func(context.Context) error {
			if waited := time.Since(killed); waited < cfg.leaseDuration-cfg.retryPeriod || waited > 20*time.Second {
				t.Errorf("b began %s after the crash; a lease lasts %s", waited, cfg.leaseDuration)
			}
			stop()
			return nil
		}
		if err := lead(ctx, cfg, holder{l, "b"}, work, func(error) {}); err != nil {
			t.Fatal(err)
		}
	})
}

// crashAfter renews as a leader does, until ctx ends, and gives nothing back.
func (h holder) crashAfter(ctx context.Context, cfg config) {
	for ctx.Err() == nil {
		now := time.Now()
		h.mu.Lock()
		h.record = &resourcelock.LeaderElectionRecord{HolderIdentity: h.name, LeaseDurationSeconds: int(cfg.leaseDuration.Seconds())}
		h.record.RenewTime.Time = now
		h.mu.Unlock()
		select {
		case <-ctx.Done():
		case <-time.After(cfg.retryPeriod):
		}
	}
}

func TestWhoNeverLedLeavesQuietly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &lease{}
		other, leave := context.WithCancel(t.Context())
		go holder{l, "a"}.crashAfter(other, electing(t))
		time.Sleep(time.Second)
		ctx, stop := context.WithCancel(t.Context())
		time.AfterFunc(time.Minute, stop)
		work := func(context.Context) error { t.Error("worked without the lease"); return nil }
		if err := lead(ctx, electing(t), holder{l, "b"}, work, func(error) {}); err != nil {
			t.Error(err)
		}
		leave()
	})
}

func TestReconcilesEndWithTheLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mayWork, lose := context.WithCancelCause(t.Context())
		fn := while(mayWork, func(ctx context.Context, _ types.NamespacedName) (reconcile.Result, error) {
			<-ctx.Done()
			return reconcile.Result{}, context.Cause(ctx)
		})
		time.AfterFunc(time.Second, func() { lose(errLeaseLost) })
		if _, err := fn(t.Context(), types.NamespacedName{}); !errors.Is(err, errLeaseLost) {
			t.Errorf("ended by %v", err)
		}
	})
}
