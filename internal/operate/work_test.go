//go:build e2e

package operate

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"millrace/crds"
)

var (
	//go:embed testdata/task.yaml
	taskYAML string
	//go:embed testdata/taskrun.yaml
	taskRunYAML string
	//go:embed testdata/pipelinerun.yaml
	pipelineRunYAML string
)

const (
	// One run of so many is a PipelineRun, of two tasks.
	pipelines = 5
	// keep is how long a run stays that has ended: what is written to it late, shows.
	keep = 20 * time.Second
	// patience is how long runs may take after the last trouble.
	patience = 10 * time.Minute
)

// work is runs of one namespace: so many in flight at a time. Each is looked at once a
// second until it is deleted, some time after its end.
type work struct {
	c      *cluster
	ns     string
	ledger string // the file on this machine
	want   int    // in flight

	mu      sync.Mutex
	flying  map[string]*job // those that have not ended
	landed  []*job          // those that have, and are there still
	all     []*job
	finally map[string]string // the status with which a run has ended, by resource and name
	uids    map[string]string // of each pod and run that was ever seen, by resource and name
	failure error
}

// A job is one run that we have made.
type job struct {
	resource, name string
	taskRuns       []string // that it takes
	result         string
	ended          time.Time
}

func newWork(t *testing.T, c *cluster, ns string, want int) *work {
	t.Helper()
	c.namespace(t, ns)
	w := &work{c: c, ns: ns, want: want, ledger: filepath.Join(c.disk, "ledger", ns), flying: map[string]*job{}, finally: map[string]string{}, uids: map[string]string{}}
	must(t, os.MkdirAll(filepath.Dir(w.ledger), 0o755))
	must(t, os.WriteFile(w.ledger, nil, 0o644))
	must(t, w.post(t.Context(), crds.ResourceTasks, taskYAML))
	within(t, time.Minute, "the namespace's default ServiceAccount", func() bool {
		_, err := c.core.ServiceAccounts(ns).Get(t.Context(), "default", metav1.GetOptions{})
		return err == nil
	})
	return w
}

// begin has each work done by a goroutine of its own. What it returns tells them to begin
// no more runs, and waits until all have come to their end and are gone.
func begin(t *testing.T, all ...*work) (end func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	enough := make(chan struct{})
	var doing sync.WaitGroup
	for _, w := range all {
		doing.Go(func() {
			err := w.run(ctx, enough)
			w.mu.Lock()
			defer w.mu.Unlock()
			w.failure = err
		})
	}
	t.Cleanup(func() { cancel(); doing.Wait() })
	return func() {
		t.Helper()
		close(enough)
		doing.Wait()
		for _, w := range all {
			must(t, w.failed())
		}
	}
}

// failed is what has gone wrong so far.
func (w *work) failed() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.failure
}

// run keeps runs in flight until enough is closed, and then waits for the last of them.
func (w *work) run(ctx context.Context, enough <-chan struct{}) error {
	poll := time.NewTicker(time.Second)
	defer poll.Stop()
	var last <-chan time.Time
	for {
		select {
		case <-enough:
			enough, last = nil, time.After(patience)
		case <-last:
			return fmt.Errorf("not ended %v after the last trouble, or not gone: %v", patience, w.names())
		case <-ctx.Done():
			return ctx.Err()
		case <-poll.C:
		}
		there, err := w.look(ctx)
		if err != nil {
			return err
		}
		if err := w.clear(ctx); err != nil {
			return err
		}
		if enough == nil && there == 0 && w.inFlight() == 0 {
			return nil
		}
		for enough != nil && w.inFlight() < w.want {
			if err := w.start(ctx); err != nil {
				return err
			}
		}
	}
}

func (w *work) post(ctx context.Context, resource, text string) error {
	body, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		return err
	}
	return w.c.tekton.Post().Namespace(w.ns).Resource(resource).Body(body).Do(ctx).Error()
}

// start makes the next run.
func (w *work) start(ctx context.Context) error {
	w.mu.Lock()
	n := len(w.all) + 1
	w.mu.Unlock()
	name := fmt.Sprintf("t-%d", n)
	j, text := &job{resource: crds.ResourceTaskRuns, name: name, taskRuns: []string{name}, result: name + "-done"}, taskRunYAML
	if n%pipelines == 0 {
		name = fmt.Sprintf("p-%d", n)
		j = &job{resource: crds.ResourcePipelineRuns, name: name, taskRuns: []string{name + "-a", name + "-b"}, result: name + "-done-done"}
		text = pipelineRunYAML
	}
	if err := w.post(ctx, j.resource, strings.ReplaceAll(text, "NAME", name)); err != nil {
		return fmt.Errorf("make %s: %w", name, err)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.flying[name] = j
	w.all = append(w.all, j)
	return nil
}

// seen is what we read of a run.
type seen struct {
	Metadata struct{ Name, UID string }
	Status   json.RawMessage
}

type status struct {
	Conditions    []struct{ Type, Status, Reason, Message string }
	Results       []struct{ Name, Value string }
	RetriesStatus []json.RawMessage
}

// look sees how each run fares, and says how many there are.
func (w *work) look(ctx context.Context) (there int, err error) {
	for _, resource := range []string{crds.ResourceTaskRuns, crds.ResourcePipelineRuns} {
		raw, err := w.c.tekton.Get().Namespace(w.ns).Resource(resource).Do(ctx).Raw()
		if err != nil {
			return 0, fmt.Errorf("list %s: %w", resource, err)
		}
		var list struct{ Items []seen }
		if err := json.Unmarshal(raw, &list); err != nil {
			return 0, err
		}
		there += len(list.Items)
		for _, each := range list.Items {
			if err := w.see(resource, each); err != nil {
				return 0, err
			}
		}
	}
	pods, err := w.c.core.Pods(w.ns).List(ctx, metav1.ListOptions{})
	if err != nil {
		return 0, err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, pod := range pods.Items {
		if err := w.isTheFirst("pods/"+pod.Name, string(pod.UID)); err != nil {
			return 0, err
		}
	}
	return there + len(pods.Items), nil
}

// isTheFirst: no other object had this name. (Each is there for longer than we look away.)
func (w *work) isTheFirst(name, uid string) error {
	if first, known := w.uids[name]; known && first != uid {
		return fmt.Errorf("%s was made twice: %s and %s", name, first, uid)
	}
	w.uids[name] = uid
	return nil
}

func (w *work) see(resource string, run seen) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	name := resource + "/" + run.Metadata.Name
	if err := w.isTheFirst(name, run.Metadata.UID); err != nil {
		return err
	}
	if before, ended := w.finally[name]; ended {
		if before != string(run.Status) {
			return fmt.Errorf("%s was written to after its end:\n%s\n%s", name, before, run.Status)
		}
		return nil
	}
	var s status
	if len(run.Status) > 0 {
		if err := json.Unmarshal(run.Status, &s); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	if len(s.Conditions) != 1 || s.Conditions[0].Status == "Unknown" {
		return nil
	}
	if c := s.Conditions[0]; c.Reason != "Succeeded" && c.Reason != "Completed" || len(s.RetriesStatus) > 0 {
		return fmt.Errorf("%s ended with %s: %s", name, c.Reason, run.Status)
	}
	w.finally[name] = string(run.Status)
	j := w.flying[run.Metadata.Name]
	if j == nil {
		return nil // of a PipelineRun, which is looked at itself
	}
	if len(s.Results) != 1 || s.Results[0].Value != j.result {
		return fmt.Errorf("%s has other results than %s: %v", name, j.result, s.Results)
	}
	j.ended = time.Now()
	delete(w.flying, j.name)
	w.landed = append(w.landed, j)
	return nil
}

// clear deletes what has ended a while ago.
func (w *work) clear(ctx context.Context) error {
	for {
		w.mu.Lock()
		if len(w.landed) == 0 || time.Since(w.landed[0].ended) < keep {
			w.mu.Unlock()
			return nil
		}
		j := w.landed[0]
		w.landed = w.landed[1:]
		w.mu.Unlock()
		err := w.c.tekton.Delete().Namespace(w.ns).Resource(j.resource).Name(j.name).Do(ctx).Error()
		if apierrors.IsNotFound(err) {
			return fmt.Errorf("somebody else has deleted %s", j.name)
		} else if err != nil {
			return err
		}
	}
}

func (w *work) inFlight() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.flying)
}

// ended is how many runs have.
func (w *work) ended() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.all) - len(w.flying)
}

func (w *work) names() (names []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for name := range w.flying {
		names = append(names, name)
	}
	return names
}

// wereDoneOnce holds all runs against the steps' own ledger and the witness: each step
// has run once, and nothing was made twice, or for nobody.
func (w *work) wereDoneOnce(t *testing.T, made *witness) {
	t.Helper()
	steps, pods, children := map[string]int{}, map[string]int{}, map[string]int{}
	for _, j := range w.all {
		for _, taskRun := range j.taskRuns {
			steps[taskRun+" one"], steps[taskRun+" two"] = 1, 1
			pods[taskRun+"-pod"] = 1
			if j.resource == crds.ResourcePipelineRuns {
				children[taskRun] = 1
			}
		}
	}
	text, err := os.ReadFile(w.ledger)
	must(t, err)
	done := map[string]int{}
	for line := range strings.Lines(string(text)) {
		done[strings.TrimSuffix(line, "\n")]++
	}
	same(t, "steps in the ledger", done, steps)
	same(t, "pods in the audit log", made.creations(w.ns, "pods"), pods)
	same(t, "TaskRuns of PipelineRuns in the audit log", made.creations(w.ns, crds.ResourceTaskRuns), children)
	sayf("%d runs (%d PipelineRuns among them): %d steps, each once; %d pods, each made once", len(w.all), len(children)/2, len(done), len(pods))
}

// same tells of each that is not as often there as wanted.
func same(t *testing.T, what string, got, want map[string]int) {
	t.Helper()
	if len(want) == 0 {
		t.Errorf("%s: there is nothing to be looked at", what)
	}
	for each, n := range want {
		if got[each] != n {
			t.Errorf("%s: %s is there %d times, want %d", what, each, got[each], n)
		}
	}
	for each, n := range got {
		if want[each] == 0 {
			t.Errorf("%s: nobody has asked for %s (%d times)", what, each, n)
		}
	}
}
