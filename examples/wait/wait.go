package main

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"millrace/crds"
	"millrace/indexer"
	"millrace/reconcile"
)

// The kind of custom task that this controller knows. Others are others' to run.
const (
	apiVersion = "example.dev/v1"
	kind       = "Wait"
)

// waiter reconciles CustomRuns: it reads the cache and writes to the server.
type waiter struct {
	runs   *indexer.Indexer
	gate   *reconcile.Gate
	client rest.Interface
}

// reconcile brings one run forward by as much as can be done now.
func (w *waiter) reconcile(ctx context.Context, key types.NamespacedName) (reconcile.Result, error) {
	run, ok, err := indexer.Read[crds.CustomRun](w.runs).Get(key)
	if !ok || err != nil {
		return reconcile.Result{}, err
	}
	status, after := next(&run, time.Now())
	if status == nil {
		return reconcile.Result{RequeueAfter: after}, nil
	}
	err = w.write(ctx, key, run.ResourceVersion, status)
	if apierrors.IsConflict(err) || apierrors.IsNotFound(err) {
		return reconcile.Result{Requeue: apierrors.IsConflict(err)}, nil // the news of it is on its way
	}
	return reconcile.Result{RequeueAfter: after}, err
}

// write stores the status, if the run is still what was read. The next reconcile of
// the key begins when the cache has seen it.
func (w *waiter) write(ctx context.Context, key types.NamespacedName, resourceVersion string, status *crds.CustomRunStatus) error {
	patch, err := json.Marshal(map[string]any{"metadata": map[string]string{"resourceVersion": resourceVersion}, "status": status})
	if err != nil {
		return fmt.Errorf("encode the status: %w", err)
	}
	raw, err := w.client.Patch(types.MergePatchType).Namespace(key.Namespace).Resource(crds.ResourceCustomRuns).Name(key.Name).
		SubResource("status").Body(patch).Do(ctx).Raw()
	if err != nil {
		return fmt.Errorf("patch status of CustomRun: %w", err)
	}
	var written metav1.PartialObjectMetadata
	if err := json.Unmarshal(raw, &written); err != nil {
		return fmt.Errorf("decode the answer: %w", err)
	}
	w.gate.Wrote(key, w.runs, written.ResourceVersion)
	return nil
}

// next decides: which status the run should have, nil for the one that it has, and
// when to look again. It is a function of its arguments.
func next(run *crds.CustomRun, now time.Time) (status *crds.CustomRunStatus, after time.Duration) {
	ref := run.Spec.CustomRef
	if ref == nil || ref.APIVersion != apiVersion || ref.Kind != kind || run.IsDone() || run.DeletionTimestamp != nil {
		return nil, 0
	}
	began := run.Status.StartTime
	if began == nil {
		at := metav1.NewTime(now.Truncate(time.Second))
		began = &at
	}
	duration, err := durationOf(run.Spec.Params)
	over := began.Add(duration)
	switch {
	case run.IsCancelled():
		return told(run, began, corev1.ConditionFalse, "CustomRunCancelled", string(run.Spec.StatusMessage), now), 0
	case err != nil:
		return told(run, began, corev1.ConditionFalse, "BadDuration", err.Error(), now), 0
	case !now.Before(over):
		status = told(run, began, corev1.ConditionTrue, "Waited", "waited for "+duration.String(), now)
		status.Results = []crds.CustomRunResult{{Name: "until", Value: over.UTC().Format(time.RFC3339)}}
		return status, 0
	case run.Status.StartTime == nil:
		return told(run, began, corev1.ConditionUnknown, "Waiting", "waits for "+duration.String(), now), over.Sub(now)
	default:
		return nil, over.Sub(now)
	}
}

func durationOf(params crds.Params) (time.Duration, error) {
	for _, param := range params {
		if param.Name == "duration" {
			return time.ParseDuration(param.Value.StringVal)
		}
	}
	return 0, fmt.Errorf("the parameter %q is missing: how long to wait, such as 90s", "duration")
}

func told(run *crds.CustomRun, began *metav1.Time, state corev1.ConditionStatus, reason, message string, now time.Time) *crds.CustomRunStatus {
	status := run.Status
	status.StartTime = began
	status.ObservedGeneration = run.Generation
	status.Conditions.Set(crds.Condition{Type: crds.ConditionSucceeded, Status: state, Reason: reason, Message: message}, now)
	if state != corev1.ConditionUnknown {
		at := metav1.NewTime(now.Truncate(time.Second))
		status.CompletionTime = &at
	}
	return &status
}
