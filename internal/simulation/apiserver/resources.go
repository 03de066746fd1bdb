package apiserver

import (
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// A Resource is one that the server serves.
type Resource struct {
	schema.GroupVersionResource

	Kind   string
	status bool // has the subresource: writes elsewhere leave the status alone

	// Of a built-in kind: its Go types, which protobuf needs. A CRD has none.
	object func() runtime.Object
	list   func(metav1.ListMeta, []runtime.Object) runtime.Object
}

func (r *Resource) apiVersion() string { return r.GroupVersion().String() }

func (r *Resource) builtIn() bool { return r.object != nil }

// Resources of the model, by their plural names.
func resources() map[string]*Resource {
	core, tekton := schema.GroupVersion{Version: "v1"}, schema.GroupVersion{Group: "tekton.dev", Version: "v1"}
	all := []*Resource{
		{GroupVersionResource: tekton.WithResource("tasks"), Kind: "Task"},
		{GroupVersionResource: schema.GroupVersion{Group: "tekton.dev", Version: "v1beta1"}.WithResource("stepactions"), Kind: "StepAction"},
		{GroupVersionResource: tekton.WithResource("taskruns"), Kind: "TaskRun", status: true},
		{GroupVersionResource: tekton.WithResource("pipelines"), Kind: "Pipeline"},
		{GroupVersionResource: tekton.WithResource("pipelineruns"), Kind: "PipelineRun", status: true},
		{GroupVersionResource: schema.GroupVersion{Group: "tekton.dev", Version: "v1beta1"}.WithResource("customruns"), Kind: "CustomRun", status: true},
		{GroupVersionResource: schema.GroupVersion{Group: "resolution.tekton.dev", Version: "v1beta1"}.WithResource("resolutionrequests"), Kind: "ResolutionRequest", status: true},
		builtIn[corev1.Pod](core.WithResource("pods"), "Pod", func(m metav1.ListMeta, items []corev1.Pod) runtime.Object {
			return &corev1.PodList{ListMeta: m, Items: items}
		}),
		builtIn[corev1.Event](core.WithResource("events"), "Event", func(m metav1.ListMeta, items []corev1.Event) runtime.Object {
			return &corev1.EventList{ListMeta: m, Items: items}
		}),
		builtIn[corev1.ConfigMap](core.WithResource("configmaps"), "ConfigMap", func(m metav1.ListMeta, items []corev1.ConfigMap) runtime.Object {
			return &corev1.ConfigMapList{ListMeta: m, Items: items}
		}),
		builtIn[coordinationv1.Lease](coordinationv1.SchemeGroupVersion.WithResource("leases"), "Lease", func(m metav1.ListMeta, items []coordinationv1.Lease) runtime.Object {
			return &coordinationv1.LeaseList{ListMeta: m, Items: items}
		}),
		builtIn[corev1.ServiceAccount](core.WithResource("serviceaccounts"), "ServiceAccount", func(m metav1.ListMeta, items []corev1.ServiceAccount) runtime.Object {
			return &corev1.ServiceAccountList{ListMeta: m, Items: items}
		}),
		builtIn[corev1.LimitRange](core.WithResource("limitranges"), "LimitRange", func(m metav1.ListMeta, items []corev1.LimitRange) runtime.Object {
			return &corev1.LimitRangeList{ListMeta: m, Items: items}
		}),
		builtIn[corev1.Secret](core.WithResource("secrets"), "Secret", func(m metav1.ListMeta, items []corev1.Secret) runtime.Object {
			return &corev1.SecretList{ListMeta: m, Items: items}
		}),
		builtIn[corev1.PersistentVolumeClaim](core.WithResource("persistentvolumeclaims"), "PersistentVolumeClaim", func(m metav1.ListMeta, items []corev1.PersistentVolumeClaim) runtime.Object {
			return &corev1.PersistentVolumeClaimList{ListMeta: m, Items: items}
		}),
	}
	byName := map[string]*Resource{}
	for _, r := range all {
		byName[r.Resource] = r
	}
	byName["pods"].status = true
	return byName
}

// builtIn describes a kind by its Go type. Lists of it are made from a slice.
func builtIn[T any, P interface {
	*T
	runtime.Object
}](gvr schema.GroupVersionResource, kind string, list func(metav1.ListMeta, []T) runtime.Object) *Resource {
	return &Resource{
		GroupVersionResource: gvr, Kind: kind,
		object: func() runtime.Object { return P(new(T)) },
		list: func(m metav1.ListMeta, objects []runtime.Object) runtime.Object {
			items := make([]T, len(objects))
			for i, o := range objects {
				items[i] = *o.(P) //nolint:forcetypeassert // object made it
			}
			return list(m, items)
		},
	}
}
