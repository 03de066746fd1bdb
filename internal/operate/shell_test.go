//go:build e2e

package operate

import (
	"bytes"
	"context"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// said is what a command has printed.
type said struct {
	out, complaints string
	err             error
	code            int // with which it has ended
}

// shell runs a line in a folder, for ten minutes at most.
func shell(t *testing.T, dir, line string) said {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "bash", "-euo", "pipefail", "-c", line)
	cmd.Dir = dir
	var out, complaints bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &complaints
	err := cmd.Run()
	return said{strings.TrimSpace(out.String()), strings.TrimSpace(complaints.String()), err, cmd.ProcessState.ExitCode()}
}

// sh is shell for what has to succeed.
func sh(t *testing.T, dir, line string) string {
	t.Helper()
	s := shell(t, dir, line)
	if s.err != nil {
		t.Fatalf("%s: %v\n%s\n%s", line, s.err, s.out, s.complaints)
	}
	return s.out
}

// warnings are the lines in which kubectl passes on what the server warns of.
func (s said) warnings() (found []string) {
	for line := range strings.Lines(s.out + "\n" + s.complaints) {
		if strings.HasPrefix(strings.ToLower(line), "warning") {
			found = append(found, strings.TrimSpace(line))
		}
	}
	return found
}
