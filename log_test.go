package main

import (
	"os"
	"os/exec"
	"testing"

	"k8s.io/klog/v2"
)

// The test is its own child: only a process can be ended by a signal.
func TestALogThatNobodyReadsEndsNothing(t *testing.T) {
	const child = "MILLRACE_TEST_LOGS_IN_VAIN"
	if format := os.Getenv(child); format != "" {
		setUpLog(config{logFormat: format})
		klog.InfoS("Nobody reads this")
		klog.Flush()
		os.Exit(7)
	}
	for _, format := range []string{"text", "json"} {
		read, write, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		read.Close() //nolint:errcheck // it is to be gone
		cmd := exec.Command(os.Args[0], "-test.run=^TestALogThatNobodyReadsEndsNothing$")
		cmd.Env = append(os.Environ(), child+"="+format)
		cmd.Stderr = write
		cmd.Run()     //nolint:errcheck // its exit code says it
		write.Close() //nolint:errcheck // the child had it
		if cmd.ProcessState.ExitCode() != 7 {
			t.Errorf("%s: %s", format, cmd.ProcessState)
		}
	}
}
