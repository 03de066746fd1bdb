package pipelinerun

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"millrace/crds"
	"millrace/reconcile"
	"millrace/reconcile/frozen"
)

// limits are how long a run and its parts may take; 0 is for ever.
type limits struct {
	pipeline, tasks, finally time.Duration
}

// limitsOf are those that a run has. Of tasks and finally each is what the other
// leaves of the pipeline's, if it is not given.
func limitsOf(pr *crds.PipelineRun, c Config) limits {
	l := limits{pipeline: frozen.Timeout(pr.Status.Annotations, pr.Status.PipelineSpec != nil, c.defaultTimeout())}
	given := pr.Spec.Timeouts
	if given == nil {
		return l
	}
	if given.Pipeline != nil {
		l.pipeline = given.Pipeline.Duration
	}
	l.tasks = rest(given.Tasks, given.Finally, l.pipeline)
	l.finally = rest(given.Finally, given.Tasks, l.pipeline)
	return l
}

func rest(own, other *metav1.Duration, whole time.Duration) time.Duration {
	switch {
	case own != nil:
		return own.Duration
	case other != nil && other.Duration > 0 && whole > 0:
		return whole - other.Duration
	default:
		return 0
	}
}

// since is when a limit that began then ends; the zero time for never.
func since(begin *metav1.Time, limit time.Duration) time.Time {
	if begin.IsZero() || limit <= 0 {
		return time.Time{}
	}
	return begin.Add(limit)
}

func (d *decision) reached(deadline time.Time) bool {
	return !deadline.IsZero() && !d.now.Before(deadline)
}

// deadlines are when each part of the run must have ended; zero for never.
func (d *decision) deadlines(status crds.PipelineRunStatus) (pipeline, tasks, finally time.Time) {
	l := limitsOf(d.Run, d.config)
	return since(status.StartTime, l.pipeline), since(status.StartTime, l.tasks), since(status.FinallyStartTime, l.finally)
}

// wake is how long until the next deadline that a plan must see; 0 for never.
func (d *decision) wake(status crds.PipelineRunStatus) time.Duration {
	pipeline, tasks, finally := d.deadlines(status)
	if d.graphDone() {
		tasks = time.Time{}
	}
	var wait time.Duration
	for _, deadline := range []time.Time{pipeline, tasks, finally} {
		if !deadline.IsZero() && d.now.Before(deadline) {
			wait = reconcile.Soonest(wait, max(time.Millisecond, deadline.Sub(d.now)))
		}
	}
	return wait
}

// runTimeout is what the run of a task gets: its own, by taskRunSpecs or by the
// pipeline; else, where the run as a whole may take longer than TaskRuns take by
// default, as long as its part of the run may. nil leaves it to that default.
func (d *decision) runTimeout(t *task, spec crds.PipelineTaskRunSpec) *metav1.Duration {
	switch {
	case spec.Timeout != nil:
		return spec.Timeout
	case t.Timeout != nil:
		return t.Timeout
	}
	l := limitsOf(d.Run, d.config)
	part := l.tasks
	if t.Final {
		part = l.finally
	}
	if part == 0 {
		part = l.pipeline
	}
	if byDefault := d.config.defaultTimeout(); byDefault == 0 || part != 0 && part <= byDefault {
		return nil
	}
	return &metav1.Duration{Duration: part}
}
