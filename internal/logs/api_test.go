package logs_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"millrace/internal/logs"
)

// An API server is asked for the run, for its news by one watch of that name from that
// version, and for the log of each step, which is followed until the run is over.
func TestAnAPIServerIsAskedForNoMore(t *testing.T) {
	const begun = `{"apiVersion":"tekton.dev/v1","kind":"TaskRun","metadata":{"namespace":"ci","name":"build","resourceVersion":"%s"},"status":{%s}}`
	var asked []string
	watched := false
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, strings.TrimPrefix(r.URL.String(), "/ap"))
		switch {
		case strings.HasSuffix(r.URL.Path, "/log"):
			io.WriteString(w, "2026-01-02T03:04:05.000000006Z hello\n") //nolint:errcheck // a test's
		case r.URL.Query().Get("watch") == "true":
			watched = true
			io.WriteString(w, `{"type":"MODIFIED"}`) //nolint:errcheck // a test's
		case !strings.Contains(r.URL.Path, "/taskruns/"):
			w.WriteHeader(http.StatusNotFound)
			io.WriteString(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"NotFound","code":404}`) //nolint:errcheck // a test's
		case watched:
			fmt.Fprintf(w, begun, "8", `"podName":"p","taskSpec":{"steps":[{"name":"s"}]},"conditions":[{"type":"Succeeded","status":"True"}]`) //nolint:errcheck // a test's
		default:
			fmt.Fprintf(w, begun, "7", "") //nolint:errcheck // a test's
		}
	}))
	defer server.Close()
	cluster, err := logs.NewAPI(&rest.Config{Host: server.URL, QPS: -1})
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	err = logs.Print(context.Background(), cluster, types.NamespacedName{Namespace: "ci", Name: "build"}, logs.Config{Follow: true}, &out)
	if err != nil || out.String() != "[s] hello\n" {
		t.Errorf("%q %v", out.String(), err)
	}
	const run = "is/tekton.dev/v1/namespaces/ci/taskruns/build"
	want := []string{
		run, "is/tekton.dev/v1/namespaces/ci/pipelineruns/build", run,
		"is/tekton.dev/v1/namespaces/ci/taskruns?fieldSelector=metadata.name%3Dbuild&resourceVersion=7&watch=true",
		run, "i/v1/namespaces/ci/pods/p/log?container=step-s&timestamps=true",
	}
	if !slices.Equal(asked, want) {
		t.Errorf("asked\n  %s\nwant\n  %s", strings.Join(asked, "\n  "), strings.Join(want, "\n  "))
	}
}

// A connection is cut within a line, and the watch is of a version that is not kept any
// more: the log is asked for again from the second before that of its last whole line, and
// the run is read again. Where it ends it is asked for once more, at once.
func TestAStreamThatIsCutIsAskedForFromThere(t *testing.T) {
	const (
		one   = "2026-01-02T03:04:05.5Z one\n"
		two   = "2026-01-02T03:04:06.000000001Z two\n"
		three = "2026-01-02T03:04:06.000000001Z three\n"
		four  = "2026-01-02T03:04:07Z without an end"
	)
	var mu sync.Mutex
	var since []string
	running := true
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		switch {
		case strings.HasSuffix(r.URL.Path, "/log"):
			if since = append(since, r.URL.Query().Get("follow")+" "+r.URL.Query().Get("sinceTime")); len(since) == 1 {
				io.WriteString(w, one+two+three[:36]) //nolint:errcheck // a test's
				w.(http.Flusher).Flush()
				panic(http.ErrAbortHandler)
			}
			io.WriteString(w, one+two+three+four) //nolint:errcheck // a test's
		case r.URL.Query().Get("watch") == "true":
			running = false
			w.WriteHeader(http.StatusGone)
			io.WriteString(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Expired","code":410}`) //nolint:errcheck // a test's
		case !strings.Contains(r.URL.Path, "/taskruns/"):
			w.WriteHeader(http.StatusNotFound)
			io.WriteString(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"NotFound","code":404}`) //nolint:errcheck // a test's
		case running:
			io.WriteString(w, `{"metadata":{"namespace":"ci","name":"build","resourceVersion":"7"},"status":{"podName":"p","taskSpec":{"steps":[{"name":"s"}]}}}`) //nolint:errcheck // a test's
		default:
			io.WriteString(w, `{"metadata":{"namespace":"ci","name":"build","resourceVersion":"8"},"status":{"podName":"p","taskSpec":{"steps":[{"name":"s"}]},"conditions":[{"type":"Succeeded","status":"True"}]}}`) //nolint:errcheck // a test's
		}
	}))
	defer server.Close()
	cluster, err := logs.NewAPI(&rest.Config{Host: server.URL, QPS: -1})
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	err = logs.Print(t.Context(), cluster, types.NamespacedName{Namespace: "ci", Name: "build"}, logs.Config{Follow: true}, &out)
	if err != nil || out.String() != "[s] one\n[s] two\n[s] three\n[s] without an end\n" {
		t.Errorf("%q %v", out.String(), err)
	}
	if want := []string{"true ", "true 2026-01-02T03:04:05Z", "true 2026-01-02T03:04:05Z", " 2026-01-02T03:04:05Z"}; !slices.Equal(since, want) {
		t.Errorf("asked was for %q, want %q", since, want)
	}
}
