package taskrun

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"

	"millrace/crds"
	"millrace/reconcile/call"
	"millrace/reconcile/resolution"
)

// Client makes the API calls of this package, each of them safe to repeat.
// Errors are those of apimachinery's api/errors, wrapped at most.
type Client interface {
	// GetTaskRun and the like read what the server holds now.
	GetTaskRun(ctx context.Context, key types.NamespacedName) (*crds.TaskRun, error)
	GetTask(ctx context.Context, key types.NamespacedName) (*crds.Task, error)
	GetStepAction(ctx context.Context, key types.NamespacedName) (*crds.StepAction, error)
	// GetRequest reads a ResolutionRequest, and CreateRequest creates one.
	GetRequest(ctx context.Context, key types.NamespacedName) (*crds.ResolutionRequest, error)
	CreateRequest(ctx context.Context, request *crds.ResolutionRequest) error
	GetPod(ctx context.Context, key types.NamespacedName) (*corev1.Pod, error)
	GetServiceAccount(ctx context.Context, key types.NamespacedName) (*corev1.ServiceAccount, error)
	GetSecret(ctx context.Context, key types.NamespacedName) (*corev1.Secret, error)
	// ReadLog reads the log of a container, so many bytes of it at most.
	ReadLog(ctx context.Context, pod types.NamespacedName, container string, limit int64) ([]byte, error)
	// Warning is the last warning that events give about the object of that UID; empty
	// if there is none.
	Warning(ctx context.Context, namespace string, uid types.UID) (string, error)
	// PatchTaskRun and PatchTaskRunStatus apply a JSON merge patch, and return the
	// resource version that came of it.
	PatchTaskRun(ctx context.Context, key types.NamespacedName, patch []byte) (resourceVersion string, err error)
	PatchTaskRunStatus(ctx context.Context, key types.NamespacedName, patch []byte) (resourceVersion string, err error)
	// CreatePod returns the pod as the server has made it.
	CreatePod(ctx context.Context, pod *corev1.Pod) (*corev1.Pod, error)
	// HasClaim tells whether there is a PersistentVolumeClaim of that name; one that is
	// being deleted is none, since it does not come back.
	HasClaim(ctx context.Context, key types.NamespacedName) (bool, error)
	// CreateClaim creates a PersistentVolumeClaim.
	CreateClaim(ctx context.Context, claim *corev1.PersistentVolumeClaim) error
	// DeletePod deletes the pod if it still has that UID; a pod that is gone, or is
	// another one by now, is no error. With a version it has to have that as well, and
	// is a conflict if it has not, or is another one: what was to be deleted may have
	// changed before it went. The resource version is that of a pod which takes its time
	// to go, else empty.
	DeletePod(ctx context.Context, key types.NamespacedName, uid types.UID, version string) (resourceVersion string, err error)
	// StopPod has the kubelet end the pod's containers and keep the pod; the rest is as
	// with DeletePod without a version.
	StopPod(ctx context.Context, key types.NamespacedName, uid types.UID) (resourceVersion string, err error)
}

// APIClient is the Client that talks to a server. It does not try again by
// itself, whatever the server's Retry-After says: that would hold up a worker,
// and the queue knows how to wait.
type APIClient struct {
	tekton rest.Interface
	core   rest.Interface
}

var _ Client = (*APIClient)(nil)

// NewAPIClient takes a client of tekton.dev/v1 and one of the core group, which
// may speak protobuf.
func NewAPIClient(tekton rest.Interface, core typedcorev1.CoreV1Interface) *APIClient {
	return &APIClient{tekton: tekton, core: core.RESTClient()}
}

// GetTaskRun reads a TaskRun.
func (c *APIClient) GetTaskRun(ctx context.Context, key types.NamespacedName) (*crds.TaskRun, error) {
	return call.Get[crds.TaskRun](ctx, c.tekton.Get().Namespace(key.Namespace).Resource(crds.ResourceTaskRuns).Name(key.Name), crds.KindTaskRun)
}

// GetTask reads a Task.
func (c *APIClient) GetTask(ctx context.Context, key types.NamespacedName) (*crds.Task, error) {
	return call.Get[crds.Task](ctx, c.tekton.Get().Namespace(key.Namespace).Resource(crds.ResourceTasks).Name(key.Name), crds.KindTask)
}

// GetStepAction reads a StepAction, which is of another version than the rest.
func (c *APIClient) GetStepAction(ctx context.Context, key types.NamespacedName) (*crds.StepAction, error) {
	return call.Get[crds.StepAction](ctx, c.tekton.Get().AbsPath("apis", crds.Group, crds.VersionStepActions,
		"namespaces", key.Namespace, crds.ResourceStepActions, key.Name), crds.KindStepAction)
}

// GetRequest reads a ResolutionRequest.
func (c *APIClient) GetRequest(ctx context.Context, key types.NamespacedName) (*crds.ResolutionRequest, error) {
	return call.Get[crds.ResolutionRequest](ctx, c.tekton.Get().AbsPath(resolution.RequestPath(key.Namespace, key.Name)), crds.KindResolutionRequest)
}

// CreateRequest creates a ResolutionRequest.
func (c *APIClient) CreateRequest(ctx context.Context, request *crds.ResolutionRequest) error {
	raw, err := json.Marshal(request)
	if err != nil {
		return fmt.Errorf("encode ResolutionRequest: %w", err)
	}
	_, err = call.Write(ctx, c.tekton.Post().AbsPath(resolution.RequestPath(request.Namespace, "")).SetHeader("Content-Type", "application/json"), raw)
	return err
}

// PatchTaskRun patches metadata or spec.
func (c *APIClient) PatchTaskRun(ctx context.Context, key types.NamespacedName, patch []byte) (string, error) {
	return c.patch(ctx, key, patch)
}

// PatchTaskRunStatus patches the status, and nothing but the status.
func (c *APIClient) PatchTaskRunStatus(ctx context.Context, key types.NamespacedName, patch []byte) (string, error) {
	return c.patch(ctx, key, patch, "status")
}

func (c *APIClient) patch(ctx context.Context, key types.NamespacedName, patch []byte, subresource ...string) (string, error) {
	return call.Write(ctx, c.tekton.Patch(types.MergePatchType).Namespace(key.Namespace).Resource(crds.ResourceTaskRuns).Name(key.Name).
		SubResource(subresource...), patch)
}

// GetPod reads a pod.
func (c *APIClient) GetPod(ctx context.Context, key types.NamespacedName) (*corev1.Pod, error) {
	pod := &corev1.Pod{}
	return pod, c.pod(c.core.Get(), key).Do(ctx).Into(pod)
}

// GetServiceAccount reads a ServiceAccount.
func (c *APIClient) GetServiceAccount(ctx context.Context, key types.NamespacedName) (*corev1.ServiceAccount, error) {
	account := &corev1.ServiceAccount{}
	return account, c.core.Get().MaxRetries(0).Namespace(key.Namespace).Resource("serviceaccounts").Name(key.Name).Do(ctx).Into(account)
}

// GetSecret reads a Secret.
func (c *APIClient) GetSecret(ctx context.Context, key types.NamespacedName) (*corev1.Secret, error) {
	secret := &corev1.Secret{}
	return secret, c.core.Get().MaxRetries(0).Namespace(key.Namespace).Resource("secrets").Name(key.Name).Do(ctx).Into(secret)
}

// ReadLog reads a log.
func (c *APIClient) ReadLog(ctx context.Context, pod types.NamespacedName, container string, limit int64) ([]byte, error) {
	return call.Body(c.pod(c.core.Get(), pod).SubResource("log").Param("container", container).
		Param("limitBytes", strconv.FormatInt(limit, 10)).Do(ctx))
}

// Warning lists the events about an object.
func (c *APIClient) Warning(ctx context.Context, namespace string, uid types.UID) (string, error) {
	events := &corev1.EventList{}
	err := c.core.Get().MaxRetries(0).Namespace(namespace).Resource("events").
		Param("fieldSelector", "involvedObject.uid="+string(uid)+",type="+corev1.EventTypeWarning).Do(ctx).Into(events)
	if err != nil || len(events.Items) == 0 {
		return "", err
	}
	last := slices.MaxFunc(events.Items, func(a, b corev1.Event) int { return eventTime(a).Compare(eventTime(b)) })
	return last.Reason + ": " + last.Message, nil
}

// eventTime is when an event was last seen, in the old form and in the new one.
func eventTime(e corev1.Event) time.Time {
	switch {
	case e.Series != nil:
		return e.Series.LastObservedTime.Time
	case !e.LastTimestamp.IsZero():
		return e.LastTimestamp.Time
	default:
		return e.EventTime.Time
	}
}

// CreatePod creates a pod.
func (c *APIClient) CreatePod(ctx context.Context, pod *corev1.Pod) (*corev1.Pod, error) {
	made := &corev1.Pod{}
	return made, c.core.Post().MaxRetries(0).Namespace(pod.Namespace).Resource("pods").Body(pod).Do(ctx).Into(made)
}

// HasClaim looks for a PersistentVolumeClaim.
func (c *APIClient) HasClaim(ctx context.Context, key types.NamespacedName) (bool, error) {
	claim := &corev1.PersistentVolumeClaim{}
	err := c.core.Get().MaxRetries(0).Namespace(key.Namespace).Resource("persistentvolumeclaims").Name(key.Name).Do(ctx).Into(claim)
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("get PersistentVolumeClaim: %w", err)
	}
	return claim.DeletionTimestamp == nil, nil
}

// CreateClaim creates a PersistentVolumeClaim.
func (c *APIClient) CreateClaim(ctx context.Context, claim *corev1.PersistentVolumeClaim) error {
	return c.core.Post().MaxRetries(0).Namespace(claim.Namespace).Resource("persistentvolumeclaims").Body(claim).Do(ctx).Error()
}

// DeletePod deletes a pod, with the grace that the pod itself asks for.
func (c *APIClient) DeletePod(ctx context.Context, key types.NamespacedName, uid types.UID, version string) (string, error) {
	options := &metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &uid}}
	if version != "" {
		options.Preconditions.ResourceVersion = &version
	}
	result := c.pod(c.core.Delete(), key).Body(options).Do(ctx)
	if err := result.Error(); version != "" && apierrors.IsConflict(err) {
		return "", err
	}
	return podVersion(result)
}

// StopPod lowers the pod's deadline to one that is past: the kubelet then fails
// the pod and kills its containers, and their logs can still be read.
func (c *APIClient) StopPod(ctx context.Context, key types.NamespacedName, uid types.UID) (string, error) {
	patch, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"uid": uid},
		"spec":     map[string]any{"activeDeadlineSeconds": stopDeadline},
	})
	if err != nil {
		return "", fmt.Errorf("encode patch: %w", err)
	}
	return podVersion(c.pod(c.core.Patch(types.MergePatchType), key).Body(patch).Do(ctx))
}

// podVersion reads an answer that is a pod, or a Status where the pod was gone
// at once.
func podVersion(result rest.Result) (string, error) {
	object, err := result.Get()
	if pod, ok := object.(*corev1.Pod); err == nil && ok {
		return pod.ResourceVersion, nil
	}
	return "", call.UnlessGone(err)
}

func (c *APIClient) pod(request *rest.Request, key types.NamespacedName) *rest.Request {
	return request.MaxRetries(0).Namespace(key.Namespace).Resource("pods").Name(key.Name)
}
