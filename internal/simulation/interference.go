package simulation

import (
	"strconv"
	"sync"
	"time"

	"millrace/internal/simulation/apiserver"
)

// interference gives each request and event its time, and befalls some of them
// with faults.
type interference struct {
	plan   Plan
	ledger *ledger
	terms  func(actor string) // has a process told to stop
	now    func() uint64      // the store's version
	quick  bool               // events take next to no time

	requests []requestFault
	events   []eventFault

	blindfold *blindfold
	trace     *Trace // nil: nobody will ask
	ban       func(apiserver.Request) (string, *apiserver.Verdict)

	mu     sync.Mutex
	writes int           // of work, that came in
	asOf   uint64        // the version for Plan.Stale
	shown  chan struct{} // closed when its resource is not shown as of that version any more; nil until it is
}

func newInterference(p Plan, l *ledger) *interference {
	return &interference{plan: p, ledger: l, requests: requestFaults(), events: eventFaults()}
}

// Request is the way of one request.
func (i *interference) Request(r apiserver.Request) apiserver.Verdict {
	name := r.String()
	v := i.befall(r, name)
	v.Slow = i.ledger.raging
	v.Wait += i.plan.Seed.Between(300*time.Microsecond, 12*time.Millisecond, "there", name)
	v.Linger += i.plan.Seed.Between(100*time.Microsecond, 4*time.Millisecond, "back", name)
	return v
}

func (i *interference) befall(r apiserver.Request, name string) apiserver.Verdict {
	if v, due := i.planned(r); due {
		return v
	}
	if kind, v := i.ban(r); v != nil {
		v.Fault = kind
		return *v
	}
	for _, f := range i.requests {
		if f.of(r) && i.ledger.happens(f.kind, f.chance, name) {
			v := f.with(i.plan.Seed, r)
			v.Fault = f.kind
			return v
		}
	}
	if work(r) && i.ledger.happens("told to stop at a write", 0.003, name) {
		i.terms(r.Actor)
		return apiserver.Verdict{Fault: "told to stop at a write"}
	}
	return apiserver.Verdict{}
}

// planned is what the plan has for this very request.
func (i *interference) planned(r apiserver.Request) (v apiserver.Verdict, due bool) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.shown != nil && r.Resource == i.plan.Stale.Resource && lists(r) {
		return apiserver.Verdict{AsOf: i.asOf, Fault: "shown as of an older version"}, true
	}
	if !work(r) {
		return v, false
	}
	i.writes++
	if i.trace != nil {
		i.trace.wrote(r, time.Now())
	}
	if c := i.plan.Crash; c != nil && i.writes == c.Write {
		return apiserver.Verdict{Kill: c.When, Fault: "killed " + moment(c.When)}, true
	}
	if s := i.plan.Stale; s != nil {
		return i.staleLocked(*s)
	}
	return v, false
}

func (i *interference) staleLocked(s Stale) (v apiserver.Verdict, due bool) {
	if i.writes == s.Seen {
		i.asOf = i.now()
	}
	if i.writes != s.Lost {
		return v, false
	}
	return apiserver.Verdict{Kill: apiserver.AfterAnswering, Fault: "killed after its answer"}, true
}

// freeze has who starts from now on see what Stale shows: the process is dead.
func (i *interference) freeze() {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.shown == nil && i.asOf > 0 {
		i.shown = make(chan struct{})
	}
}

// thaw ends what Stale and Unseen began.
func (i *interference) thaw() {
	i.blindfold.takeOff()
	i.mu.Lock()
	defer i.mu.Unlock()
	i.asOf = 0
	if i.shown != nil {
		close(i.shown)
		i.shown = nil
	}
}

// Event is the way of one event.
func (i *interference) Event(e apiserver.Event) apiserver.EventVerdict {
	i.hold(e.Watch.Resource)
	v, due := i.blindfold.hides(e)
	watch, nth := e.Watch.String(), strconv.Itoa(e.N)
	if !due {
		v = i.befallEvent(e, watch+" event "+nth)
	}
	low, high := 200*time.Microsecond, 5*time.Millisecond
	if i.quick {
		low, high = time.Microsecond, 20*time.Microsecond
	}
	v.Wait += i.plan.Seed.Between(low, high, "told", watch, nth)
	return v
}

// hold keeps an event of a resource that is shown as of an older version.
func (i *interference) hold(resource string) {
	i.mu.Lock()
	shown := i.shown
	i.mu.Unlock()
	if shown != nil && resource == i.plan.Stale.Resource {
		<-shown
	}
}

func (i *interference) befallEvent(e apiserver.Event, name string) apiserver.EventVerdict {
	for _, f := range i.events {
		if f.of(e) && i.ledger.happens(f.kind, f.chance, name) {
			v := f.with
			v.Fault = f.kind
			return v
		}
	}
	return apiserver.EventVerdict{}
}
