//go:build e2e

package e2efaults

import (
	"os/exec"
	"time"

	"millrace/crds"
	"millrace/internal/faultproxy"
)

// connections: what happens below HTTP.
func connections() []scenario {
	return []scenario{
		{name: "connection-refused-for-60-s", numbers: []int{11, 14}, try: refused, long: true},
		{name: "connection-refused-for-60-s-no-lease", numbers: []int{11}, try: refusedWithoutLease, long: true},
		{name: "half-open-connection-found-by-pings", numbers: []int{5}, try: halfOpen(60 * time.Second), long: true},
		{name: "half-open-connection-of-http-1", numbers: []int{5}, try: halfOpenWithoutPings, long: true},
		{name: "black-hole-for-60-s", numbers: []int{11, 14}, try: blackHole, long: true},
		{name: "every-connection-reset-ten-times", numbers: []int{2}, try: resets},
	}
}

// refused: the Lease is lost, and a process without a server ends at its start, so
// there are many. A kubelet would pause longer between them than we do.
func refused(s *stage) {
	s.exits = 1000
	s.start()
	s.create("a", midway)
	s.steps("a")
	s.must(s.proxy.Shut())
	s.create("b", quick)
	s.pass(60 * time.Second)
	s.must(s.proxy.Open())
	s.succeeds("a")
	s.succeeds("b")
	s.recovered()
}

// withoutLease has the replica work without one: it lives through outages that
// would cost it the Lease, and so its reflectors do.
func (s *stage) withoutLease(env ...string) {
	s.leaseless = true
	with := s.command
	s.command = func() *exec.Cmd {
		cmd := with()
		cmd.Args = append(cmd.Args, "--leader-elect=false")
		cmd.Env = append(cmd.Env, env...)
		return cmd
	}
}

func refusedWithoutLease(s *stage) {
	s.withoutLease()
	s.start()
	s.create("a", midway)
	s.steps("a")
	s.must(s.proxy.Shut())
	s.create("b", quick)
	s.pass(60 * time.Second)
	s.must(s.proxy.Open())
	s.succeeds("a")
	s.succeeds("b")
	s.recovered()
}

// halfOpen: the connections there are say nothing any more and take everything; new
// ones are well. It has to be found in that time that they are dead.
func halfOpen(found time.Duration, env ...string) func(*stage) {
	return func(s *stage) {
		s.withoutLease(env...)
		s.start()
		s.create("a", midway)
		s.steps("a")
		from := time.Now()
		s.proxy.Silence(false)
		s.again(from, found, faultproxy.On{Verb: "watch", Resource: crds.ResourceTaskRuns})
		s.again(from, found, faultproxy.On{Verb: "watch", Resource: "pods"})
		s.succeeds("a")
		s.recovered()
	}
}

func halfOpenWithoutPings(s *stage) {
	halfOpen(90*time.Second+busy, "DISABLE_HTTP2=1")(s)
}

// blackHole: new connections say nothing either.
func blackHole(s *stage) {
	s.exits = 10
	s.start()
	s.create("a", midway)
	s.steps("a")
	s.proxy.Silence(true)
	s.create("b", quick)
	s.pass(60 * time.Second)
	s.must(s.proxy.Open())
	s.proxy.Reset()
	s.succeeds("a")
	s.succeeds("b")
	s.recovered()
}

func resets(s *stage) {
	s.start()
	s.create("a", slow(5))
	for range 10 {
		s.proxy.Reset()
		s.pass(time.Second)
	}
	s.succeeds("a")
	s.recovered()
}
