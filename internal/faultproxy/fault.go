package faultproxy

import (
	"fmt"
	"net/url"
	"strings"
	"syscall"

	"millrace/internal/simulation"
	"millrace/internal/simulation/apiserver"
)

// A Fault is what goes wrong, and with which requests or events. What befalls
// them is told in the words of the simulation: package apiserver.
//
// Of a Verdict the proxy does Wait, Linger, Refuse, Lose, Hang, Kill,
// BytesPerSecond and Slow, End (as soon as a watch is open) and Mute. Lag, AsOf
// and Bookmarks are for a server that is a model: see Query and On.Event.
type Fault struct {
	// On says which; the zero On means every request.
	On On
	// Verdict befalls a request; Verdict.Fault names it.
	apiserver.Verdict
	// Event befalls an event, if On.Event is set. It is given with the events that
	// On names, so it is not asked for in an Interference.
	Event apiserver.EventVerdict
	// Drop does not tell the event.
	Drop bool
	// Signal is what the process gets at the moment that Kill names. Default:
	// SIGKILL. After any other one the request goes on its way.
	Signal syscall.Signal
	// Query changes what is asked.
	Query func(url.Values)
	// Garble changes what is answered, or the event. It is not called for the
	// answer to a watch.
	Garble func([]byte) []byte
}

// On says which requests, or which events of watches. Empty fields are any.
type On struct {
	Verb     string // get, list, watch, create, update, patch, delete
	Resource string // with its subresource: taskruns/status
	// Namespace and Name are of what is asked for or, in an event, told of. Name may
	// end in *.
	Namespace, Name string
	// Of is asked last.
	Of func(apiserver.Request) bool
	// Event is the type of the events that are meant, or Any. Empty: requests are
	// meant.
	Event string
	// From and To are the first and the last that is meant of those that all else
	// is true for, from 1, in the order in which they come. 0: no bound.
	From, To int
}

// Any is every type of event.
const Any = "*"

// Nth means the n-th alone.
func (o On) Nth(n int) On {
	o.From, o.To = n, n
	return o
}

// String is "patch taskruns/status blue/a #2", or "watch pods blue/* MODIFIED #1-3".
func (o On) String() string {
	words := []string{orAny(o.Verb), orAny(o.Resource)}
	if o.Namespace != "" || o.Name != "" {
		words = append(words, orAny(o.Namespace)+"/"+orAny(o.Name))
	}
	if o.Of != nil {
		words = append(words, "of some kind")
	}
	if o.Event != "" {
		words = append(words, o.Event)
	}
	switch {
	case o.From == 0 && o.To == 0:
	case o.From == o.To:
		words = append(words, fmt.Sprintf("#%d", o.From))
	case o.To == 0:
		words = append(words, fmt.Sprintf("#%d-", o.From))
	default:
		words = append(words, fmt.Sprintf("#%d-%d", max(1, o.From), o.To))
	}
	return strings.Join(words, " ")
}

func orAny(word string) string {
	if word == "" {
		return Any
	}
	return word
}

// Request tells whether a request is one that o describes; it does not count.
func (o On) Request(r apiserver.Request) bool {
	return o.stream(r) && is(o.Namespace, r.Key.Namespace) && is(o.Name, r.Key.Name)
}

// stream is Request but for the object: an event's is in the event.
func (o On) stream(r apiserver.Request) bool {
	return is(o.Verb, r.Verb) && is(o.Resource, resource(r)) && (o.Of == nil || o.Of(r))
}

func (o On) event(e Event) bool {
	return o.stream(e.Watch) && (o.Event == Any || o.Event == e.Type) && is(o.Namespace, e.Key.Namespace) && is(o.Name, e.Key.Name)
}

func resource(r apiserver.Request) string {
	if r.Subresource == "" {
		return r.Resource
	}
	return r.Resource + "/" + r.Subresource
}

func is(want, have string) bool {
	if prefix, ok := strings.CutSuffix(want, "*"); ok {
		return strings.HasPrefix(have, prefix)
	}
	return want == "" || want == have
}

// Work tells whether a request is a write that a crash can fall between, as the
// simulation counts them: see [simulation.Work].
func Work(r apiserver.Request) bool { return simulation.Work(r) }

// A planned fault knows how many have come that it is meant for.
type planned struct {
	Fault

	seen  int
	hits  int
	ended bool
}

func (p *planned) turn() bool {
	p.seen++
	hit := !p.ended && p.seen >= p.On.From && (p.On.To == 0 || p.seen <= p.On.To)
	if hit {
		p.hits++
	}
	return hit
}
