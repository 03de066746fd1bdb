package main

import (
	"context"
	"errors"
	"sync"
	"time"

	"k8s.io/client-go/tools/leaderelection/resourcelock"
)

// heldLock knows when the Lease that it holds was last renewed, and says so when
// that is longer ago than the deadline. The elector says it too, but late: in a
// partition it first tries to give the Lease back, for as long as it tried to
// renew it, and two leaders were at work in the meantime.
//
// And it gives the Lease back only after giveBack: the elector would do so as soon as it
// could not renew, while the last workers still write. Such a Lease runs out by itself.
// Nor does it give back another's: the elector would, of what it held when it last looked,
// though it has just read that somebody else has it. A leader that was stopped for a minute
// (SIGSTOP) so took the Lease from its successor, and both were at work for 7 seconds.
//
// The time counts from the moment before the renewal was sent, so it runs out
// before that of any replica that has seen the renewal.
type heldLock struct {
	resourcelock.Interface

	deadline time.Duration
	lapsed   chan struct{} // closed when the Lease must not be trusted any more

	mu    sync.Mutex
	timer *time.Timer
	owner string    // whose it was when it was last read, or written
	over  bool      // lapsed is closed
	until time.Time // of giving it back; zero before
}

// givingBack is how long the server may take to take the Lease back. Whoever is
// told to stop has a grace, of 40 s by the Deployment, and may have used 25 of them for the
// work in hand (--drain-timeout); a Lease that is not given back runs out by itself.
const givingBack = 3 * time.Second

// giveBack begins the time in which the Lease has to be given back.
func (h *heldLock) giveBack() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.until = time.Now().Add(givingBack)
}

var (
	errStillAtWork = errors.New("the Lease is not given back while there is work in hand")
	errNotOurs     = errors.New("the Lease is not given back, since another replica has it")
)

// mayGiveBack returns why the Lease may not be given back, if that is so.
func (h *heldLock) mayGiveBack() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case h.until.IsZero():
		return errStillAtWork
	case h.owner != h.Identity():
		return errNotOurs
	default:
		return nil
	}
}

func (h *heldLock) owned(by string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.owner = by
}

// within bounds one request. While the Lease is held it may take half of the
// deadline: the elector asks one thing at a time, so an answer that never comes
// would else use up all of it, and the Lease would be lost over one lost packet.
func (h *heldLock) within(ctx context.Context) (context.Context, context.CancelFunc) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.until.IsZero() {
		return context.WithTimeout(ctx, h.deadline/2)
	}
	return context.WithDeadline(ctx, h.until)
}

// Get implements resourcelock.Interface.
func (h *heldLock) Get(ctx context.Context) (*resourcelock.LeaderElectionRecord, []byte, error) {
	ctx, cancel := h.within(ctx)
	defer cancel()
	record, raw, err := h.Interface.Get(ctx)
	if err == nil {
		h.owned(record.HolderIdentity)
	}
	return record, raw, err //nolint:wrapcheck // as in write
}

// Create implements resourcelock.Interface.
func (h *heldLock) Create(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	return h.write(ctx, record, h.Interface.Create)
}

// Update implements resourcelock.Interface.
func (h *heldLock) Update(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	return h.write(ctx, record, h.Interface.Update)
}

func (h *heldLock) write(ctx context.Context, record resourcelock.LeaderElectionRecord, write func(context.Context, resourcelock.LeaderElectionRecord) error) error {
	if record.HolderIdentity != h.Identity() {
		if err := h.mayGiveBack(); err != nil {
			return err
		}
	}
	ctx, cancel := h.within(ctx)
	defer cancel()
	begun := time.Now()
	if err := write(ctx, record); err != nil {
		return err //nolint:wrapcheck // The elector looks for what the API server said.
	}
	h.owned(record.HolderIdentity)
	if record.HolderIdentity == h.Identity() {
		h.renewed(begun)
	} else {
		h.stop()
	}
	return nil
}

func (h *heldLock) renewed(at time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	left := h.deadline - time.Since(at)
	if h.timer == nil {
		h.timer = time.AfterFunc(left, h.lapse)
		return
	}
	h.timer.Reset(left)
}

func (h *heldLock) lapse() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.over {
		h.over = true
		close(h.lapsed)
	}
}

// stop is for a Lease that is not held any more.
func (h *heldLock) stop() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.timer != nil {
		h.timer.Stop()
	}
}
