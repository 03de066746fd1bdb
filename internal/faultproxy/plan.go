package faultproxy

import (
	"fmt"
	"time"

	"millrace/internal/simulation"
	"millrace/internal/simulation/apiserver"
)

// Faults are the faults of a systematic plan of the simulation, so that what fails
// there can be tried with a real server. A seed has no meaning here, and neither
// has a chance; Stale is done by hand, since it needs a version that is known only
// when its first write has been done: see [AsOf].
func Faults(p simulation.Plan) ([]Fault, error) {
	switch {
	case p.Chaos > 0:
		return nil, fmt.Errorf("plan %s: chances cannot be played again on a real server", p)
	case p.Stale != nil:
		return nil, fmt.Errorf("plan %s: a stale view takes more than faults", p)
	}
	var faults []Fault
	if c := p.Crash; c != nil {
		faults = append(faults, Crash(*c))
	}
	if u := p.Unseen; u != nil {
		faults = append(faults, Unseen(*u, 10*time.Second))
	}
	return faults, nil
}

// Crash is a plan's crash.
func Crash(c simulation.Crash) Fault {
	return Fault{On: On{Of: Work}.Nth(c.Write), Verdict: apiserver.Verdict{Fault: "killed at a write", Kill: c.When}}
}

// Unseen is a plan's unseen change. Until is not waited for, since it is the
// simulation that knows when it has come: the change is kept for a while.
func Unseen(u simulation.Unseen, wait time.Duration) Fault {
	return Fault{
		On:    On{Verb: "watch", Resource: u.Event.Resource, Namespace: u.Event.Key.Namespace, Name: u.Event.Key.Name, Event: Any}.Nth(u.Event.Nth),
		Event: apiserver.EventVerdict{Fault: "change not seen", Skip: true, Wait: wait},
	}
}

// AsOf are the faults that show a resource as it was at a version: streamed lists
// are refused, and others ask for exactly that state. The watch that follows would
// tell the rest at once, so it stays mute.
func AsOf(resource, version string) []Fault {
	return []Fault{
		{On: On{Verb: "watch", Resource: resource, Of: streamsList}, Verdict: apiserver.Verdict{Fault: "no streamed list", Refuse: Invalid("sendInitialEvents: Forbidden")}},
		{On: On{Verb: "list", Resource: resource}, Verdict: apiserver.Verdict{Fault: "stale list"}, Query: exactly(version)},
		{On: On{Verb: "watch", Resource: resource, Of: followsList}, Verdict: apiserver.Verdict{Fault: "mute watch", Mute: true}},
	}
}

func streamsList(r apiserver.Request) bool { return r.Initial }
func followsList(r apiserver.Request) bool { return !r.Initial }
