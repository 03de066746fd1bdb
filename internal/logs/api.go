package logs

import (
	"context"
	"encoding/json"
	"fmt"
	"io"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/scheme"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"

	"millrace/crds"
)

// API is a Cluster behind an API server.
type API struct {
	tekton rest.Interface
	core   typedcorev1.CoreV1Interface
}

// NewAPI returns the Cluster that the configuration leads to.
func NewAPI(rc *rest.Config) (*API, error) {
	core, err := typedcorev1.NewForConfig(rc)
	if err != nil {
		return nil, fmt.Errorf("client of v1: %w", err)
	}
	raw := rest.CopyConfig(rc)
	raw.GroupVersion, raw.APIPath = &schema.GroupVersion{Group: crds.Group, Version: crds.Version}, "/apis"
	raw.NegotiatedSerializer = scheme.Codecs.WithoutConversion()
	tekton, err := rest.RESTClientFor(raw)
	if err != nil {
		return nil, fmt.Errorf("client of %s: %w", crds.APIVersion, err)
	}
	return &API{tekton, core}, nil
}

// TaskRun reads one.
func (a *API) TaskRun(ctx context.Context, key types.NamespacedName) (*crds.TaskRun, error) {
	return get[crds.TaskRun](ctx, a, crds.ResourceTaskRuns, key)
}

// PipelineRun reads one.
func (a *API) PipelineRun(ctx context.Context, key types.NamespacedName) (*crds.PipelineRun, error) {
	return get[crds.PipelineRun](ctx, a, crds.ResourcePipelineRuns, key)
}

func get[T any](ctx context.Context, a *API, resource string, key types.NamespacedName) (*T, error) {
	raw, err := a.tekton.Get().Namespace(key.Namespace).Resource(resource).Name(key.Name).Do(ctx).Raw()
	if err != nil {
		return nil, err
	}
	object := new(T)
	if err := json.Unmarshal(raw, object); err != nil {
		return nil, fmt.Errorf("read %s %s: %w", resource, key, err)
	}
	return object, nil
}

// News watches the one object, and returns with the first event or the watch's end.
func (a *API) News(ctx context.Context, resource string, key types.NamespacedName, version string) error {
	stream, err := a.tekton.Get().Namespace(key.Namespace).Resource(resource).
		Param("watch", "true").Param("resourceVersion", version).Param("fieldSelector", "metadata.name="+key.Name).
		Stream(ctx)
	if apierrors.IsResourceExpired(err) || apierrors.IsGone(err) {
		return nil // what has happened since is not kept
	}
	if err != nil {
		return fmt.Errorf("watch %s %s: %w", resource, key, err)
	}
	defer stream.Close()
	if _, err := stream.Read(make([]byte, 1)); err != nil && ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return nil
}

// Log asks the kubelet, through the API server.
func (a *API) Log(ctx context.Context, pod types.NamespacedName, container string, of Part) (io.ReadCloser, error) {
	asked := &corev1.PodLogOptions{Container: container, Follow: of.Follow, Timestamps: true}
	if !of.Since.IsZero() {
		asked.SinceTime = &metav1.Time{Time: of.Since}
	}
	return a.core.Pods(pod.Namespace).GetLogs(pod.Name, asked).Stream(ctx)
}
