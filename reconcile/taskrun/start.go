package taskrun

import (
	"errors"
	"fmt"
	"maps"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"millrace/crds"
	"millrace/crds/validation"
	"millrace/reconcile"
	"millrace/reconcile/call"
	"millrace/reconcile/frozen"
)

// withoutPod starts the attempt, or starts it again if its pod vanished before a
// step had begun. Half-done steps are not repeated without being asked.
func (d decision) withoutPod() Plan {
	if d.hasBegun(d.Run) {
		return d.finish(d.Run.Status, failure(crds.TaskRunReasonPodDeleted, fmt.Sprintf("pod %q was deleted before its steps had ended", podName(d.Run))), nil)
	}
	if spec := d.Run.Status.TaskSpec; spec != nil {
		// It was checked when it was written down; since then others may have written.
		// What an administrator has allowed then is allowed until it ends.
		if refused := checkTask(d.Run, spec, validation.Options{ParamEnum: true, CEL: true}); refused != nil {
			return d.refuse(refused)
		}
		return d.create("the run has no pod", nil, d.again())
	}
	d, wait := d.awaitResolver()
	if wait != nil {
		return *wait
	}
	_, refused := source(d.Run, d.config)
	if refused == nil && d.NoTask != nil {
		refused = unresolved("error when listing tasks for taskRun %s: %v", d.Run.Name, d.NoTask)
	}
	if refused != nil {
		return d.refuse(refused)
	}
	if refused := d.missingAction(); refused != nil {
		return d.refuse(refused)
	}
	spec, refused := resolve(d.Run, d.Task, d.Actions, d.config)
	if refused != nil {
		return d.refuse(refused)
	}
	return d.start(spec)
}

func (d decision) missingAction() *refusal {
	for i, step := range taskSpec(d.Run, d.Task).Steps {
		if step.Ref == nil {
			continue
		}
		if none := d.Actions[step.Ref.Name].None; none != nil {
			return unresolved("failed to resolve step ref for step %q (index %d): %v", stepName(step, i), i, none)
		}
	}
	return nil
}

// start writes down what is going to be run before it makes anything run. From
// then on a crash at any point finds the same spec, the same start and the same
// pod name; a Task that was edited meanwhile cannot get in between.
func (d decision) start(spec *crds.TaskSpec) Plan {
	first := []Action{}
	run := *d.Run
	if metadata := d.fromTask(); metadata != nil {
		first = append(first, *metadata)
		run.Labels = call.Merged(run.Labels, metadata.Labels)
		run.Annotations = call.Merged(run.Annotations, metadata.Annotations)
		d.Run = &run
	}
	status := d.freeze(d.Run.Status, spec)
	status.Provenance = d.provenance()
	return d.create("the run has not begun", first, d.begin(status))
}

// freeze writes down what the run is from then on, and what it takes from the settings
// of now to its end.
func (d decision) freeze(status crds.TaskRunStatus, spec *crds.TaskSpec) crds.TaskRunStatus {
	status.TaskSpec = spec
	if d.Run.Spec.Timeout == nil {
		status.Annotations = frozen.Keep(status.Annotations, d.config.defaultTimeout())
	}
	return status
}

func (d decision) begin(status crds.TaskRunStatus) crds.TaskRunStatus {
	status.StartTime = d.startTime()
	status.PodName = podName(d.Run)
	return d.set(status, ongoing(crds.TaskRunReasonStarted, ""))
}

// again is the status of a run whose attempt has no pod. An attempt after a failed
// one begins now; one that waits for quota does when it has its pod.
func (d decision) again() crds.TaskRunStatus {
	if d.Run.HasStarted() || d.Run.Succeeded().Reason != string(crds.TaskRunReasonToBeRetried) {
		return d.Run.Status
	}
	return d.begin(d.Run.Status)
}

func (d decision) startTime() *metav1.Time {
	return reconcile.StartTime(d.now, d.Run.CreationTimestamp)
}

// fromTask are the labels and annotations that a run takes over from its Task,
// where it has none of the name; tkn finds the runs of a task by them.
func (d decision) fromTask() *PatchMetadata {
	if d.Task == nil {
		return nil
	}
	labels := call.Missing(d.Task.Labels, d.Run.Labels)
	if d.Run.Labels[labelTask] != d.Task.Name {
		labels[labelTask] = d.Task.Name
	}
	annotations := call.Missing(d.Task.Annotations, d.Run.Annotations)
	maps.DeleteFunc(annotations, func(key, _ string) bool { return staysWith(key) })
	if len(labels) == 0 && len(annotations) == 0 {
		return nil
	}
	return &PatchMetadata{Labels: labels, Annotations: annotations}
}

// create plans the pod of the attempt, after the first actions and after status
// if that is not what the run has.
func (d decision) create(why string, first []Action, status crds.TaskRunStatus) Plan {
	if d.Refused != nil {
		return d.refusedPod(status)
	}
	if d.LostClaim != "" {
		return d.refuse(d.claimLost())
	}
	if wait := d.NotBefore.Sub(d.now); wait > 0 {
		return Plan{Why: "the pod was refused a moment ago", Requeue: reconcile.Soonest(d.untilTimeout(status), wait)}
	}
	if d.NoSecret != nil {
		return d.lacking(why, first, status, d.NoSecret)
	}
	b := blueprint{run: d.Run, spec: status.TaskSpec, images: d.Images, credentials: d.Credentials, limitRanges: d.LimitRanges, mode: d.Mode, config: d.config}
	sketch, refused := b.sketch()
	if refused != nil {
		return d.refuse(refused)
	}
	if images := b.lookups(sketch.steps); len(images) > 0 {
		// The start is told first: a registry may take seconds to say nothing.
		p := d.write(why, status)
		p.Actions, p.Lookups = append(first, p.Actions...), images
		return p
	}
	if err := b.resolveCommands(sketch.steps); err != nil {
		return d.lacking(why, first, status, err)
	}
	pod, refused := b.pod(sketch)
	if refused != nil {
		return d.refuse(refused)
	}
	p := d.write(why, status)
	p.Actions = append(first, p.Actions...)
	p.Actions = append(p.Actions, d.provide(sketch.workspaces.claims(d.Run))...)
	p.Actions = append(p.Actions, CreatePod{Pod: pod})
	p.Requeue = reconcile.Soonest(d.untilTimeout(status), unseen)
	return p
}

// unseen is how long to wait for the first news of a pod that was made. They come
// within milliseconds; but of a pod that was made and deleted while the watch was
// down, the list after it shows nothing, and nobody would ever ask again.
const unseen = 10 * time.Second

// lacking is for a pod that cannot be made yet, since something about it is not
// known: what a step runs, or what a secret is for.
func (d decision) lacking(why string, first []Action, status crds.TaskRunStatus, err error) Plan {
	if refused := new(refusal); errors.As(err, &refused) {
		return d.refuse(refused)
	}
	p := d.write(why, d.set(status, ongoing(crds.TaskRunReasonPending, err.Error())))
	p.Actions = append(first, p.Actions...)
	p.Requeue = d.soon()
	return p
}
