//go:build e2e

package e2efaults

import (
	"time"

	"k8s.io/apimachinery/pkg/types"

	"millrace/crds"
	"millrace/internal/faultproxy"
	"millrace/internal/simulation"
	"millrace/internal/simulation/apiserver"
)

// The two resources whose events are work.
var watched = []string{crds.ResourceTaskRuns, "pods"}

// watches: what happens to a stream of events.
func watches() []scenario {
	var all []scenario
	for _, resource := range watched {
		befalls := func(name string, numbers []int, v apiserver.EventVerdict) {
			all = append(all, scenario{name: name + "-" + resource, numbers: numbers, try: inMidRun(resource, v)})
		}
		befalls("watch-closed", []int{2}, apiserver.EventVerdict{Fault: "watch closed", End: apiserver.Close})
		befalls("watch-torn-within-an-event", []int{2}, apiserver.EventVerdict{Fault: "watch torn within an event", End: apiserver.Tear})
		befalls("watch-reset", []int{2}, apiserver.EventVerdict{Fault: "watch reset", End: apiserver.Reset})
		befalls("410-within-a-watch", []int{1}, apiserver.EventVerdict{Fault: "410 within a watch", End: apiserver.Expire})
		befalls("event-twice", []int{3}, apiserver.EventVerdict{Fault: "event twice", Twice: true})
		befalls("older-event-after-a-newer-one", []int{3}, apiserver.EventVerdict{Fault: "older version after a newer one", Older: true})
		all = append(all,
			scenario{name: "event-unseen-" + resource, numbers: []int{3}, try: unseen(simulation.Unseen{Event: second(resource)}, one(slow(3)))},
			scenario{name: "watch-falls-silent-" + resource, numbers: []int{5}, try: fallsSilent(resource), long: true},
			scenario{name: "410-when-a-watch-opens-" + resource, numbers: []int{1}, try: expiredWhenOpened(resource)},
			scenario{name: "watch-at-50-bytes-a-second-" + resource, numbers: []int{11}, try: slowWatch(resource), long: true},
		)
	}
	return append(all,
		scenario{name: "watches-that-close-as-they-open", numbers: []int{2}, try: closeAtOnce},
		scenario{name: "no-bookmarks", numbers: []int{4}, try: noBookmarks, long: true},
	)
}

// inMidRun has something befall the first change that a watch tells of a run.
func inMidRun(resource string, v apiserver.EventVerdict) func(*stage) {
	return func(s *stage) {
		s.start()
		over := s.plan(faultproxy.Fault{On: s.changes(resource).Nth(1), Event: v})
		s.create("a", slow(3))
		s.create("b", fails)
		s.succeeds("a")
		s.ends("b", "StepFailed")
		over()
		s.recovered()
	}
}

func (s *stage) changes(resource string) faultproxy.On {
	return faultproxy.On{Verb: "watch", Resource: resource, Namespace: s.ns, Event: "MODIFIED"}
}

// unseen has a version of a run, or of its pod, not told until another one follows.
func unseen(u simulation.Unseen, of story) func(*stage) {
	return func(s *stage) {
		s.start()
		u.Event.Key.Namespace = s.ns
		over := s.plan(faultproxy.Unseen(u, 10*time.Second))
		of.begin(s)
		of.end(s)
		over()
		s.recovered()
	}
}

// second is the change of run a, or of its pod, that follows its creation.
func second(resource string) simulation.Change {
	name := map[string]string{crds.ResourceTaskRuns: "a", "pods": "a-pod"}[resource]
	return simulation.Change{Resource: resource, Key: types.NamespacedName{Name: name}, Nth: 2}
}

// fallsSilent: the connection lives, and the stream says nothing any more. The
// server's bookmarks, which come once a minute, are missing then.
func fallsSilent(resource string) func(*stage) {
	const found = 90 * time.Second
	return func(s *stage) {
		s.start()
		over := s.plan(faultproxy.Fault{On: s.changes(resource).Nth(1), Event: apiserver.EventVerdict{Fault: "watch falls silent", End: apiserver.GoMute}})
		s.create("a", slow(3))
		s.happens("watch falls silent")
		s.again(time.Now(), found+busy, faultproxy.On{Verb: "watch", Resource: resource})
		over()
		s.succeeds("a")
		s.recovered()
	}
}

func expiredWhenOpened(resource string) func(*stage) {
	return func(s *stage) {
		s.start()
		opens := faultproxy.On{Verb: "watch", Resource: resource, Of: func(r apiserver.Request) bool { return !r.Initial }}
		over := s.plan(
			faultproxy.Fault{On: s.changes(resource).Nth(1), Event: apiserver.EventVerdict{Fault: "watch closed", End: apiserver.Close}},
			faultproxy.Fault{On: opens.Nth(1), Verdict: apiserver.Verdict{Fault: "410 when a watch opens", Refuse: faultproxy.Expired()}},
		)
		s.create("a", slow(3))
		s.succeeds("a")
		over()
		s.recovered()
	}
}

// slowWatch: what has begun to come takes longer than a run.
func slowWatch(resource string) func(*stage) {
	return func(s *stage) {
		var slowly switched
		over := s.plan(faultproxy.Fault{
			On:      faultproxy.On{Verb: "watch", Resource: resource},
			Verdict: apiserver.Verdict{Fault: "50 B/s", BytesPerSecond: 50, Slow: slowly.isOn},
		})
		s.start()
		slowly.turn(true)
		s.create("a", slow(3))
		s.pass(45 * time.Second)
		slowly.turn(false)
		s.succeeds("a")
		over()
		s.recovered()
	}
}

func closeAtOnce(s *stage) {
	s.start()
	over := s.plan(faultproxy.Fault{On: faultproxy.On{Verb: "watch", Of: func(r apiserver.Request) bool { return r.Resource != "leases" }}, Verdict: apiserver.Verdict{Fault: "watch closed at once", End: apiserver.Close}})
	s.proxy.Reset()
	from := time.Now()
	s.create("a", slow(3))
	s.pass(20 * time.Second)
	s.calm(from)
	over()
	s.succeeds("a")
	s.recovered()
}

// noBookmarks: a quiet watch without them looks like one that has fallen silent,
// and is opened again, which must not cost a list.
func noBookmarks(s *stage) {
	s.start()
	over := s.plan(faultproxy.Fault{
		On:    faultproxy.On{Verb: "watch", Event: "BOOKMARK"},
		Event: apiserver.EventVerdict{Fault: "no bookmark"}, Drop: true,
	})
	s.create("a", slow(100))
	s.succeeds("a")
	over()
	s.recovered()
}
