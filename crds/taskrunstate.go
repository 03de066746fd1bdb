package crds

import corev1 "k8s.io/api/core/v1"

// Succeeded returns the run's condition Succeeded; a run that has none yet is
// Unknown, without a reason.
func (tr *TaskRun) Succeeded() Condition {
	return tr.Status.Conditions.succeeded()
}

// IsDone tells whether the run has ended, well or not: nothing more will happen to it.
func (tr *TaskRun) IsDone() bool {
	return tr.IsSuccessful() || tr.IsFailed()
}

// IsSuccessful tells whether the run has ended well.
func (tr *TaskRun) IsSuccessful() bool {
	return tr.Succeeded().Status == corev1.ConditionTrue
}

// IsFailed tells whether the run has ended in failure, cancellation or time-out.
func (tr *TaskRun) IsFailed() bool {
	return tr.Succeeded().Status == corev1.ConditionFalse
}

// IsCancelled tells whether a user has asked to stop the run; it may not have ended yet.
func (tr *TaskRun) IsCancelled() bool {
	return tr.Spec.Status == TaskRunSpecStatusCancelled
}

// IsPending tells whether a user has asked to keep the run from starting.
func (tr *TaskRun) IsPending() bool {
	return tr.Spec.Status == TaskRunSpecStatusPending
}

// HasStarted tells whether the current attempt has begun.
func (tr *TaskRun) HasStarted() bool {
	return !tr.Status.StartTime.IsZero()
}

// IsRetriable tells whether the run has attempts left after the current one.
func (tr *TaskRun) IsRetriable() bool {
	return len(tr.Status.RetriesStatus) < tr.Spec.Retries
}
