package simulation

import (
	"context"
	"fmt"
	"sync"
	"time"

	"millrace/internal/simulation/apiserver"
)

// A Deed is what a user does.
type Deed struct {
	At        time.Duration // after the beginning
	Verb      string        // create, update, patch, delete
	Resource  string
	Namespace string
	Name      string
	Body      []byte // what is created, as JSON; the patch; what the object is then
	Expect    Expect // of a run that is created
}

// Deeds are what the users of a plan's workload do while nobody works, so that the
// same can be done on a real server. What else a workload has happen, refusals and
// restarts, is not among them; one that has several replicas or mishaps of pods is
// refused. It has to be called in a bubble of testing/synctest.
func Deeds(p Plan) ([]Deed, error) {
	p.Chaos, p.Crash, p.Stale, p.Unseen = 0, nil, nil, nil
	w := newWorld(p, Setting{Invariants: []Invariant{}})
	if w.workload.Replicas > 1 || len(w.workload.Mishaps) > 0 {
		return nil, fmt.Errorf("workload %q: there is more to it than what users do", p.Workload)
	}
	var deeds []Deed
	w.listen(func(e apiserver.Exchange) {
		if e.Actor == "user" && e.Committed() {
			deeds = append(deeds, deedOf(e, time.Since(w.begun)))
		}
	})
	ctx, stop := context.WithCancel(context.Background())
	var parts sync.WaitGroup
	parts.Go(func() { w.Agenda.Run(ctx) })
	parts.Go(func() { _ = w.Server.Run(ctx) })
	w.workload.Users(w)
	pass(w.workload.Lasts)
	stop()
	parts.Wait()
	return deeds, nil
}

func deedOf(e apiserver.Exchange, at time.Duration) Deed {
	d := Deed{At: at, Verb: e.Verb, Resource: e.Resource, Namespace: e.Key.Namespace, Name: e.Key.Name, Body: e.Body}
	if e.Verb == "create" || e.Verb == "update" {
		d.Body = e.After.JSON()
	}
	if e.Verb == "create" {
		d.Expect = expectation(e.After)
	}
	return d
}
