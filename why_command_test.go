package main

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/types"

	"millrace/internal/inspect"
	"millrace/workqueue"
)

// The command prints what a replica says; which one that is, internal/why finds out.
func TestWhyPrintsWhatTheReplicaSays(t *testing.T) {
	inspector := inspect.New("v1", func() bool { return true })
	inspector.Controller("taskrun", "taskruns")
	shown := inspector.Controller("pipelinerun", "pipelineruns")
	queue := workqueue.New(workqueue.Config[types.NamespacedName]{Trace: shown.Queue(queueTrace{})})
	shown.Attach(queue, nil)
	queue.Add(types.NamespacedName{Namespace: "ci", Name: "release"}, workqueue.Cause{Source: "taskruns", Event: "update", Name: "release-test", OldRV: "7", NewRV: "9"})
	server := httptest.NewServer(inspector.Handler())
	defer server.Close()

	code, out, errOut := called(t, nil, "why", "ci/release", "--server", server.URL)
	if code != 0 || errOut != "" || !strings.Contains(out, "taskruns update release-test 7→9: idle → ready") {
		t.Errorf("%d %q\n%s", code, errOut, out)
	}
	code, _, errOut = called(t, nil, "why", "ci/release", "--controller=taskrun", "--server="+server.URL)
	if code != exitFailed || errOut != "millrace: no taskrun of that name is known: ci/release\n" {
		t.Errorf("%d %q", code, errOut)
	}
	gone := httptest.NewServer(http.NotFoundHandler())
	gone.Close()
	if code, _, errOut = called(t, nil, "why", "ci/release", "--server="+gone.URL); code != exitFailed || !strings.Contains(errOut, "connection refused") {
		t.Errorf("%d %q", code, errOut)
	}
	if code, _, errOut = called(t, nil, "why", "release"); code != exitUsage || !strings.Contains(errOut, `"release" is no NAMESPACE/NAME`) {
		t.Errorf("%d %q", code, errOut)
	}
}
