//go:build e2e

package e2efaults

import (
	"os/exec"
	"syscall"
	"time"
)

// clocks: that on the wall jumps. See testdata/clock, and faults.sh.
func clocks() []scenario {
	return []scenario{
		{name: "clock-jumps-an-hour-ahead-in-mid-run", numbers: []int{15}, try: clockJumps(syscall.SIGUSR1)},
		{name: "clock-jumps-an-hour-back-in-mid-run", numbers: []int{15}, try: clockJumps(syscall.SIGUSR2)},
		{name: "clock-jumps-to-and-fro-beside-a-second-replica", numbers: []int{14, 15}, try: clockJumpsBesideAnother, long: true},
	}
}

// jumping gives the first replica a clock that jumps, and no Lease trouble to hide
// behind: a jump is no reason to end.
func (s *stage) jumping() {
	with := s.command
	s.command = func() *exec.Cmd {
		cmd := with()
		cmd.Path, cmd.Args[0] = s.cluster.program+"-jumping", s.cluster.program+"-jumping"
		return cmd
	}
}

// clockJumps: runs that began before and that begin after, one of which waits for its
// time-out. What is measured, is measured by the monotonic clock; a time-out is told
// from what is written down, and by the clock on the wall.
func clockJumps(how syscall.Signal) func(*stage) {
	return func(s *stage) {
		s.jumping()
		s.start()
		s.create("a", "timeout: 3h, "+midway)
		s.steps("a")
		first := s.now()
		s.signal(how)
		s.create("b", midway)
		s.create("c", "timeout: 5s, "+slow(600))
		s.succeeds("a")
		s.succeeds("b")
		s.ends("c", "TaskRunTimeout")
		s.pass(renewDeadline + 5*time.Second) // the Lease goes on, too
		s.recovered()
		s.sane("a", "b", "c")
		if s.now() != first {
			s.fatalf("its clock jumped, and it ended: %s", first.reason)
		}
	}
}

// sane fails if a run ended before it began.
func (s *stage) sane(names ...string) {
	s.t.Helper()
	for _, name := range names {
		status := s.mustGet(name).Status
		if status.StartTime == nil || status.CompletionTime == nil || status.CompletionTime.Before(status.StartTime) {
			s.fatalf("run %s began at %v and ended at %v (I4)", name, status.StartTime, status.CompletionTime)
		}
	}
}

// clockJumpsBesideAnother: the leader's clock is an hour ahead, and then an hour
// behind; the Lease is its own all the time.
func clockJumpsBesideAnother(s *stage) {
	s.jumping()
	s.start()
	b := s.second()
	first := s.now()
	for i, how := range []syscall.Signal{syscall.SIGUSR1, syscall.SIGUSR2, syscall.SIGUSR2} {
		s.signal(how)
		name := string(rune('a' + i))
		s.create(name, slow(5))
		s.succeeds(name)
		s.pass(20 * time.Second)
		if holder := s.holder(); holder != s.ns+"-"+s.name {
			s.fatalf("the leader's clock jumped, and %s took over", holder)
		}
	}
	if s.now() != first || b.now().over() {
		s.fatalf("a clock jumped, and a process ended: %s, %s", first.reason, b.now().reason)
	}
	s.recovered()
}
