//go:build e2e

package operate

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"millrace/internal/audit"
)

// A witness has what the replicas have had the API server do, by its audit log.
type witness struct {
	namespaces []string // of the runs

	mu       sync.Mutex
	renewals []audit.Request // of the leader's Lease, by whoever holds it
	writes   []audit.Request // for runs; events are no work
	asked    []audit.Request // of replicas, through the API server's proxy, by whoever it was
}

// newWitness begins to listen, until the test ends.
func newWitness(t *testing.T, c *cluster, namespaces ...string) *witness {
	t.Helper()
	w := &witness{namespaces: namespaces}
	tail, err := audit.FromNow(c.audit)
	must(t, err)
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	done := make(chan error, 1)
	go func() { done <- tail.Follow(ctx, w.hear) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return w
}

// unanswered is what the log says of a request whose sender was gone before its answer:
// it may have been done.
const unanswered = 504

func (w *witness) hear(r audit.Request) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if r.Resource == "pods/proxy" && r.Namespace == system {
		w.asked = append(w.asked, r)
	}
	if r.User != controller || (r.Code < 200 || r.Code > 299) && r.Code != unanswered {
		return
	}
	switch writes := slices.Contains([]string{"create", "update", "patch", "delete"}, r.Verb); {
	case writes && r.Resource == "leases" && r.Namespace == system && r.Name == leaderLease:
		w.renewals = append(w.renewals, r)
	case writes && slices.Contains(w.namespaces, r.Namespace) && r.Resource != "events":
		w.writes = append(w.writes, r)
	}
}

// creations are how often each object of a resource was made in a namespace, by its name.
// One that was asked for by somebody who was killed before the answer was made then, if
// nobody had to make it later: there is no other way for it to be there.
func (w *witness) creations(ns, resource string) map[string]int {
	w.mu.Lock()
	defer w.mu.Unlock()
	made, unsure := map[string]int{}, map[string]bool{}
	for _, r := range w.writes {
		switch {
		case r.Verb != "create" || r.Resource != resource || r.Namespace != ns:
		case r.Code == unanswered:
			unsure[r.Name] = true
		default:
			made[r.Name]++
		}
	}
	for name := range unsure {
		made[name] = max(made[name], 1)
	}
	return made
}

// next is the first renewal of the Lease after that moment, by a replica that may be it,
// and the first write for a run after that renewal.
func (w *witness) next(after time.Time, may func(pod string) bool) (renewal, write audit.Request, both bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	renewal, held := first(w.renewals, after, may)
	if !held {
		return renewal, write, false
	}
	write, both = first(w.writes, renewal.Received, func(pod string) bool { return pod == renewal.Pod })
	return renewal, write, both
}

func first(of []audit.Request, after time.Time, may func(pod string) bool) (found audit.Request, is bool) {
	for _, r := range slices.Backward(of) {
		switch {
		case r.Received.Before(after.Add(-time.Minute)):
			return found, is // the log is in the order of answers: nothing older is of interest
		case r.Received.After(after) && may(r.Pod) && (!is || r.Received.Before(found.Received)):
			found, is = r, true
		}
	}
	return found, is
}

// oneAtATime: no replica writes for a run while the Lease is another's.
func (w *witness) oneAtATime(t *testing.T) {
	t.Helper()
	w.mu.Lock()
	l := leadersOf(w.renewals, w.writes)
	w.mu.Unlock()
	for _, each := range l.wrong() {
		t.Error(each)
	}
	sayf("%d writes for runs by the replica that had the Lease, %d by others, %d before it was heard of; it went from one to another %d times", l.held, len(l.others), l.before, max(l.led-1, 0))
}

// handsSince are those of what was written since a moment.
func (w *witness) handsSince(from time.Time) hands {
	w.mu.Lock()
	defer w.mu.Unlock()
	before := func(r audit.Request) bool { return r.Received.Before(from) }
	return handsOf(slices.DeleteFunc(slices.Clone(w.writes), before))
}

// askedSince are the replicas, and their ports, that were asked since a moment, in order:
// http:NAME:PORT.
func (w *witness) askedSince(from time.Time) (names []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, r := range w.asked {
		if !r.Received.Before(from) {
			names = append(names, r.Name)
		}
	}
	return names
}
