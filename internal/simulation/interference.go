package simulation

import (
	"fmt"
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

	requests []requestFault
	events   []eventFault

	mu     sync.Mutex
	writes int               // of work, that came in
	asOf   map[string]uint64 // versions that resources are shown as of
	frozen map[string]chan struct{}
	told   map[string]int // events, by resource
	ban    func(apiserver.Request) (string, *apiserver.Verdict)
}

func newInterference(p Plan, l *ledger) *interference {
	return &interference{
		plan: p, ledger: l, requests: requestFaults(), events: eventFaults(),
		asOf: map[string]uint64{}, frozen: map[string]chan struct{}{}, told: map[string]int{},
	}
}

// Request is the way of one request.
func (i *interference) Request(r apiserver.Request) apiserver.Verdict {
	v := i.befall(r)
	v.Slow = i.ledger.raging
	name := r.String()
	v.Wait += i.plan.Seed.Between(300*time.Microsecond, 12*time.Millisecond, "there", name)
	v.Linger += i.plan.Seed.Between(100*time.Microsecond, 4*time.Millisecond, "back", name)
	return v
}

func (i *interference) befall(r apiserver.Request) apiserver.Verdict {
	if v, due := i.planned(r); due {
		return v
	}
	if kind, v := i.ban(r); v != nil {
		v.Fault = kind
		return *v
	}
	for _, f := range i.requests {
		if f.of(r) && i.ledger.happens(f.kind, f.chance, r.String()) {
			v := f.with(i.plan.Seed, r)
			v.Fault = f.kind
			return v
		}
	}
	if work(r) && i.ledger.happens("told to stop at a write", 0.003, r.String()) {
		i.terms(r.Actor)
		return apiserver.Verdict{Fault: "told to stop at a write"}
	}
	return apiserver.Verdict{}
}

// planned is what the plan has for this very request.
func (i *interference) planned(r apiserver.Request) (v apiserver.Verdict, due bool) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if version := i.asOf[r.Resource]; version > 0 && lists(r) {
		return apiserver.Verdict{AsOf: version, Fault: "shown as of an older version"}, true
	}
	if !work(r) {
		return v, false
	}
	i.writes++
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
		i.asOf[s.Resource] = i.now()
		i.frozen[s.Resource] = make(chan struct{})
	}
	if i.writes != s.Lost {
		return v, false
	}
	return apiserver.Verdict{Kill: apiserver.AfterAnswering, Fault: "killed after its answer"}, true
}

// thaw ends what Stale began.
func (i *interference) thaw() {
	i.mu.Lock()
	defer i.mu.Unlock()
	clear(i.asOf)
	for resource, frozen := range i.frozen {
		close(frozen)
		delete(i.frozen, resource)
	}
}

// Event is the way of one event.
func (i *interference) Event(e apiserver.Event) apiserver.EventVerdict {
	i.hold(e.Watch.Resource)
	v := i.befallEvent(e)
	v.Wait += i.plan.Seed.Between(200*time.Microsecond, 5*time.Millisecond, "told", e.Watch.String(), fmt.Sprint(e.N))
	return v
}

// hold keeps an event of a frozen resource.
func (i *interference) hold(resource string) {
	i.mu.Lock()
	frozen := i.frozen[resource]
	i.mu.Unlock()
	if frozen != nil {
		<-frozen
	}
}

func (i *interference) befallEvent(e apiserver.Event) apiserver.EventVerdict {
	if u := i.plan.Unseen; u != nil && u.Resource == e.Watch.Resource && e.Type == "MODIFIED" {
		i.mu.Lock()
		i.told[u.Resource]++
		due := i.told[u.Resource] == u.Event
		i.mu.Unlock()
		if due {
			return apiserver.EventVerdict{Fault: "kept until the next version", Skip: true, Wait: u.Until}
		}
	}
	for _, f := range i.events {
		if f.of(e) && i.ledger.happens(f.kind, f.chance, fmt.Sprint(e.Watch, " event ", e.N)) {
			v := f.with
			v.Fault = f.kind
			return v
		}
	}
	return apiserver.EventVerdict{}
}
