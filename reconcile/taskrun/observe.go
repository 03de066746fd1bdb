package taskrun

import (
	"context"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"millrace/crds"
	"millrace/reconcile/call"
	"millrace/reconcile/resolution"
)

// observe collects what a plan needs, from the caches where they can be trusted.
// They cannot after a write without an answer, and they are not asked whether
// something is absent when a run is to fail for it. nil means: no such run.
func (r *Reconciler) observe(ctx context.Context, key types.NamespacedName) (*observation, error) {
	doubt := r.parts.Gate.InDoubt(key)
	o := &observation{config: r.configNow(), Images: map[string]imageAnswer{}}
	o.Mode, o.MayFallBack = r.injector.mode(o.config.Mode, time.Now())
	if err := r.observeRun(ctx, key, doubt, o); err != nil || o.Run == nil {
		return nil, err
	}
	if !o.config.ours(o.Run) {
		return o, nil // not a call for what is another controller's
	}
	if err := r.observePod(ctx, doubt, o); err != nil {
		return nil, err
	}
	if r.refusals.look(key, o); !doubt && o.waits(time.Now()) {
		return o, nil // there is no pod, and no use in asking
	}
	if !doubt && lacksPod(o) {
		if err := r.makeSure(ctx, key, o); err != nil || o.Run == nil {
			return nil, err
		}
	}
	if doubt {
		r.parts.Gate.Clear(key)
	}
	if err := r.observeTask(ctx, o); err != nil {
		return nil, err
	}
	if o.Pod != nil || o.Run.IsDone() {
		return o, nil
	}
	var err error
	if o.LimitRanges, err = r.parts.Caches.LimitRanges(key.Namespace); err != nil {
		return nil, fmt.Errorf("read LimitRanges: %w", err)
	}
	return o, r.observeCredentials(ctx, o)
}

// lacksPod tells an attempt that was written down and has no pod. Either its pod is
// still to be made, or it had one.
func lacksPod(o *observation) bool {
	return o.Pod == nil && o.Run.Status.TaskSpec != nil && !o.Run.IsDone() && o.Run.DeletionTimestamp == nil
}

// makeSure asks the server whether the attempt of a run without a pod has begun, or
// the run is there at all. The cache may not know yet: after a restart it can be
// older than what this program's predecessor wrote, and a pod that is made for such
// a run does its steps twice.
func (r *Reconciler) makeSure(ctx context.Context, key types.NamespacedName, o *observation) error {
	o.Run = nil
	if err := r.readRun(ctx, key, o); err != nil || o.Run == nil {
		return err
	}
	return r.observePod(ctx, false, o)
}

func (r *Reconciler) observeRun(ctx context.Context, key types.NamespacedName, doubt bool, o *observation) error {
	if doubt {
		return r.readRun(ctx, key, o)
	}
	run, ok, err := r.parts.Caches.TaskRun(key)
	if !ok {
		return nil
	}
	if err != nil {
		return r.observeHead(key, err, o)
	}
	o.Run = &run
	return nil
}

// readRun asks the server, and has the next reconcile wait for the cache to be
// where the server was.
func (r *Reconciler) readRun(ctx context.Context, key types.NamespacedName, o *observation) error {
	run, err := r.parts.Client.GetTaskRun(ctx, key)
	var unreadable *call.UnreadableError
	switch {
	case apierrors.IsNotFound(err):
		r.parts.Gate.Clear(key)
		uid, _, _ := r.parts.Caches.Known(key)
		r.absent.Note(key, uid, time.Now())
		return nil
	case errors.As(err, &unreadable):
		return r.observeHead(key, err, o)
	case err != nil:
		return fmt.Errorf("get TaskRun: %w", err)
	}
	r.absent.Found(key)
	r.parts.Gate.Wrote(key, r.parts.Caches.TaskRuns, run.ResourceVersion)
	o.Run = run
	return nil
}

func (r *Reconciler) observeHead(key types.NamespacedName, unreadable error, o *observation) error {
	head, ok, err := r.parts.Caches.Head(key)
	if err != nil {
		return fmt.Errorf("read TaskRun: %w", errors.Join(unreadable, err))
	}
	if !ok {
		return nil
	}
	o.Unreadable = unreadable
	o.Run = &crds.TaskRun{
		ObjectMeta: head.ObjectMeta,
		Spec:       crds.TaskRunSpec{ManagedBy: head.Spec.ManagedBy},
		Status:     crds.TaskRunStatus{Conditions: head.Status.Conditions},
	}
	return nil
}

// observePod looks for the pod under the one name that the attempt's pod can have.
func (r *Reconciler) observePod(ctx context.Context, doubt bool, o *observation) error {
	key := types.NamespacedName{Namespace: o.Run.Namespace, Name: podName(o.Run)}
	o.PodSought = false
	if !doubt {
		pod, ok, err := r.parts.Caches.Pod(key)
		if err != nil {
			return fmt.Errorf("read pod: %w", err)
		}
		if ok && (len(pod.Spec.Containers) > 0 || whose(&pod, o.Run) != ours) {
			o.Pod = &pod
			return nil
		}
		// The cache holds pods with our label only: one whose label was taken away
		// looks deleted.
		if !ok && (!begun(o.Run.Status.Steps) || o.Run.IsDone()) {
			return nil
		}
		// No server stores a pod without containers: that is an object of another kind,
		// which nothing tells apart within a list in protobuf. Nobody tells the cache of
		// the pod again that has ended, so it would look for ever like one that waits
		// (seed 2047).
	}
	if doubt {
		// The server may have it no more, and the cache be behind: then that it had
		// begun is known from there alone.
		if pod, ok, err := r.parts.Caches.Pod(key); ok && err == nil {
			r.witness.note(&pod, true)
		}
	}
	return r.readPod(ctx, types.NamespacedName{Namespace: o.Run.Namespace, Name: o.Run.Name}, o)
}

// readPod asks the server for the pod, and has the next reconcile wait for the
// cache to be where the server was, if the cache will ever have the pod.
func (r *Reconciler) readPod(ctx context.Context, run types.NamespacedName, o *observation) error {
	pod, err := r.parts.Client.GetPod(ctx, types.NamespacedName{Namespace: run.Namespace, Name: podName(o.Run)})
	o.PodSought = err == nil || apierrors.IsNotFound(err)
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("get pod: %w", err)
	}
	o.Pod = pod
	o.PodUncached = pod.Labels[labelTaskRun] == ""
	if !o.PodUncached {
		r.parts.Gate.Wrote(run, r.parts.Caches.Pods, pod.ResourceVersion)
	}
	return nil
}

// observeTask fetches the Task of a run that has not resolved it yet. A Task
// that was created together with its run may reach its cache later than the run
// did, so the server is asked before a run fails for the want of one.
func (r *Reconciler) observeTask(ctx context.Context, o *observation) error {
	run := o.Run
	if run.Status.TaskSpec != nil || run.IsDone() {
		return nil
	}
	if ref := foreign(run, o.config); ref != nil {
		return r.observeRequest(ctx, o, *ref)
	}
	ref, refused := source(run, o.config)
	if refused == nil {
		return r.observeSource(ctx, o, ref)
	}
	return nil // the plan will say so
}

// observeRequest reads the answer of a resolver, from the server: a run asks once, and a
// cache of requests would be one for that alone.
func (r *Reconciler) observeRequest(ctx context.Context, o *observation, ref crds.ResolverRef) error {
	name := resolution.RequestName(o.Run.Namespace, o.Run.Name, ref)
	request, err := r.parts.Client.GetRequest(ctx, types.NamespacedName{Namespace: o.Run.Namespace, Name: name})
	switch {
	case apierrors.IsNotFound(err):
		return nil
	case err != nil:
		return fmt.Errorf("get ResolutionRequest: %w", err)
	}
	if controller := metav1.GetControllerOf(request); controller == nil || controller.UID != o.Run.UID {
		return nil // of an earlier run of this name; it goes, and has not the answer of now
	}
	o.Request = request
	if task, _, err := resolution.Read[crds.Task](request, crds.KindTask, time.Now()); err == nil {
		return r.observeActions(ctx, o, &task.Spec)
	}
	return nil
}

// observeSource fetches what the run is made of; ref is empty for an embedded task.
func (r *Reconciler) observeSource(ctx context.Context, o *observation, ref types.NamespacedName) (err error) {
	if ref.Name != "" {
		o.Task, o.NoTask, err = r.task(ctx, ref)
		if err != nil || o.Task == nil {
			return err
		}
	}
	return r.observeActions(ctx, o, taskSpec(o.Run, o.Task))
}

func (r *Reconciler) observeActions(ctx context.Context, o *observation, spec *crds.TaskSpec) error {
	o.Actions = map[string]actionAnswer{}
	for _, name := range actionNames(spec) {
		action, none, err := call.Find(ctx, types.NamespacedName{Namespace: o.Run.Namespace, Name: name}, r.parts.Caches.StepAction, r.parts.Client.GetStepAction)
		if err != nil {
			return fmt.Errorf("get StepAction: %w", err)
		}
		o.Actions[name] = actionAnswer{action, none}
	}
	return nil
}

// task returns the Task, or why there is none, or trouble with finding out.
func (r *Reconciler) task(ctx context.Context, key types.NamespacedName) (task *crds.Task, none, trouble error) {
	task, none, trouble = call.Find(ctx, key, r.parts.Caches.Task, r.parts.Client.GetTask)
	if trouble != nil {
		trouble = fmt.Errorf("get Task: %w", trouble)
	}
	return task, none, trouble
}
