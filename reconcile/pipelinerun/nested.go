package pipelinerun

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"millrace/crds"
	"millrace/crds/reference"
	"millrace/reconcile/call"
)

// A task of a pipeline may be a pipeline: then its run is a PipelineRun, which this
// controller executes as it does any other, and knows nothing of but what it knows of a
// TaskRun.

// maxNesting is how many runs may be around a run: Pipelines that are found within
// themselves by name are told at once, and this ends those that a resolver finds within
// themselves.
const maxNesting = 10

// nested tells tasks that are pipelines.
func nested(t *crds.PipelineTask) bool { return t.PipelineRef != nil || t.PipelineSpec != nil }

// pipelineRun is the run of a task that is a pipeline.
func (d *decision) pipelineRun(t *task, name string, c combination) (*crds.PipelineRun, error) {
	v := d.of(t)
	own := d.specOf(t.Name)
	pr := &crds.PipelineRun{
		TypeMeta:   metav1.TypeMeta{APIVersion: crds.APIVersion, Kind: crds.KindPipelineRun},
		ObjectMeta: d.metadata(t, name, own),
		Spec: crds.PipelineRunSpec{
			Params:          taskParams(v, t.Params, c.params),
			TaskRunTemplate: crds.PipelineTaskRunTemplate{ServiceAccountName: own.ServiceAccountName, PodTemplate: own.PodTemplate},
			Workspaces:      d.workspaces(v, t),
			ManagedBy:       d.Run.Spec.ManagedBy,
		},
	}
	d.tellClaims(pr.Annotations, pr.Spec.Workspaces)
	if timeout := d.runTimeout(t, own); timeout != nil {
		pr.Spec.Timeouts = &crds.TimeoutFields{Pipeline: timeout}
	}
	if t.PipelineRef != nil {
		ref := *t.PipelineRef
		ref.Name = v.Text(ref.Name)
		ref.Params = taskParams(v, ref.Params, nil)
		pr.Spec.PipelineRef = &ref
		return pr, nil
	}
	given, err := d.propagated(t.PipelineSpec, pr.Spec.Params)
	pr.Spec.PipelineSpec = t.PipelineSpec
	pr.Spec.Params = append(pr.Spec.Params, given...)
	return pr, err
}

// propagated are parameters that an embedded pipeline uses, and neither is given nor has
// a default for: its run is given them, and its text stays as it is.
func (d *decision) propagated(spec *crds.PipelineSpec, own crds.Params) (given crds.Params, err error) {
	raw, err := json.Marshal(spec)
	if err != nil {
		return nil, fmt.Errorf("encode the pipeline: %w", err)
	}
	done := map[string]bool{}
	for _, param := range own {
		done[param.Name] = true
	}
	for _, param := range spec.Params {
		done[param.Name] = done[param.Name] || param.Default != nil
	}
	give := func(name string, value crds.ParamValue) {
		if !done[name] && d.vars.Budget.Afford(len(value.StringVal)) {
			done[name] = true
			given = append(given, crds.Param{Name: name, Value: value})
		}
	}
	for _, param := range spec.Params {
		if value, known := d.values[param.Name]; known {
			give(param.Name, value)
		}
	}
	reference.Each(string(raw), func(text string) {
		if name, value, known := paramOf(d.values, text); known {
			give(name, value)
		}
	})
	slices.SortFunc(given, func(a, b crds.Param) int { return strings.Compare(a.Name, b.Name) })
	return given, nil
}

// checkNested looks at a task that is a pipeline, beyond the rules of admission.
func (d *decision) checkNested(t *crds.PipelineTask) *refusal {
	switch ref := t.PipelineRef; {
	case !nested(t):
		return nil
	case ref != nil && ref.Resolver != "" && !d.config.mayResolve(ref.Resolver):
		return d.badSpec("pipeline task %q: pipelineRef.resolver: %s is not allowed here: apply the Pipeline to the cluster, and refer to it by name", t.Name, ref.Resolver)
	case t.Retries > 0:
		return d.badSpec("pipeline task %q is a pipeline, and a pipeline is not tried again: give retries to its tasks", t.Name)
	}
	own := d.specOf(t.Name)
	if len(own.StepSpecs)+len(own.SidecarSpecs) > 0 || own.ComputeResources != nil {
		return refused(crds.PipelineRunReasonInvalidTaskRunSpec, "taskRunSpecs of pipeline task %q: it is a pipeline, and has no steps, sidecars or computeResources of its own", t.Name)
	}
	return nil
}

// checkNesting finds pipelines that would be run within themselves, for ever.
func (d *decision) checkNesting(spec *crds.PipelineSpec) *refusal {
	around := d.Around
	if own, err := pipelineOf(d.Run); err == nil {
		around = append([]types.NamespacedName{own}, around...)
		if r := d.within(own, d.Around); r != nil {
			return r
		}
	}
	if len(d.Around) > maxNesting {
		return refused(crds.PipelineRunReasonInvalidGraph, "PipelineRun %s is within %d others, one within the other, and no more are allowed: does a pipeline run itself?", d.key(), len(d.Around))
	}
	for _, t := range slices.Concat(spec.Tasks, spec.Finally) {
		if key, err := pipelineBy(t.PipelineRef, d.Run.Namespace); err == nil && !hasVariables(key.Name) && !hasVariables(key.Namespace) {
			if r := d.within(key, around); r != nil {
				return r
			}
		}
	}
	return nil
}

// within refuses a pipeline that one of those around it is, too.
func (d *decision) within(key types.NamespacedName, around []types.NamespacedName) *refusal {
	at := slices.Index(around, key)
	if key.Name == "" || at < 0 {
		return nil
	}
	way := []string{key.Name}
	for _, one := range around[:at+1] {
		if one.Name != "" {
			way = append([]string{one.Name}, way...)
		}
	}
	return refused(crds.PipelineRunReasonInvalidGraph, "PipelineRun %s can't be Run: cycle detected; a pipeline is within itself: %s", d.key(), strings.Join(way, " runs "))
}

// around are the pipelines of the runs around a run, the next one first; of one that is
// embedded, or that a resolver has found, the name is empty.
func (r *Reconciler) around(ctx context.Context, run *crds.PipelineRun) (pipelines []types.NamespacedName, err error) {
	for len(pipelines) <= maxNesting {
		controller := metav1.GetControllerOf(run)
		if controller == nil || controller.Kind != crds.KindPipelineRun {
			return pipelines, nil
		}
		key := types.NamespacedName{Namespace: run.Namespace, Name: controller.Name}
		parent, _, err := call.Find(ctx, key, r.parts.Caches.PipelineRun, r.parts.Client.GetPipelineRun)
		switch {
		case err != nil:
			return nil, fmt.Errorf("get the PipelineRun around: %w", err)
		case parent == nil || parent.UID != controller.UID:
			return pipelines, nil // it has gone, and its children go with it
		}
		pipeline, _ := pipelineOf(parent) // else it is one that nobody finds by its name
		pipelines = append(pipelines, pipeline)
		run = parent
	}
	return pipelines, nil
}
