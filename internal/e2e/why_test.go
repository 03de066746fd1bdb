//go:build e2e

package e2e

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// program is the command millrace, as somebody has it on a laptop.
func program(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "millrace")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", path, "../..").CombinedOutput(); err != nil {
		t.Fatalf("build it: %v: %s", err, out)
	}
	return path
}

// millrace runs it, and returns what it says and what it complains of.
func millrace(t *testing.T, path string, args ...string) (string, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	out, err := exec.CommandContext(ctx, path, args...).Output()
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		err = fmt.Errorf("millrace %s: %w: %s", strings.Join(args, " "), err, exit.Stderr)
	}
	return string(out), err
}

const oneOfEach = `
apiVersion: tekton.dev/v1
kind: PipelineRun
metadata: {name: whole}
spec: {pipelineSpec: {tasks: [{name: part, taskSpec: {steps: [{name: s, image: busybox, script: "true"}]}}]}}
`

func TestWhyTellsTheStoryOfARun(t *testing.T) {
	s := newSpace(t)
	path := program(t)
	s.create(oneOfEach)
	s.untilPipelineRun("whole", "Succeeded")
	for name, wants := range map[string][]string{
		"whole":      {"pipelinerun   " + s.ns + "/whole", "pipelineruns create", "taskruns update whole-part", "success in"},
		"whole-part": {"taskrun       " + s.ns + "/whole-part", "taskruns create", "pods update whole-part-pod", "success in"},
	} {
		story, err := millrace(t, path, "why", s.ns+"/"+name)
		if err != nil {
			t.Error(err)
			continue
		}
		for _, want := range wants {
			if !strings.Contains(story, want) {
				t.Errorf("the story of %s has no %q:\n%s", name, want, story)
			}
		}
	}
	if _, err := millrace(t, path, "why", s.ns+"/nobody"); err == nil || !strings.Contains(err.Error(), "no taskrun or pipelinerun of that name is known") {
		t.Errorf("of a run that never was: %v", err)
	}
}

// Whoever may ask the API server's proxy for a pod has not been asked whether they may
// see what is behind it.
func TestDebugIsForThoseWhoMayGetIt(t *testing.T) {
	s := newSpace(t)
	const goesOn = `{{range .items}}{{if not .metadata.deletionTimestamp}}{{.metadata.name}}{{end}}{{end}}` // and is not what an update has left
	pod := s.kubectl("-n", install, "get", "pods", "-l", "app.kubernetes.io/component=controller", "-o", "go-template="+goesOn)
	for _, page := range []string{"pipeline", "pprof/heap", "key?controller=taskrun&key=a/b"} {
		_, err := kubectl("", "get", "--raw", "/api/v1/namespaces/"+install+"/pods/http:"+pod+":6060/proxy/debug/"+page)
		if err == nil || !strings.Contains(err.Error(), "must be logged in") { // kubectl's words for 401
			t.Errorf("without a token %s is shown: %v", page, err)
		}
	}
	// The API server vouches for this one, who has no right to look.
	if _, err := millrace(t, program(t), "why", "a/b", "--service-account=millrace-controller"); err == nil || !strings.Contains(err.Error(), "may not get the nonResourceURL") {
		t.Errorf("with another ServiceAccount's token: %v", err)
	}
}

func TestLogsAreFollowedToTheEnd(t *testing.T) {
	s := newSpace(t)
	s.create(`
apiVersion: tekton.dev/v1
kind: TaskRun
metadata: {name: talks}
spec:
  taskSpec:
    steps:
    - {name: one, image: busybox, script: "echo hello; sleep 2; echo again"}
    - {name: two, image: busybox, script: "echo world"}
`)
	said, err := millrace(t, program(t), "logs", "-f", s.ns+"/talks")
	if want := "[one] hello\n[one] again\n[two] world\n"; err != nil || said != want {
		t.Errorf("said %q, want %q: %v", said, want, err)
	}
}
