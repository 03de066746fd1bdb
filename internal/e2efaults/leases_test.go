//go:build e2e

package e2efaults

import (
	"fmt"
	"syscall"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"millrace/internal/faultproxy"
	"millrace/internal/simulation/apiserver"
)

// leases: who leads, and who only believes so.
func leases() []scenario {
	return []scenario{
		{name: "leader-stopped-for-60-s-beside-a-second-replica", numbers: []int{14}, try: leaderStopped, long: true},
		{name: "leader-killed-beside-a-second-replica", numbers: []int{13, 14}, try: leaderKilled},
		{name: "lease-stolen", numbers: []int{14}, try: stolen(0), long: true},
		{name: "lease-stolen-by-one-an-hour-ahead", numbers: []int{14, 15}, try: stolen(time.Hour), long: true},
		{name: "lease-stolen-by-one-an-hour-behind", numbers: []int{14, 15}, try: stolen(-time.Hour), long: true},
		{name: "lease-cannot-be-renewed-for-30-s", numbers: []int{14}, try: notRenewed, long: true},
		{name: "lease-deleted", numbers: []int{14}, try: leaseDeleted},
		{name: "leader-cut-off-beside-a-second-replica", numbers: []int{11, 14}, try: leaderCutOff, long: true},
	}
}

// second starts another replica, and waits until its caches are warm.
func (s *stage) second() *replica {
	s.t.Helper()
	b := s.newReplica("b")
	s.begin(b)
	s.eventually("the second replica to have its caches", func() bool {
		code, _ := b.get(s.ctx, "/readyz")
		return code == 200
	})
	return b
}

func (s *stage) leads(r *replica) {
	s.t.Helper()
	s.eventually("replica "+r.name+" to lead", func() bool { return s.holder() == s.ns+"-"+r.name })
}

// leaderStopped: the leader cannot know that time goes by. The other one takes
// over, and the first one, when it goes on, may not write anything: its timer for
// the Lease and the work in hand wake at the same moment.
func leaderStopped(s *stage) {
	s.start()
	b := s.second()
	s.create("a", slow(30))
	s.steps("a")
	s.create("b", quick) // the leader is stopped in the midst of it
	stopped := s.now()
	s.signal(syscall.SIGSTOP)
	from := time.Now()
	s.leads(b)
	s.create("c", quick)
	s.succeeds("a")
	s.succeeds("b")
	s.succeeds("c")
	s.pass(time.Until(from.Add(60 * time.Second)))
	s.exits = 1
	on := time.Now()
	s.signal(syscall.SIGCONT)
	if s.dies(s.replica, stopped); stopped.code == 0 {
		s.fatalf("it lost its Lease, and ended with %s", stopped.reason)
	}
	s.noWorkSince(on, stopped.ended)
	s.recovered()
}

// noWorkSince fails if replica a has asked for a write that a crash can fall
// between, in that time, and has had it done.
func (s *stage) noWorkSince(from, to time.Time) {
	s.t.Helper()
	for _, x := range s.proxy.Exchanges() {
		if faultproxy.Work(x.Request) && x.Done() && x.Sent.After(from) && x.Sent.Before(to) {
			s.fatalf("written without a Lease (I8): %s", x)
		}
	}
}

func leaderKilled(s *stage) {
	s.start()
	b := s.second()
	s.create("a", slow(25))
	s.steps("a")
	s.hold()
	s.kill()
	s.create("b", quick)
	s.leads(b)
	s.succeeds("a")
	s.succeeds("b")
	s.resume()
	s.recovered()
}

// leaderCutOff: the leader lives and works, and the server does not hear of it.
func leaderCutOff(s *stage) {
	s.exits = 1000
	s.start()
	b := s.second()
	s.create("a", slow(30))
	s.steps("a")
	first := s.now()
	s.proxy.Silence(true)
	s.create("b", quick)
	s.leads(b)
	s.dies(s.replica, first)
	s.succeeds("a")
	s.succeeds("b")
	s.must(s.proxy.Open())
	s.proxy.Reset()
	s.recovered()
}

// stolen: somebody else's name is in the Lease, by a clock that may be off, and nobody
// behind it.
func stolen(clock time.Duration) func(*stage) {
	return func(s *stage) {
		s.start()
		s.create("a", midway)
		s.steps("a")
		first := s.now()
		s.exits = 1
		now := time.Now().Add(clock).UTC().Format("2006-01-02T15:04:05.000000Z07:00")
		_, err := s.cluster.leases.Leases(s.ns).Patch(s.ctx, "millrace-controller", types.MergePatchType, fmt.Appendf(nil,
			`{"spec":{"holderIdentity":"a-thief","renewTime":%q,"acquireTime":%q,"leaseDurationSeconds":15}}`, now, now), metav1.PatchOptions{})
		s.must(err)
		if s.dies(s.replica, first); first.code == 0 {
			s.fatalf("its Lease was stolen, and it ended with %s", first.reason)
		}
		s.create("b", quick)
		s.succeeds("a")
		s.succeeds("b")
		s.recovered()
	}
}

func notRenewed(s *stage) {
	s.start()
	s.create("a", midway)
	s.steps("a")
	first := s.now()
	s.exits = 4
	over := s.plan(faultproxy.Fault{
		On:      faultproxy.On{Verb: "update", Resource: "leases"},
		Verdict: apiserver.Verdict{Fault: "Lease cannot be renewed", Refuse: faultproxy.Answer(503, "", "etcdserver: request timed out")},
	})
	from := time.Now()
	s.dies(s.replica, first)
	if took := time.Since(from); took > renewDeadline+2*busy {
		s.fatalf("it could not renew its Lease, and went on for %v", took)
	}
	s.create("b", quick)
	s.pass(time.Until(from.Add(30 * time.Second)))
	over()
	s.succeeds("a")
	s.succeeds("b")
	s.recovered()
}

func leaseDeleted(s *stage) {
	s.exits = 1
	s.start()
	s.create("a", midway)
	s.steps("a")
	s.must(s.cluster.leases.Leases(s.ns).Delete(s.ctx, "millrace-controller", metav1.DeleteOptions{}))
	s.succeeds("a")
	s.recovered()
}
