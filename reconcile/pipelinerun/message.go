package pipelinerun

import (
	"fmt"
	"slices"
	"strings"

	"millrace/crds"
)

// What is said of a run is said in Tekton's words where Tekton says it: people search
// for these, and tools compare them.

func wasCancelled(pr *crds.PipelineRun) string {
	return fmt.Sprintf("PipelineRun %q was cancelled", pr.Name)
}

func timedOut(pr *crds.PipelineRun, c Config) string {
	return fmt.Sprintf("PipelineRun %q failed to finish within %q", pr.Name, limitsOf(pr, c).pipeline)
}

// What children are told when they are stopped.
const (
	cancelledByUser    = "TaskRun cancelled as the PipelineRun it belongs to has been cancelled."
	cancelledByTimeout = "TaskRun cancelled " + timedOutSuffix
)

// forKind is the same for the runs of custom tasks.
func forKind(kind, message string) string {
	return kind + strings.TrimPrefix(message, crds.KindTaskRun)
}

// counts are of tasks, not of runs.
type counts struct {
	succeeded, failed, ignored, cancelled, skipped, overdue, ineligible, incomplete int
}

func (d *decision) count() counts {
	var n counts
	for _, t := range d.tasks {
		switch t.state {
		case succeeded:
			n.succeeded++
		case failed, outOfTime:
			n.failed++
		case ignored:
			n.ignored++
		case cancelled:
			n.cancelled++
		case ineligible:
			n.ineligible++
		case skipped:
			n.skipped++
			if overdue(t.reason) {
				n.overdue++
			}
		default:
			n.incomplete++
		}
	}
	return n
}

// overdue tells reasons that make a failure of what would be a success.
func overdue(reason crds.SkippingReason) bool {
	return reason == crds.SkippingReasonPipelineTimedOut || reason == crds.SkippingReasonTasksTimedOut || reason == crds.SkippingReasonFinallyTimedOut
}

func (n counts) completed() int { return n.succeeded + n.failed + n.ignored + n.cancelled }

// good tells that the run is a success, as far as its tasks are concerned.
func (n counts) good(d *decision) bool {
	return n.failed+n.overdue+n.cancelled+n.ineligible == 0 && !d.askedToEnd()
}

func (d *decision) askedToEnd() bool {
	return d.Run.IsGracefullyCancelled() || d.Run.IsGracefullyStopped()
}

// underWay is the condition of a run that goes on.
func (d *decision) underWay(n counts) crds.Condition {
	reason := crds.PipelineRunReasonRunning
	switch {
	case d.tasksTimedOut():
		reason = crds.PipelineRunReasonTimeoutRunningFinally
	case d.Run.IsGracefullyCancelled():
		reason = crds.PipelineRunReasonCancelledRunningFinally
	case d.Run.IsGracefullyStopped():
		reason = crds.PipelineRunReasonStoppedRunningFinally
	case n.cancelled > 0 || n.failed+n.ineligible > 0 && d.finallyDone():
		reason = crds.PipelineRunReasonStopping
	}
	message := fmt.Sprintf("Tasks Completed: %d (Failed: %d, Cancelled %d), Incomplete: %d, Skipped: %d",
		n.completed(), n.failed, n.cancelled, n.incomplete, n.skipped)
	if d.waitsFor != "" {
		message += "; " + d.waitsFor
	}
	return ongoing(reason, message)
}

// finallyDone tells that nothing is to come after the tasks: a pipeline with tasks in
// finally goes on running when a task has failed.
func (d *decision) finallyDone() bool {
	for _, t := range d.tasks[len(d.order):] {
		if !t.state.done() {
			return false
		}
	}
	return true
}

// outcome is the condition of a run whose tasks are all done.
func (d *decision) outcome(n counts) crds.Condition {
	failures := fmt.Sprintf("Failed: %d", n.failed+n.ignored)
	if n.ignored > 0 {
		failures += fmt.Sprintf(" (Ignored: %d)", n.ignored)
	}
	message := fmt.Sprintf("Tasks Completed: %d (%s, Cancelled %d), Skipped: %d", n.completed(), failures, n.cancelled, n.skipped)
	if n.ineligible > 0 {
		message += fmt.Sprintf(", Failed Validation: %d", n.ineligible)
	}
	switch {
	case n.ineligible > 0:
		return failure(crds.PipelineRunReasonFailedValidation, message+d.faults())
	case d.tasksTimedOut():
		return failure(crds.PipelineRunReasonTimedOut, fmt.Sprintf("PipelineRun %q failed due to tasks failed to finish within %q", d.Run.Name, limitsOf(d.Run, d.config).tasks))
	case n.failed > 0 || n.overdue > 0:
		return failure(crds.PipelineRunReasonFailed, message+d.deleted())
	case d.askedToEnd():
		return failure(crds.PipelineRunReasonCancelled, wasCancelled(d.Run))
	case n.cancelled > 0:
		return failure(crds.PipelineRunReasonCancelled, message)
	case n.skipped > 0:
		return success(crds.PipelineRunReasonCompleted, message)
	default:
		return success(crds.PipelineRunReasonSuccessful, message)
	}
}

// faults are what is wrong with tasks that could never run. Tekton counts them only.
func (d *decision) faults() string {
	var out strings.Builder
	for _, t := range d.tasks {
		if t.state == ineligible && out.Len() < 500 {
			out.WriteString("; " + t.fault)
		}
	}
	return out.String()
}

// deleted tells of runs that somebody has deleted.
func (d *decision) deleted() string {
	var out strings.Builder
	for _, t := range d.tasks {
		for _, r := range t.runs {
			if r.child == nil && t.state.fell() && out.Len() < 500 {
				fmt.Fprintf(&out, "; %s %q was deleted before the PipelineRun had ended", r.Kind, r.Name)
			}
		}
	}
	return out.String()
}

// tasksTimedOut tells that the graph has not ended in its time. What has ended in
// time stays so, however long finally takes.
func (d *decision) tasksTimedOut() bool {
	return d.tasksLate && slices.ContainsFunc(d.order, func(t *task) bool {
		return t.state == outOfTime || !t.state.done() || t.state == skipped && t.reason == crds.SkippingReasonTasksTimedOut
	})
}

// why is the reason of a plan, in words.
func (d *decision) why() string {
	n := d.count()
	return fmt.Sprintf("%d tasks of %d are done, %d were skipped", n.completed()+n.ineligible, len(d.tasks), n.skipped)
}
