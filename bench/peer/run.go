package peer

import (
	"encoding/json"
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/rest"

	"millrace/crds"
)

// TaskRun is the type that client-go decodes into.
type TaskRun struct {
	crds.TaskRun
}

// TaskRunList is a list of them.
type TaskRunList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata"`

	Items []TaskRun `json:"items"`
}

// PipelineRun is the same of PipelineRuns.
type PipelineRun struct {
	crds.PipelineRun
}

// PipelineRunList is a list of them.
type PipelineRunList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata"`

	Items []PipelineRun `json:"items"`
}

// DeepCopyObject makes them objects to client-go. Nothing that is measured calls
// it.
func (r *TaskRun) DeepCopyObject() runtime.Object { return copied(r) }

// DeepCopyObject is the same for lists.
func (l *TaskRunList) DeepCopyObject() runtime.Object { return copied(l) }

// DeepCopyObject is the same for PipelineRuns.
func (r *PipelineRun) DeepCopyObject() runtime.Object { return copied(r) }

// DeepCopyObject is the same for their lists.
func (l *PipelineRunList) DeepCopyObject() runtime.Object { return copied(l) }

func copied[T any](o *T) *T {
	raw, err := json.Marshal(o)
	if err != nil {
		panic(err) // it has come from JSON
	}
	c := new(T)
	if err := json.Unmarshal(raw, c); err != nil {
		panic(err)
	}
	return c
}

// RunClient is a client of tekton.dev/v1, as Tekton's own is made.
func RunClient(url string) (rest.Interface, error) {
	group := schema.GroupVersion{Group: crds.Group, Version: crds.Version}
	types := runtime.NewScheme()
	types.AddKnownTypeWithName(group.WithKind(crds.KindTaskRun), &TaskRun{})
	types.AddKnownTypeWithName(group.WithKind(crds.KindTaskRun+"List"), &TaskRunList{})
	types.AddKnownTypeWithName(group.WithKind(crds.KindPipelineRun), &PipelineRun{})
	types.AddKnownTypeWithName(group.WithKind(crds.KindPipelineRun+"List"), &PipelineRunList{})
	metav1.AddToGroupVersion(types, group)
	cfg := &rest.Config{Host: url, QPS: -1, APIPath: "/apis"}
	cfg.Insecure = strings.HasPrefix(url, "https:") // the certificate is made for an hour
	cfg.GroupVersion = &group
	cfg.NegotiatedSerializer = serializer.NewCodecFactory(types).WithoutConversion()
	client, err := rest.RESTClientFor(cfg)
	if err != nil {
		return nil, fmt.Errorf("client-go's client: %w", err)
	}
	return client, nil
}
