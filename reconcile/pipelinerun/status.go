package pipelinerun

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"

	"millrace/crds"
	"millrace/reconcile"
)

func ongoing(reason crds.PipelineRunReason, message string) crds.Condition {
	return crds.Condition{Type: crds.ConditionSucceeded, Status: corev1.ConditionUnknown, Reason: string(reason), Message: message}
}

func failure(reason crds.PipelineRunReason, message string) crds.Condition {
	return crds.Condition{Type: crds.ConditionSucceeded, Status: corev1.ConditionFalse, Reason: string(reason), Message: message}
}

func success(reason crds.PipelineRunReason, message string) crds.Condition {
	return crds.Condition{Type: crds.ConditionSucceeded, Status: corev1.ConditionTrue, Reason: string(reason), Message: message}
}

// set returns the status with that condition.
func (d *decision) set(status crds.PipelineRunStatus, condition crds.Condition) crds.PipelineRunStatus {
	status.Conditions = slices.Clone(status.Conditions)
	status.Conditions.Set(condition, d.now)
	return status
}

// write plans to store the status, unless the run has it already.
func (d *decision) write(why string, status crds.PipelineRunStatus) Plan {
	if same(d.Run.Status, status) {
		return Plan{Why: why}
	}
	status.ObservedGeneration = d.Run.Generation
	return Plan{Why: why, Actions: []Action{PatchStatus{status}}}
}

// same leaves the generation out: that it was seen is told with the next news.
func same(a, b crds.PipelineRunStatus) bool {
	a.ObservedGeneration, b.ObservedGeneration = 0, 0
	return equality.Semantic.DeepEqual(a, b)
}

// ended is the status of a run that has ended so.
func (d *decision) ended(status crds.PipelineRunStatus, condition crds.Condition) crds.PipelineRunStatus {
	status = d.set(status, condition)
	if status.StartTime == nil {
		status.StartTime = d.startTime()
	}
	status.CompletionTime = reconcile.CompletionTime(d.now, *status.StartTime)
	return status
}

// references are those of the runs that were made, in the order in which they were,
// and after them those that are being made. These may be put behind those that the run
// has, where there is room in the same array: nobody reads there but by the new status.
func (d *decision) references(status crds.PipelineRunStatus) []crds.ChildStatusReference {
	refs := status.ChildReferences
	for _, t := range d.tasks {
		for _, r := range t.runs {
			if t.recorded && !r.told {
				if len(refs) == cap(refs) {
					refs = slices.Grow(refs, len(d.tasks)) // once, as a rule: most tasks have one run
				}
				refs = append(refs, *r.ChildStatusReference)
			}
		}
	}
	return refs
}

// skippedTasks are in the order of the file, as Tekton's are.
func (d *decision) skippedTasks() []crds.SkippedTask {
	var all []crds.SkippedTask
	for _, t := range d.tasks {
		if t.state == skipped {
			all = append(all, crds.SkippedTask{Name: t.Name, Reason: t.reason, WhenExpressions: t.shown})
		}
	}
	return all
}

// told is the status with what has become of the tasks; the end of the run, if all
// are done.
func (d *decision) told(status crds.PipelineRunStatus) crds.PipelineRunStatus {
	status.ChildReferences = d.references(status)
	status.SkippedTasks = d.skippedTasks()
	n := d.count()
	if n.incomplete > 0 {
		return d.set(status, d.underWay(n))
	}
	results, r := d.results()
	if len(results) > 0 {
		status.Results = results
	}
	if r != nil && n.good(d) {
		return d.ended(status, failure(r.reason, r.message))
	}
	return d.ended(status, d.outcome(n))
}
