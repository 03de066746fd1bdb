//go:build e2e

package e2efaults

import (
	"bytes"
	"fmt"
	"slices"
	"time"

	"millrace/crds"
	"millrace/internal/faultproxy"
	"millrace/internal/simulation/apiserver"
)

// lists: what happens to the first look at a resource, and to a later one.
func lists() []scenario {
	return []scenario{
		{name: "streamed-lists-are-refused", numbers: []int{1}, try: noStreamedLists},
		{name: "410-on-a-list-continuation", numbers: []int{1}, try: expiredContinuation},
		{name: "watch-ends-before-its-initial-events-do", numbers: []int{2}, try: initialEventsCut},
		{name: "list-is-truncated", numbers: []int{12}, try: truncatedList},
		{name: "list-has-an-item-of-another-kind-of-thing", numbers: []int{12}, try: malformedItem},
		{name: "event-is-malformed", numbers: []int{12}, try: malformedEvent},
		{name: "event-has-null-maps-and-unknown-fields", numbers: []int{12}, try: oddEvent},
	}
}

func refusesStreamedLists(resource string) faultproxy.Fault {
	return faultproxy.Fault{
		On:      faultproxy.On{Verb: "watch", Resource: resource, Of: func(r apiserver.Request) bool { return r.Initial }},
		Verdict: apiserver.Verdict{Fault: "no streamed list", Refuse: faultproxy.Invalid("sendInitialEvents: Forbidden: sendInitialEvents is forbidden for watch unless the WatchList feature gate is enabled")},
	}
}

func noStreamedLists(s *stage) {
	over := s.plan(refusesStreamedLists(""))
	s.start()
	s.create("a", slow(2))
	s.succeeds("a")
	over()
	s.recovered()
}

// expiredContinuation: the second page of a list of pages of one is refused once,
// so the list has to be made again, and may not lose anybody.
func expiredContinuation(s *stage) {
	for _, name := range []string{"a", "b", "c"} {
		s.create(name, quick)
	}
	over := s.plan(
		refusesStreamedLists(crds.ResourceTaskRuns),
		faultproxy.Fault{
			On:      faultproxy.On{Verb: "list", Resource: crds.ResourceTaskRuns, Of: func(r apiserver.Request) bool { return r.Continues }}.Nth(1),
			Verdict: apiserver.Verdict{Fault: "410 on a continuation", Refuse: faultproxy.Answer(410, "Expired", "The provided continue parameter is too old to display a consistent list result.")},
		},
		faultproxy.Fault{
			On:      faultproxy.On{Verb: "list", Resource: crds.ResourceTaskRuns, Of: func(r apiserver.Request) bool { return !r.Continues }}.Nth(1),
			Verdict: apiserver.Verdict{Fault: "pages of one"}, Query: faultproxy.InPages(1),
		},
	)
	s.start()
	for _, name := range []string{"a", "b", "c"} {
		s.succeeds(name)
	}
	over()
	s.recovered()
}

func initialEventsCut(s *stage) {
	s.create("a", quick)
	var faults []faultproxy.Fault
	for _, resource := range watched {
		faults = append(faults, faultproxy.Fault{
			On:      faultproxy.On{Verb: "watch", Resource: resource, Of: func(r apiserver.Request) bool { return r.Initial }}.Nth(1),
			Verdict: apiserver.Verdict{Fault: "watch ends before its initial events do", End: apiserver.Close},
		})
	}
	over := s.plan(faults...)
	s.start()
	s.succeeds("a")
	over()
	s.recovered()
}

// truncatedList ends in mid-object, with all the marks of a good answer.
func truncatedList(s *stage) {
	s.create("a", slow(2))
	over := s.plan(
		refusesStreamedLists(crds.ResourceTaskRuns),
		faultproxy.Fault{
			On:      faultproxy.On{Verb: "list", Resource: crds.ResourceTaskRuns, To: 2},
			Verdict: apiserver.Verdict{Fault: "truncated list"}, Garble: faultproxy.Truncated,
		},
	)
	s.start()
	s.succeeds("a")
	over()
	s.recovered()
}

// malformedItem: one run of a list is none, as long as the fault lasts. The others
// are done meanwhile, and it is done afterwards.
func malformedItem(s *stage) {
	s.create("bad", slow(2))
	s.create("good", slow(2))
	// The list is of all namespaces, and another scenario may have a run of that name.
	name := fmt.Sprintf(`"name":"bad","namespace":%q`, s.ns)
	spoil := func(b []byte) []byte { return spoilItem(b, name) }
	end := s.proxy.Plan(
		refusesStreamedLists(crds.ResourceTaskRuns),
		faultproxy.Fault{On: faultproxy.On{Verb: "list", Resource: crds.ResourceTaskRuns}, Verdict: apiserver.Verdict{Fault: "malformed item"}, Garble: spoil},
	)
	s.start()
	s.succeeds("good")
	if why, over := reason(s.mustGet("bad")); over {
		s.fatalf("the run that could not be read has ended: %s", why)
	}
	for i, hits := range end() {
		if hits == 0 {
			s.fatalf("fault %d has befallen nothing", i)
		}
	}
	s.succeeds("bad")
	s.recovered()
}

// spoilItem makes the labels of the item with that text, wherever in it, a number.
func spoilItem(b []byte, text string) []byte {
	before, _, ok := bytes.Cut(b, []byte(text))
	const key = `"metadata":{`
	start := bytes.LastIndex(before, []byte(key))
	if !ok || start < 0 {
		return b
	}
	start += len(key)
	return slices.Concat(b[:start], []byte(`"labels":7,`), b[start:])
}

// malformedEvent: the news of a run cannot be read; the run is asked for.
func malformedEvent(s *stage) {
	s.start()
	over := s.plan(faultproxy.Fault{
		On:     faultproxy.On{Verb: "watch", Resource: crds.ResourceTaskRuns, Namespace: s.ns, Name: "bad", Event: "ADDED"}.Nth(1),
		Event:  apiserver.EventVerdict{Fault: "malformed event"},
		Garble: func(b []byte) []byte { return spoilItem(b, `"name":"bad"`) },
	})
	s.create("bad", slow(2))
	s.create("good", slow(2))
	s.succeeds("good")
	s.succeeds("bad")
	over()
	s.recovered()
}

// oddEvent is what another version of a server might say.
func oddEvent(s *stage) {
	s.start()
	over := s.plan(faultproxy.Fault{
		On:    faultproxy.On{Verb: "watch", Resource: crds.ResourceTaskRuns, Namespace: s.ns, Name: "a", Event: faultproxy.Any},
		Event: apiserver.EventVerdict{Fault: "null maps and unknown fields"},
		Garble: func(b []byte) []byte {
			return faultproxy.Instead(`"metadata":{`, `"fromTheFuture":{"a":[1,{"b":null}]},"metadata":{"labels":null,"annotations":null,"finalizers":null,`)(b)
		},
	})
	s.create("a", slow(2))
	s.pass(time.Second)
	s.succeeds("a")
	over()
	s.recovered()
}
