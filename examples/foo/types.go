package main

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/intstr"
)

func fooVersion() schema.GroupVersion {
	return schema.GroupVersion{Group: "examples.millrace.dev", Version: "v1"}
}

func fooKind() schema.GroupVersionKind { return fooVersion().WithKind("Foo") }

// Foo asks for an image to be run, and to be reached under the Foo's name.
type Foo struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`

	Spec   FooSpec   `json:"spec"`
	Status FooStatus `json:"status,omitzero"`
}

// FooSpec is what somebody wants.
type FooSpec struct {
	Image    string   `json:"image"`
	Command  []string `json:"command,omitempty"`  // default: the image's
	Replicas int32    `json:"replicas,omitempty"` // at least 1, which is the default: see config/crd.yaml
	Port     int32    `json:"port,omitempty"`     // default 8080
}

// FooStatus is what there is.
type FooStatus struct {
	ObservedGeneration int64              `json:"observedGeneration,omitempty"`
	Conditions         []metav1.Condition `json:"conditions,omitempty"`
}

func metaOf(foo *Foo) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: foo.Namespace, Name: foo.Name, Labels: map[string]string{"app.kubernetes.io/instance": foo.Name}}
}

func deploymentOf(foo *Foo) *appsv1.Deployment {
	meta := metaOf(foo)
	container := corev1.Container{Name: "foo", Image: foo.Spec.Image, Command: foo.Spec.Command, Ports: []corev1.ContainerPort{{ContainerPort: foo.Spec.Port}}}
	return &appsv1.Deployment{
		TypeMeta: metav1.TypeMeta{APIVersion: appsv1.SchemeGroupVersion.String(), Kind: "Deployment"}, ObjectMeta: meta,
		Spec: appsv1.DeploymentSpec{
			Replicas: &foo.Spec.Replicas,
			Selector: &metav1.LabelSelector{MatchLabels: meta.Labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: meta.Labels},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{container}},
			},
		},
	}
}

func serviceOf(foo *Foo) *corev1.Service {
	meta := metaOf(foo)
	return &corev1.Service{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Service"}, ObjectMeta: meta,
		Spec: corev1.ServiceSpec{Selector: meta.Labels, Ports: []corev1.ServicePort{{Port: 80, TargetPort: intstr.FromInt32(foo.Spec.Port)}}},
	}
}
