package crds

import corev1 "k8s.io/api/core/v1"

// Succeeded returns the run's condition Succeeded; a run that has none yet is
// Unknown, without a reason.
func (pr *PipelineRun) Succeeded() Condition {
	return pr.Status.Conditions.succeeded()
}

// IsDone tells whether the run has ended, well or not: nothing more will happen to it.
func (pr *PipelineRun) IsDone() bool {
	return pr.Succeeded().Status != corev1.ConditionUnknown
}

// IsSuccessful tells whether the run has ended well.
func (pr *PipelineRun) IsSuccessful() bool {
	return pr.Succeeded().Status == corev1.ConditionTrue
}

// IsFailed tells whether the run has ended in failure, cancellation or time-out.
func (pr *PipelineRun) IsFailed() bool {
	return pr.Succeeded().Status == corev1.ConditionFalse
}

// IsCancelled tells whether a user has asked to stop the whole run, those of
// finally too; it may not have ended yet.
func (pr *PipelineRun) IsCancelled() bool {
	return pr.Spec.Status == PipelineRunSpecStatusCancelled
}

// IsGracefullyCancelled tells whether a user has asked to stop the tasks and to
// run those of finally.
func (pr *PipelineRun) IsGracefullyCancelled() bool {
	return pr.Spec.Status == PipelineRunSpecStatusCancelledRunFinally
}

// IsGracefullyStopped tells whether a user has asked to start no more tasks, and
// to run those of finally when those that run have ended.
func (pr *PipelineRun) IsGracefullyStopped() bool {
	return pr.Spec.Status == PipelineRunSpecStatusStoppedRunFinally
}

// IsPending tells whether a user has asked to keep the run from starting.
func (pr *PipelineRun) IsPending() bool {
	return pr.Spec.Status == PipelineRunSpecStatusPending
}

// HasStarted tells whether the run has begun.
func (pr *PipelineRun) HasStarted() bool {
	return !pr.Status.StartTime.IsZero()
}
