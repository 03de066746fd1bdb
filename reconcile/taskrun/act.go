package taskrun

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"

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
	if len(p.Lookups) > 0 {
		return true, result, r.lookUp(ctx, o, p.Lookups)
	}
	if p.ReadLog {
		return true, result, r.readLog(ctx, o)
	}
	if p.Inquire {
		return true, result, r.inquire(ctx, key, o)
	}
	if p.FindPod {
		return r.findPod(ctx, key, o)
	}
	return false, reconcile.Result{RequeueAfter: p.Requeue}, nil
}

// findPod asks the server for the pod. Where it has none, and the cache had one, the cache
// is behind, and may be so with the run, too: both are asked for again.
func (r *Reconciler) findPod(ctx context.Context, key types.NamespacedName, o *observation) (again bool, result reconcile.Result, err error) {
	cached := o.Pod != nil
	o.Pod = nil
	if err := r.readPod(ctx, key, o); err != nil {
		return false, result, err
	}
	if cached && o.Pod == nil {
		r.parts.Gate.Doubt(key)
		return false, reconcile.Result{Requeue: true}, nil
	}
	r.witness.look(key, o)
	return true, result, nil
}

// inquire asks the events what is the matter with the pod. That they cannot be read
// is no reason not to go on: then nobody is told more than the pod says itself.
func (r *Reconciler) inquire(ctx context.Context, key types.NamespacedName, o *observation) error {
	trouble, err := r.parts.Client.Warning(ctx, o.Pod.Namespace, o.Pod.UID)
	if err != nil && !call.IsAnswer(err) {
		return fmt.Errorf("read the events of the pod: %w", err)
	}
	o.Told = inquiry{o.Pod.UID, time.Now(), trouble}
	r.inquiries.note(key, o.Told)
	return nil
}

// readLog reads what the collector has printed. Where the server has no such log, and
// never will, or nobody has answered for long, the results are lost.
func (r *Reconciler) readLog(ctx context.Context, o *observation) error {
	log, err := r.parts.Client.ReadLog(ctx, types.NamespacedName{Namespace: o.Pod.Namespace, Name: o.Pod.Name}, collectorName, maxLog)
	passes := err != nil && (!call.IsAnswer(err) || apierrors.IsForbidden(err))
	if passes && time.Since(finishedAt(o.Pod)) < logPatience {
		return fmt.Errorf("read the log of the results: %w", err)
	}
	o.NoLog = err
	o.ResultsLog = append([]byte{}, log...)
	return nil
}

func verb(action Action) string {
	switch action.(type) {
	case PatchMetadata:
		return "patch metadata of TaskRun"
	case PatchStatus:
		return "patch status of TaskRun"
	case CreatePod:
		return "create pod"
	case CreateClaim:
		return "create PersistentVolumeClaim"
	case FindClaim:
		return "look for PersistentVolumeClaim"
	case CreateRequest:
		return "create ResolutionRequest"
	case DeletePod:
		return "delete pod"
	case StopPod:
		return "stop pod"
	default:
		return "fall back"
	}
}

func (r *Reconciler) do(ctx context.Context, key types.NamespacedName, o *observation, action Action) (again bool, err error) {
	switch a := action.(type) {
	case PatchMetadata:
		return call.Judged(&o.Unstorable, r.patchMetadata(ctx, key, o, a))
	case PatchStatus:
		return call.Judged(&o.Unstorable, r.patchStatus(ctx, key, o, a))
	case CreatePod:
		return r.createPod(ctx, key, o, a.Pod)
	case CreateClaim:
		return r.createClaim(ctx, o, a.Claim)
	case FindClaim:
		return r.findClaim(ctx, o, types.NamespacedName{Namespace: key.Namespace, Name: a.Name})
	case CreateRequest:
		return r.createRequest(ctx, o, a.Request)
	case DeletePod:
		version, err := r.deletePod(ctx, key, o, a)
		if apierrors.IsConflict(err) {
			r.parts.Gate.Doubt(key) // a cache may be long in coming to what has changed
		}
		r.parts.Gate.Wrote(key, r.parts.Caches.Pods, version)
		return false, err
	case StopPod:
		version, err := r.parts.Client.StopPod(ctx, types.NamespacedName{Namespace: key.Namespace, Name: a.Name}, a.UID)
		r.parts.Gate.Wrote(key, r.parts.Caches.Pods, version)
		return false, err
	case FallBack:
		r.fallBack(ctx, key, o, a)
		return false, nil
	default:
		panic(fmt.Sprintf("action %T", action))
	}
}

func (r *Reconciler) deletePod(ctx context.Context, key types.NamespacedName, o *observation, a DeletePod) (resourceVersion string, err error) {
	if err := r.confirm(ctx, key, o); err != nil {
		return "", err
	}
	return r.parts.Client.DeletePod(ctx, types.NamespacedName{Namespace: key.Namespace, Name: a.Name}, a.UID, a.Version)
}

// confirm asks the server whether the run is still what was observed, since a
// deleted pod does not come back when the write of the status is refused: a process
// that was started anew, and was shown a run from before it waited for quota, took
// it for one that was out of time.
func (r *Reconciler) confirm(ctx context.Context, key types.NamespacedName, o *observation) error {
	now, err := r.parts.Client.GetTaskRun(ctx, key)
	if err != nil {
		return fmt.Errorf("read the run before its pod is deleted: %w", err)
	}
	if now.ResourceVersion != o.Run.ResourceVersion {
		return apierrors.NewConflict(schema.GroupResource{Group: crds.Group, Resource: crds.ResourceTaskRuns}, key.Name, errors.New("the run has changed since it was observed"))
	}
	return nil
}

func (r *Reconciler) patchMetadata(ctx context.Context, key types.NamespacedName, o *observation, change PatchMetadata) error {
	patch, err := call.MetadataPatch(change.Labels, change.Annotations, o.Run.ResourceVersion)
	if err != nil {
		return err
	}
	version, err := r.parts.Client.PatchTaskRun(ctx, key, patch)
	if err != nil {
		return err
	}
	r.parts.Gate.Wrote(key, r.parts.Caches.TaskRuns, version)
	o.Run.ResourceVersion = version
	o.Run.Labels = call.Merged(o.Run.Labels, change.Labels)
	o.Run.Annotations = call.Merged(o.Run.Annotations, change.Annotations)
	return nil
}

func (r *Reconciler) patchStatus(ctx context.Context, key types.NamespacedName, o *observation, to PatchStatus) error {
	patch, err := call.StatusPatch(o.Run.Status, to.Status, o.Run.ResourceVersion)
	if err != nil {
		return err
	}
	version, err := r.parts.Client.PatchTaskRunStatus(ctx, key, patch)
	if err != nil {
		return err
	}
	r.parts.Gate.Wrote(key, r.parts.Caches.TaskRuns, version)
	before := *o.Run
	o.Run.ResourceVersion = version
	o.Run.Status = to.Status
	r.announce(&before, o.Run)
	return nil
}

// createPod makes the pod, or finds that it has been made before. A refusal goes
// into the observation: what it means for the run is for the plan to say. Whoever
// refuses pods is asked before the server looks whether there is one of that name:
// a pod that is refused may be there, and not in the cache, its labels damaged.
func (r *Reconciler) createPod(ctx context.Context, key types.NamespacedName, o *observation, pod *corev1.Pod) (again bool, err error) {
	created, err := r.parts.Client.CreatePod(ctx, pod)
	switch {
	case err == nil:
		r.parts.Gate.Wrote(key, r.parts.Caches.Pods, created.ResourceVersion)
		o.Pod = created
		return false, nil
	case apierrors.IsAlreadyExists(err):
		return true, r.readPod(ctx, key, o)
	case call.IsAnswer(err), call.WebhookAway(err):
		if trouble := r.readPod(ctx, key, o); trouble != nil {
			return false, trouble
		}
		if o.Pod == nil {
			o.Refused = err
		}
		return true, nil
	default:
		return false, err
	}
}

// createClaim makes a claim, or finds that it has been made before: nobody else
// makes one of a name that has the run's UID in it. One that is refused may have
// been, too: another attempt needs no second claim, and no quota has room for one.
func (r *Reconciler) createClaim(ctx context.Context, o *observation, claim *corev1.PersistentVolumeClaim) (again bool, err error) {
	err = r.parts.Client.CreateClaim(ctx, claim)
	switch {
	case err == nil, apierrors.IsAlreadyExists(err):
		return false, nil
	case call.IsAnswer(err), call.WebhookAway(err):
		there, trouble := r.parts.Client.HasClaim(ctx, types.NamespacedName{Namespace: claim.Namespace, Name: claim.Name})
		if trouble != nil || there {
			return false, trouble
		}
		o.Refused = fmt.Errorf("create PersistentVolumeClaim %q: %w", claim.Name, err)
		return true, nil
	default:
		return false, err
	}
}

// findClaim has the plan made again if the claim is not there.
func (r *Reconciler) findClaim(ctx context.Context, o *observation, key types.NamespacedName) (again bool, err error) {
	there, err := r.parts.Client.HasClaim(ctx, key)
	if err != nil || there {
		return false, err
	}
	o.LostClaim = key.Name
	return true, nil
}

// createRequest asks a resolver. A request of that name which was not found to be ours
// is an earlier run's, whose name it has in its own: it is waited for until it has gone.
func (r *Reconciler) createRequest(ctx context.Context, o *observation, request *crds.ResolutionRequest) (again bool, err error) {
	err = r.parts.Client.CreateRequest(ctx, request)
	switch {
	case err == nil:
		return false, nil
	case apierrors.IsAlreadyExists(err):
		o.Refused = apierrors.NewConflict(schema.GroupResource{Group: crds.GroupResolution, Resource: crds.ResourceResolutionRequests}, request.Name,
			errors.New("one that does not belong to this run has not gone yet"))
		return true, nil
	case call.IsAnswer(err), call.WebhookAway(err):
		o.Refused = fmt.Errorf("create ResolutionRequest %q: %w", request.Name, err)
		return true, nil
	default:
		return false, err
	}
}

func (r *Reconciler) fallBack(ctx context.Context, key types.NamespacedName, o *observation, a FallBack) {
	klog.FromContext(ctx).Info("A pod cannot use the image volume of the entrypoint; new pods get an init container for a while",
		"because", a.Because, "for", fallbackFor)
	r.injector.fallBack(time.Now())
	o.Mode, o.MayFallBack = r.injector.mode(o.config.Mode, time.Now())
	if r.parts.Trace.FellBack != nil {
		r.parts.Trace.FellBack(key, a.Because)
	}
}

func (r *Reconciler) lookUp(ctx context.Context, o *observation, images []string) error {
	secrets, err := r.pullSecrets(ctx, o)
	if err != nil && !apierrors.IsForbidden(err) {
		return err
	}
	for _, image := range images {
		if err != nil { // the run says so, and waits for who can change it
			o.Images[image] = imageAnswer{Err: err}
			continue
		}
		found, err := r.parts.Images.Entrypoint(ctx, image, secrets)
		o.Images[image] = imageAnswer{Image: found, Err: err}
	}
	return nil
}

// announce tells people and metrics of a condition that has changed.
func (r *Reconciler) announce(before, after *crds.TaskRun) {
	old, had := before.Status.Conditions.Get(crds.ConditionSucceeded)
	now := after.Succeeded()
	if r.parts.Recorder != nil && (!had || old != now) {
		eventType, reason, message := call.Event(had, now)
		r.parts.Recorder.Event(objectReference(after), eventType, reason, message)
	}
	key := types.NamespacedName{Namespace: after.Namespace, Name: after.Name}
	if !before.HasStarted() && after.HasStarted() && r.parts.Trace.Started != nil {
		r.parts.Trace.Started(key)
	}
	if !before.IsDone() && after.IsDone() && r.parts.Trace.Done != nil {
		r.parts.Trace.Done(Done{
			Key:      key,
			Task:     refName(after),
			Status:   now.Status,
			Reason:   now.Reason,
			Duration: after.Status.CompletionTime.Sub(after.Status.StartTime.Time),

			PipelineRun: after.Labels[labelPipelineRun],
		})
	}
}

func refName(run *crds.TaskRun) string {
	if run.Spec.TaskRef == nil {
		return ""
	}
	return run.Spec.TaskRef.Name
}
