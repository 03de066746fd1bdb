package logs_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
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
			io.WriteString(w, "hello\n") //nolint:errcheck // a test's
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
		run, "i/v1/namespaces/ci/pods/p/log?container=step-s",
	}
	if !slices.Equal(asked, want) {
		t.Errorf("asked\n  %s\nwant\n  %s", strings.Join(asked, "\n  "), strings.Join(want, "\n  "))
	}
}
