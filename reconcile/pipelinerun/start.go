package pipelinerun

import (
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"millrace/crds"
	"millrace/reconcile/call"
	"millrace/reconcile/frozen"
	"millrace/reconcile/resolution"
)

// start writes down what is going to be run before it makes anything run. From then
// on a crash at any point finds the same pipeline, the same start and the same names;
// a Pipeline that was edited meanwhile cannot get in between. The pipeline is written
// down as its author wrote it: values are put in when a task begins, all at once, so
// that none of them is ever looked at again.
func (d *decision) start() Plan {
	if wait := d.awaitResolver(); wait != nil {
		return *wait
	}
	spec, r := d.source()
	if r != nil {
		return d.refuse(r)
	}
	if names := d.unlooked(spec); len(names) > 0 {
		return Plan{Why: "the pipeline refers to Tasks", Tasks: names}
	}
	begun := *d.Run
	var first []Action
	if metadata := d.fromPipeline(); metadata != nil {
		first = append(first, *metadata)
		begun.Labels = call.Merged(begun.Labels, metadata.Labels)
		begun.Annotations = call.Merged(begun.Annotations, metadata.Annotations)
	}
	begun.Status.StartTime = d.startTime()
	begun.Status.PipelineSpec = spec
	if given := d.Run.Spec.Timeouts; given == nil || given.Pipeline == nil {
		begun.Status.Annotations = frozen.Keep(begun.Status.Annotations, d.config.defaultTimeout())
	}
	begun.Status.Provenance = d.provenance()
	begun.Status = d.set(begun.Status, ongoing(crds.PipelineRunReasonStarted, ""))
	begun.Status.ObservedGeneration = d.Run.Generation
	next := decision{observation: d.observation, now: d.now, config: d.config}
	next.Run, next.Confirmed = &begun, true // the status is written first, which only who has the newest can
	for _, check := range []func() *refusal{next.check, func() *refusal { return next.checkNesting(spec) }} {
		if r := check(); r != nil {
			return d.refuse(r)
		}
	}
	p := next.follow()
	p.Why = "the run has not begun"
	p.Actions = slices.Concat(first, []Action{PatchStatus{begun.Status}}, p.Actions)
	return p
}

// pipelineOf is the Pipeline that a run refers to; none if it refers to no object of
// this cluster.
func pipelineOf(pr *crds.PipelineRun) (types.NamespacedName, error) {
	return pipelineBy(pr.Spec.PipelineRef, pr.Namespace)
}

// reachable is pipelineOf, or why a controller that serves one namespace does not look.
func reachable(pr *crds.PipelineRun, c Config) (types.NamespacedName, error) {
	key, err := pipelineOf(pr)
	if err == nil && key.Name != "" {
		err = resolution.Within(c.Namespace, key)
	}
	return key, err
}

func pipelineBy(ref *crds.PipelineRef, namespace string) (types.NamespacedName, error) {
	switch {
	case ref == nil:
		return types.NamespacedName{}, nil
	case ref.Resolver == resolution.ClusterResolver && ref.Name == "":
		return resolution.Cluster(ref.ResolverRef, crds.KindPipeline, namespace)
	case ref.Resolver != "":
		return types.NamespacedName{}, nil
	default:
		return types.NamespacedName{Namespace: namespace, Name: ref.Name}, nil
	}
}

// source is the pipeline as its author wrote it.
func (d *decision) source() (*crds.PipelineSpec, *refusal) {
	pr, ref := d.Run, d.Run.Spec.PipelineRef
	_, wrong := reachable(pr, d.config)
	switch {
	case ref == nil && pr.Spec.PipelineSpec == nil:
		return nil, d.unresolved("PipelineRun %s not providing PipelineRef or PipelineSpec", pr.Name)
	case ref == nil:
		return pr.Spec.PipelineSpec, nil
	case pr.Spec.PipelineSpec != nil:
		return nil, invalid("spec.pipelineRef and spec.pipelineSpec are both given, and a run can have one of them")
	case ref.Resolver != "" && !d.config.mayResolve(ref.Resolver):
		return nil, d.unresolved("spec.pipelineRef.resolver: %s is not allowed here: apply the Pipeline to the cluster, and refer to it by name", ref.Resolver)
	case wrong != nil:
		return nil, d.unresolved("error requesting remote resource: %v", wrong)
	case ref.Resolver == "" && len(ref.Params) > 0:
		return nil, invalid("spec.pipelineRef.params belong to a resolver, and none is named; parameters of the pipeline go into spec.params")
	case ref.Resolver == "" && ref.Name == "":
		return nil, d.unresolved("PipelineRun %s not providing PipelineRef or PipelineSpec: spec.pipelineRef has no name", pr.Name)
	case d.NoPipeline != nil:
		return nil, d.unresolved("error when listing pipelines for pipelineRun %s: %v", pr.Name, d.NoPipeline)
	case d.Pipeline == nil:
		return nil, d.unresolved("the pipeline has not been looked for")
	default:
		return &d.Pipeline.Spec, nil
	}
}

func (d *decision) unresolved(format string, args ...any) *refusal {
	r := refused(crds.PipelineRunReasonCouldntGetPipeline, format, args...)
	r.message = "Error retrieving pipeline for pipelinerun " + d.Run.Namespace + "/" + d.Run.Name + ": " + r.message
	return r
}

// unlooked are the Tasks that the pipeline refers to and that have not been looked
// for. They are looked at once, to check the pipeline; each TaskRun reads its own.
func (d *decision) unlooked(spec *crds.PipelineSpec) []string {
	names := map[string]bool{}
	for _, t := range slices.Concat(spec.Tasks, spec.Finally) {
		name := localTask(&t)
		if _, looked := d.Tasks[name]; name != "" && !looked {
			names[name] = true
		}
	}
	return slices.Sorted(maps.Keys(names))
}

// localTask is the Task of this namespace that a task refers to; empty if none, or if
// its name is known only when values have been put in.
func localTask(t *crds.PipelineTask) string {
	if t.TaskRef == nil || custom(t) || t.TaskRef.Resolver != "" || hasVariables(t.TaskRef.Name) {
		return ""
	}
	return t.TaskRef.Name
}

// fromPipeline are the labels and annotations that a run takes over from its Pipeline,
// where it has none of the name; tkn finds the runs of a pipeline by them.
func (d *decision) fromPipeline() *PatchMetadata {
	labels, annotations := map[string]string{}, map[string]string{}
	if d.Pipeline != nil {
		labels = call.Missing(d.Pipeline.Labels, d.Run.Labels)
		annotations = call.Missing(d.Pipeline.Annotations, d.Run.Annotations)
		maps.DeleteFunc(annotations, func(key, _ string) bool { return staysWith(key) })
	}
	name := d.Run.Name
	if d.Pipeline != nil {
		name = d.Pipeline.Name
	}
	if d.Run.Labels[labelPipeline] != name {
		labels[labelPipeline] = name
	}
	if len(labels) == 0 && len(annotations) == 0 {
		return nil
	}
	return &PatchMetadata{Labels: labels, Annotations: annotations}
}

// provenance is the settings of the program, and where the pipeline was found if it is
// not an object of the run's own namespace.
func (d *decision) provenance() *crds.Provenance {
	ref := d.Run.Spec.PipelineRef
	if ref == nil || ref.Resolver == "" || d.Pipeline == nil {
		return d.config.Provenance
	}
	return resolution.Provenance(d.config.Provenance, d.found, crds.KindPipeline, d.Pipeline, d.Pipeline.Spec)
}
