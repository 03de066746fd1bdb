package taskrun

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"millrace/crds"
)

type possession int

const (
	nobodys possession = iota
	ours               // its controller is this very run
	leaving            // somebody else's, and about to go: see whose
	strangers
)

// whose goes by the UID: a name says nothing about who made a pod. One that is
// being deleted will leave its name to us, and so will the pod of a deleted run of
// our name, once the garbage collector comes to it.
func whose(pod *corev1.Pod, run *crds.TaskRun) possession {
	if pod == nil {
		return nobodys
	}
	controller := metav1.GetControllerOf(pod)
	switch {
	case controller != nil && controller.UID == run.UID:
		return ours
	case pod.DeletionTimestamp != nil:
		return leaving
	case controller != nil && controller.Kind == crds.KindTaskRun && controller.Name == run.Name:
		return leaving
	default:
		return strangers
	}
}
