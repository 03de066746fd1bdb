package main

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"millrace/indexer"
	"millrace/reconcile"
)

const finalizer = "examples.millrace.dev/foo"

type reconciler struct {
	foos, deployments, services resource
	gate                        *reconcile.Gate
}

// reconcile makes the cluster be what one Foo says. It is told that there is something
// to look at, and not what has happened; so it does the same whatever that was, and
// doing it twice is doing it once. What it returns decides when it is called again: no
// error and no Result, with the next news; an error, after a backoff; RequeueAfter,
// after that time at the latest.
func (r *reconciler) reconcile(ctx context.Context, key types.NamespacedName) (reconcile.Result, error) {
	// 1. Read it from the cache. That it is gone is no error.
	foo, there, err := indexer.Read[Foo](r.foos.cache).Get(key)
	if err != nil || !there {
		return reconcile.Result{}, err
	}
	// 2. It is on its way out, and waits for us.
	if foo.DeletionTimestamp != nil {
		return reconcile.Result{}, r.cleanUp(ctx, key, &foo)
	}
	// 3. Before anything is made, see to it that there will be a chance to clean up.
	if reconcile.AddFinalizer(&foo, finalizer) {
		// It is no change of the spec, so GenerationChanged drops the news of it: ask for
		// another turn, which begins when the cache has seen it.
		return reconcile.Result{Requeue: true}, r.patch(ctx, key, r.foos, foo.ResourceVersion, "", finalizers(&foo))
	}
	// 4. Make what it owns, or make that what it should be.
	err = r.ensure(ctx, key, r.deployments, &foo, deploymentOf(&foo))
	if err == nil {
		err = r.ensure(ctx, key, r.services, &foo, serviceOf(&foo))
	}
	// 5. Say what there is: also, and most of all, if that did not work.
	if apierrors.IsConflict(err) {
		return reconcile.Result{Requeue: true}, nil // something is newer than the cache: look again
	}
	if told := r.tell(ctx, key, &foo, err); told != nil {
		return reconcile.Result{}, told
	}
	// 6. Look again in a while, whether there is news or not.
	return reconcile.Result{RequeueAfter: 5 * time.Minute}, err
}

// ensure is create-or-update. What somebody else has made under the name is left
// alone: an owner is known by its UID, and not by its name.
func (r *reconciler) ensure(ctx context.Context, key types.NamespacedName, of resource, foo *Foo, wants metav1.Object) error {
	if err := reconcile.SetControllerReference(foo, fooKind(), wants); err != nil {
		return reconcile.Terminal(err)
	}
	body, err := json.Marshal(wants)
	if err != nil {
		return fmt.Errorf("encode %s: %w", of.name, err)
	}
	has, there := of.cache.Object(key)
	if !there {
		raw, err := of.client.Post().Namespace(key.Namespace).Resource(of.name).Body(body).Do(ctx).Raw()
		return r.wrote(key, of, raw, err)
	}
	if owner, _ := has.Controller(); owner.UID != foo.UID {
		return reconcile.Terminal(fmt.Errorf("%s %s belongs to somebody else: delete it, or give the Foo another name", of.name, key))
	}
	// The server has filled in what we did not say, so only what we say is compared.
	var want, is struct {
		Spec map[string]any `json:"spec"`
	}
	if err := json.Unmarshal(body, &want); err != nil {
		return err
	}
	if err := json.Unmarshal(has.Bytes(), &is); err != nil || equality.Semantic.DeepDerivative(want.Spec, is.Spec) {
		return err
	}
	return r.patch(ctx, key, of, has.ResourceVersion(), "", map[string]any{"spec": want.Spec})
}

// cleanUp takes the Service away first, so that nobody is sent to pods that stop, then
// the Deployment, and lets the Foo go when the index of owners finds neither. Each of
// them wakes the Foo when it is gone. Without all this the garbage collector would
// delete both after the Foo, in any order.
func (r *reconciler) cleanUp(ctx context.Context, key types.NamespacedName, foo *Foo) error {
	for _, of := range []resource{r.services, r.deployments} {
		for _, o := range of.owners.Objects(foo.UID) {
			uid := o.UID() // this very one, and not what may have its name by then
			err := of.client.Delete().Namespace(key.Namespace).Resource(of.name).Name(o.Key().Name).
				Body(&metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &uid}}).Do(ctx).Error()
			if !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
				return err
			}
		}
	}
	if !reconcile.RemoveFinalizer(foo, finalizer) {
		return nil
	}
	return r.patch(ctx, key, r.foos, foo.ResourceVersion, "", finalizers(foo))
}

// tell writes the condition, if it says something new. The time of its last transition
// moves with the status alone; the reason is a word for machines, the message a sentence
// for people; Unknown is what is not determined yet.
func (r *reconciler) tell(ctx context.Context, key types.NamespacedName, foo *Foo, failed error) error {
	d, _, err := indexer.Read[appsv1.Deployment](r.deployments.cache).Get(key)
	if err != nil {
		return err
	}
	c := metav1.Condition{Type: "Ready", ObservedGeneration: foo.Generation, Message: fmt.Sprintf("%d of %d pods are available", d.Status.AvailableReplicas, foo.Spec.Replicas)}
	switch {
	case failed != nil:
		c.Status, c.Reason, c.Message = metav1.ConditionFalse, "ChildFailed", failed.Error()
	case d.Status.ObservedGeneration < d.Generation || d.UID == "":
		c.Status, c.Reason, c.Message = metav1.ConditionUnknown, "DeploymentPending", "the Deployment was not looked at yet"
	case d.Status.AvailableReplicas >= foo.Spec.Replicas:
		c.Status, c.Reason = metav1.ConditionTrue, "DeploymentAvailable"
	default:
		c.Status, c.Reason = metav1.ConditionFalse, "DeploymentUnavailable"
	}
	changed, err := reconcile.SetCondition(&foo.Status.Conditions, c)
	if err != nil || !changed && foo.Status.ObservedGeneration == foo.Generation {
		return err
	}
	foo.Status.ObservedGeneration = foo.Generation
	return r.patch(ctx, key, r.foos, foo.ResourceVersion, "status", map[string]any{"status": foo.Status})
}

func finalizers(foo *Foo) map[string]any {
	return map[string]any{"metadata": map[string]any{"finalizers": foo.Finalizers}}
}

// patch writes what is to change and nothing else: what is read from a cache has been
// cut, and must never be written back whole. It insists on the version that was read.
func (r *reconciler) patch(ctx context.Context, key types.NamespacedName, of resource, version, subresource string, change map[string]any) error {
	metadata, _ := change["metadata"].(map[string]any)
	if metadata == nil {
		metadata = map[string]any{}
		change["metadata"] = metadata
	}
	metadata["resourceVersion"] = version
	body, err := json.Marshal(change)
	if err != nil {
		return fmt.Errorf("encode a patch: %w", err)
	}
	raw, err := of.client.Patch(types.MergePatchType).Namespace(key.Namespace).Resource(of.name).Name(key.Name).SubResource(subresource).Body(body).Do(ctx).Raw()
	return r.wrote(key, of, raw, err)
}

// wrote keeps the Foo from being reconciled before the cache has seen this write. That
// the object is gone, or is there already, is no failure: the news of that is on its
// way, and brings the key again.
func (r *reconciler) wrote(key types.NamespacedName, of resource, answer []byte, err error) error {
	if apierrors.IsNotFound(err) || apierrors.IsAlreadyExists(err) {
		return nil
	}
	var written metav1.PartialObjectMetadata
	if err == nil {
		err = json.Unmarshal(answer, &written)
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", of.name, err)
	}
	r.gate.Wrote(key, of.cache, written.ResourceVersion)
	return nil
}
