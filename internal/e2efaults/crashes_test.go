//go:build e2e

package e2efaults

import (
	"fmt"
	"syscall"
	"time"

	"millrace/crds"
	"millrace/internal/faultproxy"
	"millrace/internal/simulation"
	"millrace/internal/simulation/apiserver"
)

// writesOfARun are those of fromTask: labels, a first status, the pod, the status of
// a step that runs, a last status.
const writesOfARun = 5

// moments are those at which a process dies at a write.
var moments = []struct {
	word string
	at   apiserver.Moment
}{{"before", apiserver.BeforeActing}, {"answer-lost", apiserver.BeforeAnswering}, {"after", apiserver.AfterAnswering}}

// crashes: kill -9 at every write of a run, in three variants each, and others.
func crashes() []scenario {
	var all []scenario
	for write := 1; write <= writesOfARun; write++ {
		for _, when := range moments {
			all = append(all, scenario{
				name: fmt.Sprintf("kill-9-at-write-%d-%s", write, when.word), numbers: []int{13},
				try: crash(simulation.Plan{Workload: "one step", Crash: &simulation.Crash{Write: write, When: when.at}}, oneOfATask()),
			})
		}
		all = append(all, scenario{name: fmt.Sprintf("sigterm-at-write-%d", write), numbers: []int{13}, try: toldToStop(write)})
	}
	return append(all,
		scenario{name: "kill-9-within-the-first-list", numbers: []int{13}, try: killedWithinTheFirstList},
		scenario{name: "kill-9-at-rest-in-mid-run-three-times", numbers: []int{13}, try: killedAtRest},
	)
}

func crash(plan simulation.Plan, of story) func(*stage) {
	return func(s *stage) {
		faults, err := faultproxy.Faults(plan)
		s.must(err)
		s.start()
		over := s.plan(faults...)
		first := s.now()
		of.begin(s)
		s.dies(s.replica, first)
		of.end(s)
		over()
		s.recovered()
	}
}

// toldToStop: a write that is in hand is done, and so is the rest of a reconcile;
// the Lease is given back, so that a successor need not wait for it to run out.
func toldToStop(write int) func(*stage) {
	return func(s *stage) {
		s.start()
		s.makeTask()
		over := s.plan(faultproxy.Fault{
			On:      faultproxy.On{Of: faultproxy.Work}.Nth(write),
			Verdict: apiserver.Verdict{Fault: "told to stop at a write", Kill: apiserver.BeforeActing}, Signal: syscall.SIGTERM,
		})
		first := s.now()
		s.create("a", fromTask)
		if s.dies(s.replica, first); first.code != 0 {
			s.fatalf("told to stop, it ended with %s", first.reason)
		}
		releases := 0
		for _, x := range s.proxy.Matching(faultproxy.On{Verb: "update", Resource: "leases"}) {
			if x.Done() && x.Sent.Before(first.ended) {
				releases++
			}
		}
		if releases == 0 {
			s.fatalf("the Lease was not given back")
		}
		s.succeeds("a")
		over()
		s.recovered()
	}
}

func killedWithinTheFirstList(s *stage) {
	for _, name := range []string{"a", "b", "c"} {
		s.create(name, quick)
	}
	initial := faultproxy.On{Verb: "watch", Resource: crds.ResourceTaskRuns, Event: "ADDED"}
	over := s.plan(faultproxy.Fault{On: initial.Nth(2), Verdict: apiserver.Verdict{Fault: "killed within the first list", Kill: apiserver.AfterAnswering}, Event: apiserver.EventVerdict{Fault: "killed within the first list"}})
	s.start()
	for _, name := range []string{"a", "b", "c"} {
		s.succeeds(name)
	}
	over()
	s.recovered()
}

func killedAtRest(s *stage) {
	s.start()
	s.create("a", midway)
	s.steps("a")
	for range 3 {
		s.kill()
		s.pass(2 * time.Second)
	}
	s.succeeds("a")
	s.recovered()
}
