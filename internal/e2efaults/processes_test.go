//go:build e2e

package e2efaults

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"time"

	"millrace/internal/faultproxy"
	"millrace/internal/simulation/apiserver"
)

// processes: what surrounds the process is not as it should be.
func processes() []scenario {
	return []scenario{
		{name: "nobody-reads-standard-error-any-more", numbers: []int{25}, try: stderrBroken},
		{name: "standard-error-is-closed", numbers: []int{25}, try: stderrClosed},
		{name: "clients-of-metrics-that-do-not-read", numbers: []int{25}, try: metricsUnread},
		{name: "calls-for-one-run-hang-for-10-minutes", numbers: []int{24}, try: oneHangs, long: true},
	}
}

// stderrBroken: whoever read the log has gone, so writes to it fail, and could end
// the process by SIGPIPE.
func stderrBroken(s *stage) {
	with := s.command
	s.command = func() *exec.Cmd {
		read, write, err := os.Pipe()
		if err != nil {
			panic(err)
		}
		read.Close() //nolint:errcheck // it is to be gone
		cmd := with()
		cmd.Stderr = write
		return cmd
	}
	s.start()
	s.create("a", slow(2))
	s.succeeds("a")
	s.recovered()
}

func stderrClosed(s *stage) {
	with := s.command
	s.command = func() *exec.Cmd {
		cmd := with()
		cmd.Args = append([]string{"sh", "-c", `exec "$0" "$@" 2>&-`}, cmd.Args...)
		cmd.Path = "/bin/sh"
		return cmd
	}
	s.start()
	s.create("a", slow(2))
	s.succeeds("a")
	s.recovered()
}

// oneHangs: a worker is stuck with one run for ten minutes, and others have the
// remaining ones.
func oneHangs(s *stage) {
	s.start()
	over := s.plan(faultproxy.Fault{
		On:      faultproxy.On{Namespace: s.ns, Name: "stuck*", Of: func(r apiserver.Request) bool { return r.Verb != "list" && r.Verb != "watch" }},
		Verdict: apiserver.Verdict{Fault: "calls for one run hang", Lose: apiserver.BeforeActing, Hang: true},
	})
	from := time.Now()
	s.create("stuck", quick)
	s.happens("calls for one run hang")
	for i := 0; time.Since(from) < 10*time.Minute; i++ {
		name := fmt.Sprint("free-", i)
		s.create(name, quick)
		s.within(time.Minute, "run "+name+" to end, while calls for another hang", func() bool {
			run, err := s.get(name)
			why, over := reason(run)
			return err == nil && over && why == "Succeeded"
		})
		s.pass(20 * time.Second)
	}
	if why, ended := reason(s.mustGet("stuck")); ended {
		s.fatalf("no call for run stuck came through, and it ended with %s", why)
	}
	over()
	s.succeeds("stuck")
	s.recovered()
}

// metricsUnread: connections that ask again and again, and read nothing.
func metricsUnread(s *stage) {
	s.start()
	for range 100 {
		c, err := net.Dial("tcp", s.metrics)
		s.must(err)
		defer c.Close()
		for range 20 {
			if _, err := fmt.Fprintf(c, "GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n"); err != nil {
				break
			}
		}
	}
	s.create("a", slow(2))
	s.succeeds("a")
	if code, _ := s.replica.get(s.ctx, "/metrics"); code != 200 {
		s.fatalf("/metrics answers others with %d", code)
	}
	s.recovered()
}
