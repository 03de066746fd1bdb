package pipelinerun

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"millrace/crds"
	"millrace/reconcile"
	"millrace/reconcile/call"
)

// act does what was planned, in that order, and stops at the first thing that
// fails. again asks for another plan, since the observation has changed.
func (r *Reconciler) act(ctx context.Context, key types.NamespacedName, o *observation, p Plan) (again bool, result reconcile.Result, err error) {
	for _, action := range p.Actions {
		again, err := r.do(ctx, key, o, action)
		if err != nil {
			result, err = call.Stopped(r.parts.Gate, &r.absent, key, o.Run.UID, verb(action), err)
			return false, result, err
		}
		if again {
			return true, result, nil
		}
	}
	if p.Confirm {
		return r.confirm(ctx, key, o)
	}
	if p.asks() {
		return true, result, r.find(ctx, key, o, p)
	}
	return false, reconcile.Result{RequeueAfter: p.Requeue}, nil
}

func verb(action Action) string {
	switch a := action.(type) {
	case PatchMetadata:
		return "patch metadata of PipelineRun"
	case PatchStatus:
		return "patch status of PipelineRun"
	case CancelChild:
		return "cancel " + a.Kind
	default:
		return action.String()
	}
}

func (r *Reconciler) do(ctx context.Context, key types.NamespacedName, o *observation, action Action) (again bool, err error) {
	caches := r.parts.Caches
	switch a := action.(type) {
	case PatchMetadata:
		return call.Judged(&o.Unstorable, r.patchMetadata(ctx, key, o, a))
	case PatchStatus:
		return call.Judged(&o.Unstorable, r.patchStatus(ctx, key, o, a))
	case CreateClaim:
		return o.created(a.Claim.Name, r.parts.Client.CreateClaim(ctx, a.Claim))
	case CreateRequest:
		err := r.parts.Client.CreateRequest(ctx, a.Request)
		if apierrors.IsAlreadyExists(err) { // and it was not found to be ours: its name says nothing of the UID
			err = notGone(a.Request.Kind, a.Request.Name)
		}
		return o.created(a.Request.Name, err)
	case CreateTaskRun:
		version, err := r.parts.Client.CreateTaskRun(ctx, a.Run)
		return r.made(ctx, key, o, ofTaskRun(a.Run), caches.TaskRuns, version, err)
	case CreateCustomRun:
		version, err := r.parts.Client.CreateCustomRun(ctx, a.Run)
		return r.made(ctx, key, o, ofCustomRun(a.Run), caches.CustomRuns, version, err)
	case CreatePipelineRun:
		version, err := r.parts.Client.CreatePipelineRun(ctx, a.Run)
		return r.made(ctx, key, o, ofPipelineRun(a.Run), caches.PipelineRuns, version, err)
	case CancelChild:
		return false, r.cancel(ctx, key, a)
	default:
		panic(fmt.Sprintf("action %T", action))
	}
}

// created takes a refusal to create into the observation, likewise. What is there
// already under a name that has the run's UID in it, the run has made itself.
func (o *observation) created(name string, err error) (again bool, _ error) {
	switch {
	case err == nil, apierrors.IsAlreadyExists(err):
		return false, nil
	case call.IsAnswer(err), call.WebhookAway(err):
		o.Refused[name] = err
		return true, nil
	default:
		return false, err
	}
}

// made takes note of a child that was made, or finds that it has been made before. One
// of that name with another owner is a refusal.
func (r *Reconciler) made(ctx context.Context, key types.NamespacedName, o *observation, c child, in reconcile.Cache, version string, err error) (again bool, _ error) {
	switch {
	case err == nil:
		r.parts.Gate.Wrote(key, in, version)
		o.Children = append(o.Children, &c) // another plan of this reconcile does not make it again
		o.ChildrenSought = false            // nobody asks it to stop, should the run end now, without its UID
		return false, nil
	case apierrors.IsAlreadyExists(err):
		return true, r.adopt(ctx, key, o, c, err)
	case call.IsAnswer(err) && !call.MayBeLifted(err):
		if there, trouble := r.madeBefore(ctx, key, o, c); there || trouble != nil {
			return there, trouble
		}
	}
	return o.created(c.Name, err)
}

// madeBefore looks for a child before its refusal ends the run: who judges a creation,
// a webhook say, does so before the server knows whether the name is taken.
func (r *Reconciler) madeBefore(ctx context.Context, key types.NamespacedName, o *observation, c child) (bool, error) {
	there, err := r.getChild(ctx, beside(key, c.Name), c.Kind)
	switch {
	case apierrors.IsNotFound(err):
		return false, nil
	case err != nil:
		return false, fmt.Errorf("get %s: %w", c.Kind, err)
	case !metav1.IsControlledBy(there.object, o.Run) || !there.mayBeOf(c.PipelineTask):
		return false, nil
	}
	r.found(key, o, there)
	return true, nil
}

// adopt looks at a child that is there already: by the owner's UID it is the one that
// was to be made, or it is not. One that is about to go leaves its name to us, and so
// does the child of a deleted PipelineRun of our name, once the garbage collector comes
// to it: that is waited for.
func (r *Reconciler) adopt(ctx context.Context, key types.NamespacedName, o *observation, c child, exists error) error {
	there, err := r.getChild(ctx, beside(key, c.Name), c.Kind)
	switch {
	case apierrors.IsNotFound(err):
		return nil // it has gone meanwhile: the next plan makes it
	case err != nil:
		return fmt.Errorf("get %s: %w", c.Kind, err)
	}
	switch controller := metav1.GetControllerOf(there.object); {
	case controller != nil && controller.UID == o.Run.UID && !there.mayBeOf(c.PipelineTask):
		o.Refused[c.Name] = fmt.Errorf("that is the name of a run of pipeline task %q, too; call one of the two tasks something else: %w", there.PipelineTask, exists)
	case controller != nil && controller.UID == o.Run.UID:
		r.found(key, o, there)
	case there.object.GetDeletionTimestamp() != nil,
		controller != nil && controller.Kind == crds.KindPipelineRun && controller.Name == o.Run.Name:
		o.Refused[c.Name] = notGone(c.Kind, c.Name)
	default:
		o.Refused[c.Name] = exists
	}
	return nil
}

// notGone is for a name that will be free, and is not yet.
func notGone(kind, name string) error {
	return apierrors.NewConflict(schema.GroupResource{Group: crds.Group, Resource: kind}, name,
		errors.New("one that does not belong to this run has not gone yet"))
}

func (r *Reconciler) patchMetadata(ctx context.Context, key types.NamespacedName, o *observation, change PatchMetadata) error {
	patch, err := call.MetadataPatch(change.Labels, change.Annotations, o.Run.ResourceVersion)
	if err != nil {
		return err
	}
	version, err := r.parts.Client.PatchPipelineRun(ctx, key, patch)
	if err != nil {
		return err
	}
	r.parts.Gate.Wrote(key, r.parts.Caches.PipelineRuns, version)
	o.Run.ResourceVersion, o.Confirmed = version, true
	o.Run.Labels = call.Merged(o.Run.Labels, change.Labels)
	o.Run.Annotations = call.Merged(o.Run.Annotations, change.Annotations)
	return nil
}

func (r *Reconciler) patchStatus(ctx context.Context, key types.NamespacedName, o *observation, to PatchStatus) error {
	version, err := r.writeStatus(ctx, key, o.Run, to.Status)
	if err != nil {
		return err
	}
	r.parts.Gate.Wrote(key, r.parts.Caches.PipelineRuns, version)
	before := *o.Run
	o.Run.ResourceVersion, o.Confirmed = version, true
	o.Run.Status = to.Status
	r.announce(&before, o.Run)
	return nil
}

// writeStatus sends references to new children without those that the server has, where
// it can: else a chain of two hundred tasks would send its list two hundred times. One
// refusal has two meanings then, of which the other patch tells which.
func (r *Reconciler) writeStatus(ctx context.Context, key types.NamespacedName, run *crds.PipelineRun, to crds.PipelineRunStatus) (version string, err error) {
	appends, err := call.StatusAppend(run.Status, to, run.ResourceVersion)
	if err != nil {
		return "", err
	}
	if appends != nil {
		version, err = r.parts.Client.PatchPipelineRunStatus(ctx, key, types.JSONPatchType, appends)
		if !apierrors.IsInvalid(err) {
			return version, err
		}
	}
	patch, err := call.StatusPatch(run.Status, to, run.ResourceVersion)
	if err != nil {
		return "", err
	}
	return r.parts.Client.PatchPipelineRunStatus(ctx, key, types.MergePatchType, patch)
}

// cancel asks a child to stop. That it is gone, or another by now, is no error: then
// there is nothing to stop, and the cache will say so. That it has changed is a
// conflict, after which it is looked at again.
func (r *Reconciler) cancel(ctx context.Context, key types.NamespacedName, a CancelChild) error {
	patch := r.parts.Client.CancelTaskRun
	switch a.Kind {
	case crds.KindCustomRun:
		patch = r.parts.Client.CancelCustomRun
	case crds.KindPipelineRun:
		patch = func(ctx context.Context, key types.NamespacedName, uid types.UID, version, message string) (string, error) {
			return r.parts.Client.EndPipelineRun(ctx, key, uid, version, a.As, message)
		}
	}
	version, err := patch(ctx, beside(key, a.Name), a.UID, a.Version, a.Message)
	switch {
	case err == nil:
		r.parts.Gate.Wrote(key, r.cacheOf(a.Kind), version)
		return nil
	case apierrors.IsConflict(err):
		return err
	default:
		return call.UnlessGone(err)
	}
}

// announce tells people and metrics of a condition that has changed.
func (r *Reconciler) announce(before, after *crds.PipelineRun) {
	old, had := before.Status.Conditions.Get(crds.ConditionSucceeded)
	now := after.Succeeded()
	if r.parts.Recorder != nil && (!had || old != now) {
		eventType, reason, message := call.Event(had, now)
		r.parts.Recorder.Event(about(after), eventType, reason, message)
	}
	key := types.NamespacedName{Namespace: after.Namespace, Name: after.Name}
	if !before.HasStarted() && after.HasStarted() && r.parts.Trace.Started != nil {
		r.parts.Trace.Started(key)
	}
	if !before.IsDone() && after.IsDone() && r.parts.Trace.Done != nil {
		r.parts.Trace.Done(Done{
			Key:      key,
			Pipeline: refName(after),
			Status:   now.Status,
			Reason:   now.Reason,
			Duration: after.Status.CompletionTime.Sub(after.Status.StartTime.Time),
		})
	}
}

// about is what an event names as what it is about.
func about(run *crds.PipelineRun) *corev1.ObjectReference {
	return &corev1.ObjectReference{
		APIVersion: crds.APIVersion, Kind: crds.KindPipelineRun, Namespace: run.Namespace, Name: run.Name,
		UID: run.UID, ResourceVersion: run.ResourceVersion,
	}
}

func refName(run *crds.PipelineRun) string {
	if run.Spec.PipelineRef == nil {
		return ""
	}
	return run.Spec.PipelineRef.Name
}
