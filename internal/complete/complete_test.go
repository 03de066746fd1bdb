package complete_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"millrace/internal/complete"
)

// Names of a cluster, by the path that lists them.
type names map[string][]string

// ServeHTTP lists two at a time, as metadata alone.
func (n names) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	all, there := n[r.URL.Path]
	if !there {
		http.Error(w, "forbidden", http.StatusForbidden)
		return
	}
	if accept := r.Header.Get("Accept"); !strings.Contains(accept, "as=PartialObjectMetadataList") {
		http.Error(w, "too much is asked for: "+accept, http.StatusNotAcceptable)
		return
	}
	if limit := r.URL.Query().Get("limit"); limit != "500" {
		http.Error(w, "too much is asked for at once: "+limit, http.StatusRequestEntityTooLarge)
		return
	}
	list := metav1.PartialObjectMetadataList{TypeMeta: metav1.TypeMeta{APIVersion: "meta.k8s.io/v1", Kind: "PartialObjectMetadataList"}}
	from := 0
	if c := r.URL.Query().Get("continue"); c != "" {
		from = int(c[0] - '0')
	}
	for _, name := range all[from:min(from+2, len(all))] {
		item := metav1.PartialObjectMetadata{TypeMeta: metav1.TypeMeta{APIVersion: "meta.k8s.io/v1", Kind: "PartialObjectMetadata"}}
		item.Name = name
		list.Items = append(list.Items, item)
	}
	if from+2 < len(all) {
		list.Continue = fmt.Sprint(from + 2)
	}
	w.Header().Set("Content-Type", "application/json")
	json.NewEncoder(w).Encode(list) //nolint:errcheck,errchkjson // a test's
}

func in(t *testing.T, handler http.Handler, own string) *complete.Cluster {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	c, err := complete.New(&rest.Config{Host: server.URL}, own)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

const runs = "/apis/tekton.dev/v1/namespaces/ci/"

func TestAWordBecomesWhatBeginsSo(t *testing.T) {
	c := in(t, names{
		"/api/v1/namespaces":  {"ci", "cinema", "default"},
		runs + "taskruns":     {"build", "build-1", "build-2", "test", "both"},
		runs + "pipelineruns": {"both", "bump"},
	}, "default")
	for word, want := range map[string][]string{
		"":        {"ci/", "cinema/", "default/"},
		"ci":      {"ci/", "cinema/"},
		"ci/":     {"ci/both\tPipelineRun", "ci/build\tTaskRun", "ci/build-1\tTaskRun", "ci/build-2\tTaskRun", "ci/bump\tPipelineRun", "ci/test\tTaskRun"},
		"ci/bu":   {"ci/build\tTaskRun", "ci/build-1\tTaskRun", "ci/build-2\tTaskRun", "ci/bump\tPipelineRun"},
		"ci/x":    nil,
		"nowhere": nil,
	} {
		got, whole := c.Runs(t.Context(), word)
		if !slices.Equal(got, want) || whole != strings.Contains(word, "/") {
			t.Errorf("%q becomes %q, %v; want %q", word, got, whole, want)
		}
	}
	if got := c.Namespaces(t.Context(), "ci"); !slices.Equal(got, []string{"ci", "cinema"}) {
		t.Errorf("namespaces: %q", got)
	}
}

// Most people may not list namespaces, and have one that they work in.
func TestWhoMayNotListNamespacesHasTheirOwn(t *testing.T) {
	c := in(t, names{}, "team-a")
	for word, want := range map[string][]string{"": {"team-a/"}, "te": {"team-a/"}, "x": nil} {
		if got, _ := c.Runs(t.Context(), word); !slices.Equal(got, want) {
			t.Errorf("%q becomes %q, want %q", word, got, want)
		}
	}
}

func TestNobodyIsToldOfTrouble(t *testing.T) {
	c := in(t, names{}, "team-a")
	if got, _ := c.Runs(t.Context(), "team-a/"); got != nil {
		t.Errorf("without a right: %q", got)
	}
	if _, err := complete.New(&rest.Config{Host: "::"}, ""); err == nil {
		t.Error("a host that is none has a client")
	}
}

// nobody answers nothing, ever.
type nobody struct{}

func (nobody) RoundTrip(r *http.Request) (*http.Response, error) {
	<-r.Context().Done()
	return nil, context.Cause(r.Context())
}

func TestWhatTakesTooLongIsLeftOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, err := complete.New(&rest.Config{Host: "http://server", Transport: nobody{}}, "own")
		if err != nil {
			t.Fatal(err)
		}
		for _, word := range []string{"", "ci/b"} {
			begun := time.Now()
			c.Runs(t.Context(), word)
			if took := time.Since(begun); took != complete.Patience {
				t.Errorf("%q took %s", word, took)
			}
		}
	})
}
