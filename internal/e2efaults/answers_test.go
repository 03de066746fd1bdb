//go:build e2e

package e2efaults

import (
	"strconv"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"millrace/internal/faultproxy"
	"millrace/internal/simulation/apiserver"
)

// answers: a server that answers, and not as it should.
func answers() []scenario {
	storm := func(name string, e *apierrors.StatusError) scenario {
		return scenario{name: name, numbers: []int{6}, try: stormOf(e)}
	}
	var all []scenario
	for _, a := range []struct {
		code   int
		reason metav1.StatusReason
		text   string
	}{
		{500, "InternalError", "Internal error occurred"},
		{502, "", "bad gateway"},
		{503, "ServiceUnavailable", "apiserver is shutting down"},
		{504, "Timeout", "request did not complete within the allotted timeout"},
	} {
		all = append(all, storm("storm-of-"+strconv.Itoa(a.code), faultproxy.Answer(a.code, a.reason, a.text)))
	}
	return append(all,
		storm("storm-of-429", apierrors.NewTooManyRequests("the server is busy", 0)),
		storm("storm-of-429-with-retry-after", apierrors.NewTooManyRequests("the server is busy", 3)),
		storm("etcd-changes-its-leader", faultproxy.Answer(500, "", "etcdserver: leader changed")),
		scenario{name: "latency-of-30-s-for-everything", numbers: []int{11}, try: latencyForAll, long: true},
		scenario{name: "latency-of-30-s-for-work", numbers: []int{11}, try: latencyForWork, long: true},
		scenario{name: "latency-of-10-s-for-patches", numbers: []int{11}, try: latencyOfPatches, long: true},
	)
}

// stormOf has everything but the Lease refused for 20 s, also new watches, and the
// present ones end. Runs are created just before and in it; none may end for it.
func stormOf(e *apierrors.StatusError) func(*stage) {
	return func(s *stage) {
		s.start()
		s.create("before", midway)
		s.steps("before")
		over := s.plan(faultproxy.Fault{On: faultproxy.On{Of: butLeases}, Verdict: apiserver.Verdict{Fault: "storm", Refuse: e}})
		from := time.Now()
		s.proxy.Reset()
		s.create("amidst", quick)
		s.pass(20 * time.Second)
		s.calm(from)
		over()
		s.succeeds("before")
		s.succeeds("amidst")
		s.recovered()
	}
}

func butLeases(r apiserver.Request) bool { return r.Resource != "leases" }

// latencyForAll: a Lease that takes 30 s to be renewed is lost, so the process ends
// and another one begins; it has to come through when the latency is over.
func latencyForAll(s *stage) {
	s.exits = 4
	s.start()
	s.create("a", midway)
	s.steps("a")
	over := s.plan(faultproxy.Fault{Verdict: apiserver.Verdict{Fault: "latency of 30 s", Wait: 30 * time.Second}})
	s.create("b", quick)
	s.pass(45 * time.Second)
	over()
	s.succeeds("a")
	s.succeeds("b")
	s.recovered()
}

// latencyForWork: everything but the Lease takes 30 s, for as long as a run lasts.
func latencyForWork(s *stage) {
	s.start()
	over := s.plan(faultproxy.Fault{On: faultproxy.On{Of: butLeases}, Verdict: apiserver.Verdict{Fault: "latency of 30 s", Wait: 30 * time.Second}})
	s.create("a", quick)
	s.succeeds("a")
	over()
	s.recovered()
}

func latencyOfPatches(s *stage) {
	s.start()
	over := s.plan(faultproxy.Fault{On: faultproxy.On{Verb: "patch"}, Verdict: apiserver.Verdict{Fault: "latency of 10 s", Linger: 10 * time.Second}})
	s.create("a", quick)
	s.create("b", slow(3))
	s.succeeds("a")
	s.succeeds("b")
	over()
	s.recovered()
}
