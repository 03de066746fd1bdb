package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/rest"

	"millrace/indexer"
	"millrace/reconcile"
	"millrace/reconcile/call"
)

const finalizer = "examples.millrace.dev/foo"

func fooVersion() schema.GroupVersion {
	return schema.GroupVersion{Group: "examples.millrace.dev", Version: "v1"}
}
func fooKind() schema.GroupVersionKind { return fooVersion().WithKind("Foo") }

// Foo asks for an image to be run, and to be reached under the Foo's name.
type Foo struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`

	Spec FooSpec `json:"spec"` // what somebody wants
	// Status is what there is. Lesson: conditions are metav1's, and whoever reads one can
	// tell which spec it speaks of.
	Status struct {
		ObservedGeneration int64              `json:"observedGeneration,omitempty"`
		Conditions         []metav1.Condition `json:"conditions,omitempty"`
	} `json:"status,omitzero"`
}

// FooSpec is what is run, how often, and where it listens.
type FooSpec struct {
	Image    string   `json:"image"`
	Command  []string `json:"command,omitempty"`  // default: the image's
	Replicas int32    `json:"replicas,omitempty"` // at least 1, which is the default: see config/crd.yaml
	Port     int32    `json:"port,omitempty"`     // default 8080
}

func deploymentOf(foo *Foo) *appsv1.Deployment {
	m := metav1.ObjectMeta{Namespace: foo.Namespace, Name: foo.Name, Labels: map[string]string{"app.kubernetes.io/instance": foo.Name}}
	container := corev1.Container{Name: "foo", Image: foo.Spec.Image, Command: foo.Spec.Command, Ports: []corev1.ContainerPort{{ContainerPort: foo.Spec.Port}}}
	pod := corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: m.Labels}, Spec: corev1.PodSpec{Containers: []corev1.Container{container}}}
	return &appsv1.Deployment{
		TypeMeta: metav1.TypeMeta{APIVersion: "apps/v1", Kind: "Deployment"}, ObjectMeta: m,
		Spec: appsv1.DeploymentSpec{Replicas: &foo.Spec.Replicas, Selector: &metav1.LabelSelector{MatchLabels: m.Labels}, Template: pod},
	}
}

func serviceOf(foo *Foo) *corev1.Service {
	m := metav1.ObjectMeta{Namespace: foo.Namespace, Name: foo.Name, Labels: map[string]string{"app.kubernetes.io/instance": foo.Name}}
	return &corev1.Service{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Service"}, ObjectMeta: m,
		Spec: corev1.ServiceSpec{Selector: m.Labels, Ports: []corev1.ServicePort{{Port: 80, TargetPort: intstr.FromInt32(foo.Spec.Port)}}},
	}
}

// A reconciler reads caches and writes to the server.
type reconciler struct {
	foos, deployments, services resource
	gate                        *reconcile.Gate
}

// reconcile makes the cluster be what one Foo says. It is told that there is something
// to look at, and not what has happened; so it does the same whatever that was, and
// doing it twice is doing it once. Lesson: what it returns decides when it is called
// again. Nothing: with the next news. An error: after a backoff. Requeue: so too, but it
// is no failure. RequeueAfter: after that time at the latest.
func (r *reconciler) reconcile(ctx context.Context, key types.NamespacedName) (reconcile.Result, error) {
	// Lesson, 1: read it from the cache. That it is gone is no error.
	foo, there, err := indexer.Read[Foo](r.foos.cache).Get(key)
	if err != nil || !there {
		return reconcile.Result{}, err
	}
	// 2: it is on its way out, and waits for us.
	if foo.DeletionTimestamp != nil {
		return reconcile.Result{}, r.cleanUp(ctx, key, &foo)
	}
	// 3: before anything is made, see to it that there will be a chance to clean up.
	if reconcile.AddFinalizer(&foo, finalizer) {
		// It is no change of the spec, so GenerationChanged drops the news of it: ask for
		// another turn, which begins when the cache has seen it.
		return reconcile.Result{Requeue: true}, r.finalize(ctx, key, &foo)
	}
	// 4: make what it owns, or make that what it should be.
	err = errors.Join(r.ensure(ctx, key, r.deployments, &foo, deploymentOf(&foo)), r.ensure(ctx, key, r.services, &foo, serviceOf(&foo)))
	if apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err) {
		return reconcile.Result{Requeue: true}, nil // the server is newer than the cache: look again
	}
	// 5: say what there is; also, and most of all, if that did not work.
	if told := r.tell(ctx, key, &foo, err); told != nil {
		return reconcile.Result{}, told
	}
	// 6: look again in a while, whether there is news or not; soon, if that is awaited.
	if meta.IsStatusConditionPresentAndEqual(foo.Status.Conditions, "Ready", metav1.ConditionUnknown) {
		return reconcile.Result{RequeueAfter: 5 * time.Second}, err
	}
	return reconcile.Result{RequeueAfter: 5 * time.Minute}, err
}

// ensure is create-or-update. Lesson: an owner reference says whose a child is, with
// controller: true for one owner at most, and has it collected with him. What somebody
// else has made under the name is left alone: an owner is known by its UID.
func (r *reconciler) ensure(ctx context.Context, key types.NamespacedName, of resource, foo *Foo, wants metav1.Object) error {
	if err := reconcile.SetControllerReference(foo, fooKind(), wants); err != nil {
		return reconcile.Terminal(err)
	}
	has, there := of.cache.Object(key)
	if !there {
		return r.write(ctx, key, of, of.client.Post(), wants)
	}
	if owner, _ := has.Controller(); owner.UID != foo.UID {
		return reconcile.Terminal(fmt.Errorf("%s %s belongs to somebody else: delete it, or give the Foo another name", of.name, key))
	}
	// The server has filled in what we did not say, so only what we say is compared. That
	// does not show what we say no longer; a new generation is written in any case.
	var want, is map[string]any
	body, err := json.Marshal(wants)
	err = errors.Join(err, json.Unmarshal(body, &want), json.Unmarshal(has.Bytes(), &is))
	if err != nil || foo.Status.ObservedGeneration == foo.Generation && equality.Semantic.DeepDerivative(want["spec"], is["spec"]) {
		return err
	}
	return r.patch(ctx, key, of, "", map[string]any{"metadata": at(has.ResourceVersion()), "spec": want["spec"]})
}

// cleanUp takes the Service away first, so that nobody is sent to pods that stop, then
// the Deployment, and lets the Foo go when both are gone: each wakes it when it is. The
// garbage collector alone would delete both after the Foo, in any order.
func (r *reconciler) cleanUp(ctx context.Context, key types.NamespacedName, foo *Foo) error {
	for _, of := range []resource{r.services, r.deployments} {
		for _, o := range of.owners.Objects(foo.UID) {
			if owner, _ := o.Controller(); owner.UID == foo.UID {
				// This very one, and not what may have its name by then.
				options := &metav1.DeleteOptions{Preconditions: metav1.NewUIDPreconditions(string(o.UID()))}
				return call.UnlessGone(of.client.Delete().Namespace(key.Namespace).Resource(of.name).Name(o.Key().Name).Body(options).Do(ctx).Error())
			}
		}
	}
	if !reconcile.RemoveFinalizer(foo, finalizer) {
		return nil
	}
	return r.finalize(ctx, key, foo)
}

func (r *reconciler) finalize(ctx context.Context, key types.NamespacedName, foo *Foo) error {
	return r.patch(ctx, key, r.foos, "", map[string]any{"metadata": map[string]any{"resourceVersion": foo.ResourceVersion, "finalizers": foo.Finalizers}})
}

// tell writes the condition, if it says something new. Lesson: the time of its last
// transition moves with the status alone; the reason is a word for machines, the message
// a sentence for people; Unknown is what is not determined yet.
func (r *reconciler) tell(ctx context.Context, key types.NamespacedName, foo *Foo, failed error) error {
	d, _, err := indexer.Read[appsv1.Deployment](r.deployments.cache).Get(key)
	if err != nil {
		return err
	}
	c := metav1.Condition{Type: "Ready", ObservedGeneration: foo.Generation, Message: fmt.Sprintf("%d of %d pods are available", d.Status.AvailableReplicas, foo.Spec.Replicas)}
	switch {
	case failed != nil:
		c.Status, c.Reason, c.Message = metav1.ConditionFalse, "ChildFailed", failed.Error()
	case d.UID == "" || d.Status.ObservedGeneration < d.Generation || foo.Status.ObservedGeneration < foo.Generation:
		c.Status, c.Reason, c.Message = metav1.ConditionUnknown, "DeploymentPending", "the Deployment was not looked at yet"
	case d.Status.AvailableReplicas >= foo.Spec.Replicas:
		c.Status, c.Reason = metav1.ConditionTrue, "DeploymentAvailable"
	default:
		c.Status, c.Reason = metav1.ConditionFalse, "DeploymentUnavailable"
	}
	changed, err := reconcile.SetCondition(&foo.Status.Conditions, c)
	if failed == nil && foo.Status.ObservedGeneration != foo.Generation {
		foo.Status.ObservedGeneration, changed = foo.Generation, true
	}
	if err != nil || !changed {
		return err
	}
	return r.patch(ctx, key, r.foos, "status", map[string]any{"metadata": at(foo.ResourceVersion), "status": foo.Status})
}

// at has the server refuse a change of another version than was read.
func at(version string) map[string]any { return map[string]any{"resourceVersion": version} }

// patch writes what is to change and nothing else: what is read from a cache has been
// cut, and must never be written back whole.
func (r *reconciler) patch(ctx context.Context, key types.NamespacedName, of resource, subresource string, change map[string]any) error {
	return r.write(ctx, key, of, of.client.Patch(types.MergePatchType).Name(key.Name).SubResource(subresource), change)
}

// write keeps the Foo from being reconciled before the cache has seen this write. That
// the object is gone is no failure: the news of it is on its way, and brings the key.
func (r *reconciler) write(ctx context.Context, key types.NamespacedName, of resource, request *rest.Request, what any) error {
	body, err := json.Marshal(what)
	if err != nil {
		return fmt.Errorf("encode %s: %w", of.name, err)
	}
	version, err := call.Write(ctx, request.Namespace(key.Namespace).Resource(of.name), body)
	if err == nil {
		r.gate.Wrote(key, of.cache, version)
	} else if !apierrors.IsNotFound(err) {
		return fmt.Errorf("write %s: %w", of.name, err)
	}
	return nil
}
