package main

import (
	"io"
	"net/http"
	"strings"
	"testing"
)

// A pipeline of three tasks, of which one has a log that cannot be read: the others are
// printed, and what has failed is told at the end.
func TestLogsTellAtTheEndWhatHasFailed(t *testing.T) {
	const done = `"conditions":[{"type":"Succeeded","status":"True"}]`
	kubeconfig := kubeconfigOf(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		name := r.URL.Path[strings.LastIndex(r.URL.Path, "/")+1:]
		var text string
		switch {
		case strings.HasSuffix(r.URL.Path, "/pods/b/log"):
			w.WriteHeader(http.StatusInternalServerError)
			text = `{"kind":"Status","apiVersion":"v1","status":"Failure","message":"dial tcp 10.0.0.7:10250: connect: no route to host","code":500}`
		case name == "log":
			text = "2026-01-02T03:04:05Z from " + r.URL.Query().Get("container") + "\n"
		case strings.HasSuffix(r.URL.Path, "/pipelineruns/build"):
			text = `{"metadata":{"namespace":"ci","name":"build"},"status":{` + done + `,"childReferences":[
				{"kind":"TaskRun","name":"a","pipelineTaskName":"a"},{"kind":"TaskRun","name":"b","pipelineTaskName":"b"},{"kind":"TaskRun","name":"c","pipelineTaskName":"c"}]}}`
		case strings.Contains(r.URL.Path, "/taskruns/") && name != "build":
			text = `{"metadata":{"namespace":"ci","name":"` + name + `"},"status":{"podName":"` + name + `",` + done + `,"taskSpec":{"steps":[{"name":"s"}],"sidecars":[{"name":"db"}]}}}`
		default:
			w.WriteHeader(http.StatusNotFound)
			text = `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"NotFound","code":404}`
		}
		io.WriteString(w, text) //nolint:errcheck // a test's
	}))
	code, out, errOut := called(t, nil, "logs", "--kubeconfig="+kubeconfig, "ci/build")
	if code != exitFailed || out != "[a : s] from step-s\n[c : s] from step-s\n" || errOut != "millrace: log of step s of ci/b: dial tcp 10.0.0.7:10250: connect: no route to host\n" {
		t.Errorf("%d\n%s%s", code, out, errOut)
	}
	code, out, errOut = called(t, nil, "logs", "--kubeconfig="+kubeconfig, "ci/a", "--sidecars")
	if code != 0 || out != "[s] from step-s\n[sidecar-db] from sidecar-db\n" || errOut != "" {
		t.Errorf("%d\n%s%s", code, out, errOut)
	}
}

// Many tasks are as many logs, all at once.
func TestWhoAsksForMuchIsNotHeldBack(t *testing.T) {
	rc, err := access{kubeconfig: kubeconfigOf(t, http.NotFoundHandler())}.rest()
	if err != nil || rc.QPS >= 0 {
		t.Errorf("%v: client-go holds requests back", err)
	}
}
