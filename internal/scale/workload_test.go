package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"k8s.io/client-go/rest"
	"sigs.k8s.io/yaml"
)

// served is a server that keeps what is created, and lists it in pages of two.
type served struct {
	mu    sync.Mutex
	items map[string][]json.RawMessage // by path
}

func (s *served) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	if r.Method == http.MethodPost {
		var body json.RawMessage
		if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		s.items[r.URL.Path] = append(s.items[r.URL.Path], body)
		w.WriteHeader(http.StatusCreated)
		_, _ = w.Write(body)
		return
	}
	from, next := 0, ""
	_, _ = fmt.Sscan(r.URL.Query().Get("continue"), &from)
	items := s.items[r.URL.Path]
	page := items[from:min(from+2, len(items))]
	if from+2 < len(items) {
		next = fmt.Sprint(from + 2)
	}
	body, err := json.Marshal(page)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	_, _ = fmt.Fprintf(w, `{"metadata":{"continue":%q},"items":%s}`, next, body)
}

func serve(t *testing.T) (*cluster, *served) {
	t.Helper()
	s := &served{items: map[string][]json.RawMessage{}}
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	c, err := clientsOf(&rest.Config{Host: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	return c, s
}

func TestEveryRunIsAskedForHowItEnded(t *testing.T) {
	c, s := serve(t)
	w := workload{name: "few", runs: 43, taskRuns: 43}
	var asked atomic.Int64
	if err := w.ask(t.Context(), c.tekton, &asked); err != nil || asked.Load() != 43 {
		t.Fatal(err)
	}
	made := map[string]bool{}
	for path, items := range s.items {
		for i, raw := range items {
			var h head
			if err := json.Unmarshal(raw, &h); err != nil {
				t.Fatal(err)
			}
			made[path+"/"+h.Metadata.Name] = true
			s.items[path][i] = ended(t, raw, "True")
		}
	}
	if len(made) != 43 || len(s.items) != namespaces {
		t.Fatalf("%d runs in %d namespaces: %v", len(made), len(s.items), made)
	}
	if err := w.verify(t.Context(), c.tekton); err != nil {
		t.Errorf("all have succeeded: %v", err)
	}
	const path = "/apis/tekton.dev/v1/namespaces/few-02/taskruns"
	last := s.items[path]
	for why, items := range map[string][]json.RawMessage{
		"has failed":   append(slices.Clone(last[1:]), ended(t, last[0], "False")),
		"goes on":      append(slices.Clone(last[1:]), ended(t, last[0], "Unknown")),
		"is not there": last[1:],
	} {
		s.items[path] = items
		if err := w.verify(t.Context(), c.tekton); err == nil || !strings.Contains(err.Error(), "True:42") {
			t.Errorf("one run %s: %v", why, err)
		}
	}
}

// ended is the run with that status.
func ended(t *testing.T, run json.RawMessage, succeeded string) json.RawMessage {
	t.Helper()
	var object map[string]any
	if err := json.Unmarshal(run, &object); err != nil {
		t.Fatal(err)
	}
	object["status"] = map[string]any{"conditions": []any{map[string]any{"type": "Succeeded", "status": succeeded}}}
	raw, err := json.Marshal(object)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// A task waits for the one before it in its lane, and no other.
func TestAPipelineRunHasItsLanes(t *testing.T) {
	body, err := workload{name: "p", runs: 1, taskRuns: pipelineTasks, pipelines: true}.bodies()
	if err != nil {
		t.Fatal(err)
	}
	var run struct {
		Metadata struct{ Name string }
		Spec     struct {
			PipelineSpec struct {
				Tasks []struct {
					Name     string
					TaskSpec struct{ Steps []struct{ Name string } }
					Params   []struct{ Name, Value string }
				}
			}
		}
	}
	if err := json.Unmarshal(body(7), &run); err != nil {
		t.Fatal(err)
	}
	tasks := run.Spec.PipelineSpec.Tasks
	if run.Metadata.Name != "p-00007" || len(tasks) != pipelineTasks {
		t.Fatalf("%s has %d tasks", run.Metadata.Name, len(tasks))
	}
	for i, task := range tasks {
		before := fmt.Sprintf("$(tasks.t%02d.results.digest)", i-lanes)
		if waits := task.Params[0].Value == before; waits != (i >= lanes) || len(task.TaskSpec.Steps) != 2 {
			t.Errorf("task %d: %+v", i, task)
		}
	}
}

// Each document of kwok's configuration is one, and the pod that it lets succeed has
// what a run waits for.
func TestKwokSaysWhatTheEntrypointWould(t *testing.T) {
	raw, err := os.ReadFile("kwok.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var succeeds string
	for document := range strings.SplitSeq(string(raw), "\n---\n") {
		var stage struct {
			Kind     string
			Metadata struct{ Name string }
			Spec     struct {
				Next struct{ StatusTemplate string }
			}
		}
		if err := yaml.Unmarshal([]byte(document), &stage); err != nil {
			t.Fatal(err)
		}
		if stage.Metadata.Name == "pod-succeeds" {
			succeeds = stage.Spec.Next.StatusTemplate
		}
	}
	_, rest, found := strings.Cut(succeeds, "message: '")
	message, _, ends := strings.Cut(rest, "'\n")
	if !found || !ends {
		t.Fatalf("no termination message in %q", succeeds)
	}
	var entries []struct {
		Key, Value string
		Type       int
	}
	const now = "2000-01-01T00:00:00.123456789Z"
	if err := json.Unmarshal([]byte(strings.ReplaceAll(message, "{{ $now | Quote }}", `"`+now+`"`)), &entries); err != nil {
		t.Fatal(err)
	}
	if len(entries) != 2 || entries[0].Key != "digest" || entries[0].Type != 1 || entries[1].Key != "StartedAt" || entries[1].Type != 3 {
		t.Errorf("the message says %+v", entries)
	}
}

func TestTheFirstErrorEndsAllOfThem(t *testing.T) {
	var done atomic.Int64
	err := inParallel(t.Context(), 10_000, func(ctx context.Context, n int) error {
		done.Add(1)
		if n == 40 {
			return fmt.Errorf("number %d", n)
		}
		if n > 40 { // who comes behind it goes on when all are told, and not while it only means to tell
			<-ctx.Done()
		}
		return nil
	})
	if err == nil || err.Error() != "number 40" || done.Load() > 40+writers {
		t.Errorf("%v after %d", err, done.Load())
	}
}
