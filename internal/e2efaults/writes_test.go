//go:build e2e

package e2efaults

import (
	"time"

	"millrace/crds"
	"millrace/internal/faultproxy"
	"millrace/internal/simulation/apiserver"
)

// writes: the answer to one is lost, or the write itself is.
func writes() []scenario {
	lost := apiserver.Verdict{Fault: "connection breaks after the server acted", Lose: apiserver.BeforeAnswering}
	never := apiserver.Verdict{Fault: "connection breaks before the server acts", Lose: apiserver.BeforeActing}
	hangs := apiserver.Verdict{Fault: "no answer, though all was done", Lose: apiserver.BeforeAnswering, Hang: true}
	status := faultproxy.On{Verb: "patch", Resource: "taskruns/status"}
	return []scenario{
		{name: "answer-lost-create-pod", numbers: []int{7}, try: atWrite(faultproxy.On{Verb: "create", Resource: "pods"}, lost)},
		{name: "answer-lost-first-status", numbers: []int{7}, try: atWrite(status.Nth(1), lost)},
		{name: "answer-lost-second-status", numbers: []int{7}, try: atWrite(status.Nth(2), lost)},
		{name: "answer-lost-last-status", numbers: []int{7}, try: atWrite(status.Nth(3), lost)},
		{name: "answer-lost-metadata", numbers: []int{7}, try: atWrite(faultproxy.On{Verb: "patch", Resource: crds.ResourceTaskRuns}, lost)},
		{name: "answer-lost-delete-pod", numbers: []int{7}, try: deletingLost(lost)},
		{name: "answer-lost-lease", numbers: []int{7, 14}, try: atWrite(faultproxy.On{Verb: "update", Resource: "leases", To: 3}, lost)},
		{name: "no-answer-lease", numbers: []int{7, 14}, try: atWrite(faultproxy.On{Verb: "update", Resource: "leases"}, hangs)},
		{name: "request-lost-create-pod", numbers: []int{7}, try: atWrite(faultproxy.On{Verb: "create", Resource: "pods", To: 1}, never)},
		{name: "request-lost-first-status", numbers: []int{7}, try: atWrite(status.Nth(1), never)},
		{name: "request-lost-last-status", numbers: []int{7}, try: atWrite(status.Nth(3), never)},
		{name: "request-lost-delete-pod", numbers: []int{7}, try: deletingLost(never)},
		{name: "no-answer-create-pod", numbers: []int{7}, try: atWrite(faultproxy.On{Verb: "create", Resource: "pods", To: 1}, hangs), long: true},
		{name: "no-answer-last-status", numbers: []int{7}, try: atWrite(status.Nth(3), hangs), long: true},
		{name: "conflicts-by-a-foreign-writer-each-50-ms", numbers: []int{8}, try: foreignWriter},
	}
}

// atWrite has one run of a Task be done with a fault at one of its writes.
func atWrite(on faultproxy.On, v apiserver.Verdict) func(*stage) {
	return func(s *stage) {
		s.start()
		s.makeTask()
		if on.From == 0 && on.To == 0 {
			on = on.Nth(1)
		}
		over := s.plan(faultproxy.Fault{On: on, Verdict: v})
		s.create("a", fromTask)
		s.succeeds("a")
		s.happens(v.Fault)
		over()
		s.recovered()
	}
}

// deletingLost: a run that is cancelled has its pod deleted.
func deletingLost(v apiserver.Verdict) func(*stage) {
	return func(s *stage) {
		s.start()
		over := s.plan(faultproxy.Fault{On: faultproxy.On{Verb: "delete", Resource: "pods"}.Nth(1), Verdict: v})
		s.create("a", slow(600))
		s.steps("a")
		s.must(s.patch("a", `{"spec":{"status":"TaskRunCancelled"}}`))
		s.ends("a", "TaskRunCancelled")
		s.happens(v.Fault)
		s.gone("a-pod")
		over()
		s.recovered()
	}
}

// foreignWriter changes the run all the time, so that what we know is mostly old. On
// a slow machine it is always: then the run is done when he has gone, and soon.
func foreignWriter(s *stage) {
	s.start()
	s.create("a", slow(3))
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		s.annotate("a", stop)
	}()
	s.pass(30 * time.Second)
	close(stop)
	<-stopped
	s.within(time.Minute, "the run to end after the foreign writer has gone", func() bool {
		_, over := reason(s.mustGet("a"))
		return over
	})
	s.succeeds("a")
	patches := len(s.proxy.Matching(faultproxy.On{Verb: "patch", Resource: "taskruns/status", Name: "a"}))
	if patches > 60 {
		s.fatalf("the run took %d patches", patches)
	}
	s.recovered()
}
