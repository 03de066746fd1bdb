//go:build e2e

package e2efaults

import (
	"encoding/json"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"millrace/internal/faultproxy"
	"millrace/internal/simulation"
	"millrace/internal/simulation/apiserver"
)

// staleness: a process that is started again is shown a resource as it was some
// writes before its predecessor died: time goes backwards for it.
func staleness() []scenario {
	var all []scenario
	for _, resource := range watched {
		for _, p := range []simulation.Stale{{Seen: 1, Lost: 3}, {Seen: 2, Lost: 4}, {Seen: 3, Lost: 5}} {
			p.Resource = resource
			all = append(all, scenario{
				name: fmt.Sprintf("stale-%s-of-write-%d-after-write-%d", resource, p.Seen, p.Lost), numbers: []int{9, 13}, try: stale(p, oneOfATask()), long: true,
			})
		}
	}
	return append(all, scenario{name: "deleted-and-made-again-under-its-name-unseen", numbers: []int{3, 18}, try: madeAgain})
}

func stale(p simulation.Stale, of story) func(*stage) {
	return func(s *stage) {
		s.start()
		var seen string // the version of the resource when that write had been done
		watching := make(chan struct{})
		go func() {
			defer close(watching)
			if s.proxy.Await(s.ctx, func(all []faultproxy.Exchange) bool { return written(all) >= p.Seen }) == nil {
				seen = s.versionOf(p.Resource)
			}
		}()
		s.hold() // the next process, until the view is frozen
		over := s.plan(faultproxy.Crash(simulation.Crash{Write: p.Lost, When: apiserver.AfterAnswering}))
		first := s.now()
		of.begin(s)
		<-watching
		s.dies(s.replica, first)
		thaw := s.plan(faultproxy.AsOf(p.Resource, seen)...)
		s.resume()
		s.pass(20 * time.Second)
		thaw()
		s.proxy.Reset()
		of.end(s)
		over()
		s.recovered()
	}
}

func written(all []faultproxy.Exchange) (n int) {
	for _, x := range all {
		if faultproxy.Work(x.Request) && x.Done() && !x.Ended.IsZero() {
			n++
		}
	}
	return n
}

// versionOf is the version of a list of a resource.
func (s *stage) versionOf(resource string) string {
	var list metav1.PartialObjectMetadataList
	raw, err := s.cluster.tekton.Get().AbsPath(s.path(resource)).Param("limit", "1").Do(s.ctx).Raw()
	if err != nil || json.Unmarshal(raw, &list) != nil {
		return ""
	}
	return list.ResourceVersion
}

// madeAgain: while the watch is cut, a run that has ended is deleted, and another
// one is made under its name. It is another run.
func madeAgain(s *stage) {
	s.start()
	s.create("a", quick)
	s.succeeds("a")
	old := s.mustGet("a").UID
	over := s.plan(faultproxy.Fault{On: faultproxy.On{Verb: "watch", Of: butLeases}, Verdict: apiserver.Verdict{Fault: "no watch", Refuse: faultproxy.Answer(503, metav1.StatusReasonServiceUnavailable, "not now")}})
	s.proxy.Reset()
	s.deleteRun("a")
	s.gone("a-pod")
	s.create("a", fails)
	s.made["a"] = 2
	s.pass(2 * time.Second)
	over()
	s.ends("a", "StepFailed")
	if now := s.mustGet("a").UID; now == old {
		s.fatalf("run a is still the old one")
	}
	s.recovered()
}
