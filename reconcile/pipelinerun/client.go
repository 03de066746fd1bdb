package pipelinerun

import (
	"context"
	"encoding/json"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	restclient "k8s.io/client-go/rest" // rest is a word of the graph here

	"millrace/crds"
	"millrace/reconcile/call"
	"millrace/reconcile/resolution"
)

// Client makes the API calls of this package, each of them safe to repeat.
// Errors are those of apimachinery's api/errors, wrapped at most; an object that
// does not decode is a *call.UnreadableError.
type Client interface {
	// GetPipelineRun and the like read what the server holds now.
	GetPipelineRun(ctx context.Context, key types.NamespacedName) (*crds.PipelineRun, error)
	GetPipeline(ctx context.Context, key types.NamespacedName) (*crds.Pipeline, error)
	GetTask(ctx context.Context, key types.NamespacedName) (*crds.Task, error)
	GetTaskRun(ctx context.Context, key types.NamespacedName) (*crds.TaskRun, error)
	GetCustomRun(ctx context.Context, key types.NamespacedName) (*crds.CustomRun, error)
	// ListTaskRuns and the like read what the server holds now of the runs that have the
	// label of a PipelineRun. Those that decode are returned beside the error of one that
	// does not.
	ListTaskRuns(ctx context.Context, run types.NamespacedName) ([]crds.TaskRun, error)
	ListCustomRuns(ctx context.Context, run types.NamespacedName) ([]crds.CustomRun, error)
	ListPipelineRuns(ctx context.Context, run types.NamespacedName) ([]crds.PipelineRun, error)
	// PatchPipelineRun applies a JSON merge patch, PatchPipelineRunStatus one or a JSON
	// patch; they return the resource version that came of it.
	PatchPipelineRun(ctx context.Context, key types.NamespacedName, patch []byte) (resourceVersion string, err error)
	PatchPipelineRunStatus(ctx context.Context, key types.NamespacedName, kind types.PatchType, patch []byte) (resourceVersion string, err error)
	// CreateTaskRun and the like make a child, and return its resource version.
	CreateTaskRun(ctx context.Context, run *crds.TaskRun) (resourceVersion string, err error)
	CreateCustomRun(ctx context.Context, run *crds.CustomRun) (resourceVersion string, err error)
	CreatePipelineRun(ctx context.Context, run *crds.PipelineRun) (resourceVersion string, err error)
	// GetRequest reads a ResolutionRequest, and CreateRequest creates one.
	GetRequest(ctx context.Context, key types.NamespacedName) (*crds.ResolutionRequest, error)
	CreateRequest(ctx context.Context, request *crds.ResolutionRequest) error
	// CreateClaim creates a PersistentVolumeClaim.
	CreateClaim(ctx context.Context, claim *corev1.PersistentVolumeClaim) error
	// CancelTaskRun and the like ask the child of that UID and version to stop, and say
	// why. One that is gone, is another one by now, or has changed is an error: NotFound,
	// Invalid, Conflict.
	CancelTaskRun(ctx context.Context, key types.NamespacedName, uid types.UID, version, message string) (resourceVersion string, err error)
	CancelCustomRun(ctx context.Context, key types.NamespacedName, uid types.UID, version, message string) (resourceVersion string, err error)
	// EndPipelineRun does so in one of the three ways in which a PipelineRun can end.
	EndPipelineRun(ctx context.Context, key types.NamespacedName, uid types.UID, version string, as crds.PipelineRunSpecStatus, message string) (resourceVersion string, err error)
}

// APIClient is the Client that talks to a server. It does not try again by itself.
type APIClient struct {
	tekton restclient.Interface // tekton.dev/v1
	beta   restclient.Interface // tekton.dev/v1beta1
	core   restclient.Interface
}

var _ Client = (*APIClient)(nil)

// NewAPIClient takes clients of tekton.dev/v1, of tekton.dev/v1beta1 for CustomRuns,
// and of the core group, which may speak protobuf.
func NewAPIClient(tekton, beta restclient.Interface, core typedcorev1.CoreV1Interface) *APIClient {
	return &APIClient{tekton: tekton, beta: beta, core: core.RESTClient()}
}

func at(request *restclient.Request, resource string, key types.NamespacedName) *restclient.Request {
	return request.Namespace(key.Namespace).Resource(resource).Name(key.Name)
}

// GetPipelineRun reads a PipelineRun.
func (c *APIClient) GetPipelineRun(ctx context.Context, key types.NamespacedName) (*crds.PipelineRun, error) {
	return call.Get[crds.PipelineRun](ctx, at(c.tekton.Get(), crds.ResourcePipelineRuns, key), crds.KindPipelineRun)
}

// GetPipeline reads a Pipeline.
func (c *APIClient) GetPipeline(ctx context.Context, key types.NamespacedName) (*crds.Pipeline, error) {
	return call.Get[crds.Pipeline](ctx, at(c.tekton.Get(), crds.ResourcePipelines, key), crds.KindPipeline)
}

// GetTask reads a Task.
func (c *APIClient) GetTask(ctx context.Context, key types.NamespacedName) (*crds.Task, error) {
	return call.Get[crds.Task](ctx, at(c.tekton.Get(), crds.ResourceTasks, key), crds.KindTask)
}

// GetTaskRun reads a TaskRun.
func (c *APIClient) GetTaskRun(ctx context.Context, key types.NamespacedName) (*crds.TaskRun, error) {
	return call.Get[crds.TaskRun](ctx, at(c.tekton.Get(), crds.ResourceTaskRuns, key), crds.KindTaskRun)
}

// GetCustomRun reads a CustomRun.
func (c *APIClient) GetCustomRun(ctx context.Context, key types.NamespacedName) (*crds.CustomRun, error) {
	return call.Get[crds.CustomRun](ctx, at(c.beta.Get(), crds.ResourceCustomRuns, key), crds.KindCustomRun)
}

// ListTaskRuns reads the TaskRuns that have the label of a PipelineRun.
func (c *APIClient) ListTaskRuns(ctx context.Context, run types.NamespacedName) ([]crds.TaskRun, error) {
	return call.List[crds.TaskRun](ctx, of(c.tekton.Get(), crds.ResourceTaskRuns, run), crds.KindTaskRun)
}

// ListCustomRuns reads the CustomRuns that do.
func (c *APIClient) ListCustomRuns(ctx context.Context, run types.NamespacedName) ([]crds.CustomRun, error) {
	return call.List[crds.CustomRun](ctx, of(c.beta.Get(), crds.ResourceCustomRuns, run), crds.KindCustomRun)
}

// ListPipelineRuns reads the PipelineRuns that do.
func (c *APIClient) ListPipelineRuns(ctx context.Context, run types.NamespacedName) ([]crds.PipelineRun, error) {
	return call.List[crds.PipelineRun](ctx, of(c.tekton.Get(), crds.ResourcePipelineRuns, run), crds.KindPipelineRun)
}

// of selects what has the label of a PipelineRun.
func of(request *restclient.Request, resource string, run types.NamespacedName) *restclient.Request {
	return request.Namespace(run.Namespace).Resource(resource).Param("labelSelector", labelPipelineRun+"="+run.Name)
}

// PatchPipelineRun patches metadata.
func (c *APIClient) PatchPipelineRun(ctx context.Context, key types.NamespacedName, patch []byte) (string, error) {
	return call.Write(ctx, at(c.tekton.Patch(types.MergePatchType), crds.ResourcePipelineRuns, key), patch)
}

// PatchPipelineRunStatus patches the status, and nothing but the status.
func (c *APIClient) PatchPipelineRunStatus(ctx context.Context, key types.NamespacedName, kind types.PatchType, patch []byte) (string, error) {
	return call.Write(ctx, at(c.tekton.Patch(kind), crds.ResourcePipelineRuns, key).SubResource("status"), patch)
}

// CreateTaskRun creates a TaskRun.
func (c *APIClient) CreateTaskRun(ctx context.Context, run *crds.TaskRun) (string, error) {
	return create(ctx, c.tekton.Post().Namespace(run.Namespace).Resource(crds.ResourceTaskRuns), run)
}

// CreateCustomRun creates a CustomRun.
func (c *APIClient) CreateCustomRun(ctx context.Context, run *crds.CustomRun) (string, error) {
	return create(ctx, c.beta.Post().Namespace(run.Namespace).Resource(crds.ResourceCustomRuns), run)
}

// CreatePipelineRun creates a PipelineRun.
func (c *APIClient) CreatePipelineRun(ctx context.Context, run *crds.PipelineRun) (string, error) {
	return create(ctx, c.tekton.Post().Namespace(run.Namespace).Resource(crds.ResourcePipelineRuns), run)
}

func create(ctx context.Context, request *restclient.Request, object any) (string, error) {
	raw, err := json.Marshal(object)
	if err != nil {
		return "", fmt.Errorf("encode: %w", err)
	}
	return call.Write(ctx, request.SetHeader("Content-Type", "application/json"), raw)
}

// GetRequest reads a ResolutionRequest.
func (c *APIClient) GetRequest(ctx context.Context, key types.NamespacedName) (*crds.ResolutionRequest, error) {
	return call.Get[crds.ResolutionRequest](ctx, c.tekton.Get().AbsPath(resolution.RequestPath(key.Namespace, key.Name)), crds.KindResolutionRequest)
}

// CreateRequest creates a ResolutionRequest.
func (c *APIClient) CreateRequest(ctx context.Context, request *crds.ResolutionRequest) error {
	_, err := create(ctx, c.tekton.Post().AbsPath(resolution.RequestPath(request.Namespace, "")), request)
	return err
}

// CreateClaim creates a PersistentVolumeClaim.
func (c *APIClient) CreateClaim(ctx context.Context, claim *corev1.PersistentVolumeClaim) error {
	return c.core.Post().MaxRetries(0).Namespace(claim.Namespace).Resource("persistentvolumeclaims").Body(claim).Do(ctx).Error()
}

// CancelTaskRun asks a TaskRun to stop.
func (c *APIClient) CancelTaskRun(ctx context.Context, key types.NamespacedName, uid types.UID, version, message string) (string, error) {
	return cancel(ctx, at(c.tekton.Patch(types.MergePatchType), crds.ResourceTaskRuns, key), uid, version, string(crds.TaskRunSpecStatusCancelled), message)
}

// CancelCustomRun asks a CustomRun to stop.
func (c *APIClient) CancelCustomRun(ctx context.Context, key types.NamespacedName, uid types.UID, version, message string) (string, error) {
	return cancel(ctx, at(c.beta.Patch(types.MergePatchType), crds.ResourceCustomRuns, key), uid, version, string(crds.CustomRunSpecStatusCancelled), message)
}

// EndPipelineRun asks a PipelineRun to end. It has no field for the reason.
func (c *APIClient) EndPipelineRun(ctx context.Context, key types.NamespacedName, uid types.UID, version string, as crds.PipelineRunSpecStatus, message string) (string, error) {
	patch, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"uid": uid, "resourceVersion": version, "annotations": map[string]string{annotationMessage: message}},
		"spec":     map[string]any{"status": as},
	})
	if err != nil {
		return "", fmt.Errorf("encode patch: %w", err)
	}
	return c.PatchPipelineRun(ctx, key, patch)
}

// cancel insists on the UID, since a child that was made anew under the name, by
// whomever, is not ours to stop, and on the version, since one that has ended is not
// written any more.
func cancel(ctx context.Context, request *restclient.Request, uid types.UID, version, status, message string) (string, error) {
	patch, err := json.Marshal(map[string]map[string]string{
		"metadata": {"uid": string(uid), "resourceVersion": version},
		"spec":     {"status": status, "statusMessage": message},
	})
	if err != nil {
		return "", fmt.Errorf("encode patch: %w", err)
	}
	return call.Write(ctx, request, patch)
}
