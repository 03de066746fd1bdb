package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
	"k8s.io/client-go/rest"
)

// A workload is runs that are all asked for at once.
type workload struct {
	name      string // begins the names of its namespaces
	runs      int    // that are asked for
	taskRuns  int    // that they come to
	pipelines bool   // the runs are PipelineRuns of pipelineTasks
}

func (w workload) namespaces() []string {
	return spread(w.name)
}

// spread is the namespaces of a part.
func spread(name string) []string {
	all := make([]string, namespaces)
	for i := range all {
		all[i] = fmt.Sprintf("%s-%02d", name, i)
	}
	return all
}

// resource is what is asked for.
func (w workload) resource() string {
	if w.pipelines {
		return "pipelineruns"
	}
	return "taskruns"
}

// bodies are the objects to create, number n for any n.
func (w workload) bodies() (func(n int) []byte, error) {
	o, err := newOriginal()
	if err != nil {
		return nil, err
	}
	body, err := withoutStatus(o.taskRun)
	if err != nil {
		return nil, err
	}
	if w.pipelines {
		if body, err = asPipelineRun(body); err != nil {
			return nil, err
		}
	}
	var object map[string]any
	if err := json.Unmarshal(body, &object); err != nil {
		return nil, err
	}
	const place = "NAME"
	object["metadata"] = map[string]any{"name": place, "labels": map[string]any{"app": "shop", "team": "payments"}}
	if body, err = json.Marshal(object); err != nil {
		return nil, err
	}
	text := string(body)
	return func(n int) []byte {
		return []byte(strings.Replace(text, `"`+place+`"`, fmt.Sprintf("%q", fmt.Sprintf("%s-%05d", w.name, n)), 1))
	}, nil
}

// lanes is how many tasks of a PipelineRun have no task before them.
const lanes = 10

// asPipelineRun is a run of the TaskRun's Task, pipelineTasks times: in lanes, in
// which each waits for a result of the one before.
func asPipelineRun(taskRun []byte) ([]byte, error) {
	var run struct {
		Spec struct {
			TaskSpec json.RawMessage `json:"taskSpec"`
		} `json:"spec"`
	}
	if err := json.Unmarshal(taskRun, &run); err != nil {
		return nil, err
	}
	tasks := make([]any, pipelineTasks)
	for i := range tasks {
		revision := "4b825dc642cb6eb9a060e54bf8d69288fbee4904"
		if i >= lanes {
			revision = fmt.Sprintf("$(tasks.t%02d.results.digest)", i-lanes)
		}
		tasks[i] = map[string]any{
			"name": fmt.Sprintf("t%02d", i), "taskSpec": run.Spec.TaskSpec,
			"params": []any{map[string]any{"name": "revision", "value": revision}},
		}
	}
	return json.Marshal(map[string]any{
		"apiVersion": "tekton.dev/v1", "kind": "PipelineRun",
		"spec": map[string]any{"pipelineSpec": map[string]any{"tasks": tasks}},
	})
}

// ask creates all runs, as fast as the server takes them.
func (w workload) ask(ctx context.Context, client rest.Interface, asked *atomic.Int64) error {
	body, err := w.bodies()
	if err != nil {
		return err
	}
	where := w.namespaces()
	return inParallel(ctx, w.runs, func(ctx context.Context, n int) error {
		_, err := create(ctx, client, w.resource(), where[n%len(where)], body(n))
		asked.Add(1)
		return err
	})
}

// inParallel does something for each number below n.
func inParallel(ctx context.Context, n int, do func(context.Context, int) error) error {
	all, ctx := errgroup.WithContext(ctx)
	var next atomic.Int64
	for range writers {
		all.Go(func() error {
			for {
				i := int(next.Add(1)) - 1
				if i >= n || ctx.Err() != nil {
					return ctx.Err()
				}
				if err := do(ctx, i); err != nil {
					return err
				}
			}
		})
	}
	return all.Wait()
}

// stalled is how long nothing may come of it.
const stalled = 2 * time.Minute

// counts is how many runs have ended, by how: status to number.
func counts(ctx context.Context, client rest.Interface, resource string, where []string) (map[string]int, error) {
	found := map[string]int{}
	for _, namespace := range where {
		if err := each(ctx, client, resource, namespace, func(h head) { found[h.succeeded()]++ }); err != nil {
			return nil, err
		}
	}
	return found, nil
}

// verify lists all runs: each of them must be there, and have succeeded.
func (w workload) verify(ctx context.Context, client rest.Interface) error {
	want := map[string]int{w.resource(): w.runs, "taskruns": w.taskRuns}
	for resource, n := range want {
		found, err := counts(ctx, client, resource, w.namespaces())
		if err != nil {
			return err
		}
		if len(found) != 1 || found["True"] != n {
			return fmt.Errorf("%d %s were to succeed; of those that are there, by the status of Succeeded: %v", n, resource, found)
		}
	}
	return nil
}
