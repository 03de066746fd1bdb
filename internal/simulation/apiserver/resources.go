package apiserver

import (
	"encoding/json"
	"slices"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"millrace/crds"
)

// A Resource is one that the server serves.
type Resource struct {
	schema.GroupVersionResource

	Kind string

	also   []string // other versions that it is served in, as the same
	status bool     // has the subresource: writes elsewhere leave the status alone
	fields []string // by which lists are selected, beside name and namespace
	global bool     // is in no namespace

	// Of a custom resource: its Go type, which its schema is made from.
	custom func() any

	// Of a built-in kind: its Go types, and what servers do to it.
	object func() runtime.Object
	list   func(metav1.ListMeta, []runtime.Object) runtime.Object
	rules  rules
}

func (r *Resource) apiVersion() string { return r.GroupVersion().String() }

func (r *Resource) gvk() schema.GroupVersionKind { return r.GroupVersion().WithKind(r.Kind) }

func (r *Resource) builtIn() bool { return r.object != nil }

// Resources of the model, by their plural names.
func resources() map[string]*Resource {
	core, tekton := schema.GroupVersion{Version: "v1"}, schema.GroupVersion{Group: crds.Group, Version: "v1"}
	beta := schema.GroupVersion{Group: crds.Group, Version: "v1beta1"}
	all := []*Resource{
		{GroupVersionResource: tekton.WithResource("tasks"), Kind: "Task", custom: newOf[crds.Task]},
		{GroupVersionResource: beta.WithResource("stepactions"), Kind: "StepAction", also: []string{"v1alpha1"}, custom: newOf[crds.StepAction]},
		{GroupVersionResource: tekton.WithResource("taskruns"), Kind: "TaskRun", status: true, custom: newOf[crds.TaskRun], fields: []string{"spec.taskRef.name", "spec.serviceAccountName", "spec.status", "spec.managedBy", "status.podName"}},
		{GroupVersionResource: tekton.WithResource("pipelines"), Kind: "Pipeline", custom: newOf[crds.Pipeline]},
		{GroupVersionResource: tekton.WithResource("pipelineruns"), Kind: "PipelineRun", status: true, custom: newOf[crds.PipelineRun], fields: []string{"spec.pipelineRef.name", "spec.status", "spec.managedBy"}},
		{GroupVersionResource: beta.WithResource("customruns"), Kind: "CustomRun", status: true, custom: newOf[crds.CustomRun]},
		{GroupVersionResource: schema.GroupVersion{Group: crds.GroupResolution, Version: crds.VersionResolution}.WithResource("resolutionrequests"), Kind: "ResolutionRequest", status: true, custom: newOf[crds.ResolutionRequest]},
		builtIn(core.WithResource("pods"), "Pod", podRules(), func(m metav1.ListMeta, items []corev1.Pod) runtime.Object {
			return &corev1.PodList{ListMeta: m, Items: items}
		}),
		builtIn(core.WithResource("events"), "Event", eventRules(), func(m metav1.ListMeta, items []corev1.Event) runtime.Object {
			return &corev1.EventList{ListMeta: m, Items: items}
		}),
		builtIn(core.WithResource("configmaps"), "ConfigMap", configMapRules(), func(m metav1.ListMeta, items []corev1.ConfigMap) runtime.Object {
			return &corev1.ConfigMapList{ListMeta: m, Items: items}
		}),
		builtIn(coordinationv1.SchemeGroupVersion.WithResource("leases"), "Lease", leaseRules(), func(m metav1.ListMeta, items []coordinationv1.Lease) runtime.Object {
			return &coordinationv1.LeaseList{ListMeta: m, Items: items}
		}),
		builtIn(core.WithResource("serviceaccounts"), "ServiceAccount", rules{}, func(m metav1.ListMeta, items []corev1.ServiceAccount) runtime.Object {
			return &corev1.ServiceAccountList{ListMeta: m, Items: items}
		}),
		builtIn(core.WithResource("limitranges"), "LimitRange", limitRangeRules(), func(m metav1.ListMeta, items []corev1.LimitRange) runtime.Object {
			return &corev1.LimitRangeList{ListMeta: m, Items: items}
		}),
		builtIn(core.WithResource("secrets"), "Secret", secretRules(), func(m metav1.ListMeta, items []corev1.Secret) runtime.Object {
			return &corev1.SecretList{ListMeta: m, Items: items}
		}),
		builtIn(core.WithResource("persistentvolumeclaims"), "PersistentVolumeClaim", claimRules(), func(m metav1.ListMeta, items []corev1.PersistentVolumeClaim) runtime.Object {
			return &corev1.PersistentVolumeClaimList{ListMeta: m, Items: items}
		}),
		builtIn(admissionv1.SchemeGroupVersion.WithResource("mutatingwebhookconfigurations"), "MutatingWebhookConfiguration", rules{global: true, counts: true}, func(m metav1.ListMeta, items []admissionv1.MutatingWebhookConfiguration) runtime.Object {
			return &admissionv1.MutatingWebhookConfigurationList{ListMeta: m, Items: items}
		}),
		builtIn(admissionv1.SchemeGroupVersion.WithResource("validatingwebhookconfigurations"), "ValidatingWebhookConfiguration", rules{global: true, counts: true}, func(m metav1.ListMeta, items []admissionv1.ValidatingWebhookConfiguration) runtime.Object {
			return &admissionv1.ValidatingWebhookConfigurationList{ListMeta: m, Items: items}
		}),
		{GroupVersionResource: schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}, Kind: "CustomResourceDefinition", custom: newOf[definition], global: true},
		builtIn(core.WithResource("namespaces"), "Namespace", rules{global: true}, func(m metav1.ListMeta, items []corev1.Namespace) runtime.Object {
			return &corev1.NamespaceList{ListMeta: m, Items: items}
		}),
	}
	byName := map[string]*Resource{}
	for _, r := range all {
		byName[r.Resource] = r
	}
	return byName
}

// A definition is a CustomResourceDefinition, of which the model knows no field: what it
// serves is in resources.
type definition struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`

	Spec json.RawMessage `json:"spec"` // which may be anything
}

func newOf[T any]() any { return new(T) }

// builtIn describes a kind by its Go type. Lists of it are made from a slice.
func builtIn[T any, P interface {
	*T
	runtime.Object
}](gvr schema.GroupVersionResource, kind string, of rules, list func(metav1.ListMeta, []T) runtime.Object) *Resource {
	return &Resource{
		GroupVersionResource: gvr, Kind: kind, rules: of, status: of.status, fields: of.fields, global: of.global,
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

// serves tells whether the resource is served in a version.
func (r *Resource) serves(gv schema.GroupVersion) bool {
	return r.Group == gv.Group && (r.Version == gv.Version || slices.Contains(r.also, gv.Version))
}
