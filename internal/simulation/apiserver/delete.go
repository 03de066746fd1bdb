package apiserver

import (
	"fmt"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// deleted is what the asking for a deletion comes to: the object goes, or is marked
// while its grace or its finalizers last. A pod is marked in any case, and a watch
// hears of that before it hears that the pod has gone.
func (s *Server) deleted(w write, e *Exchange, before *Object) (steps, *apierrors.StatusError) {
	if p := w.options.Preconditions; p != nil {
		if p.UID != nil {
			e.UID = *p.UID
		}
		if p.ResourceVersion != nil {
			e.ResourceVersion = *p.ResourceVersion
		}
		if err := another(w, e, before); err != nil {
			return steps{}, err
		}
	}
	u := before.withOwnMetadata()
	s.mark(w, before, u)
	finalizers := withPolicy(w.options, u.GetFinalizers())
	if !slices.Equal(finalizers, u.GetFinalizers()) {
		u.SetFinalizers(finalizers)
	}
	pod := w.Resource == "pods"
	gone := len(finalizers) == 0 && (!pod || *u.GetDeletionGracePeriodSeconds() == 0)
	if gone && !pod {
		return steps{gone: true}, nil
	}
	after := before
	if unlike(u, before) {
		after = newObject(w.resource, u, before.version)
	}
	return steps{after: after, gone: gone}, nil
}

func unlike(u *unstructured.Unstructured, before *Object) bool {
	was, is := before.GetDeletionGracePeriodSeconds(), u.GetDeletionGracePeriodSeconds()
	return was == nil || *was != *is || !slices.Equal(before.GetFinalizers(), u.GetFinalizers())
}

// another refuses the deletion of another object than the one that is meant.
func another(w write, e *Exchange, before *Object) *apierrors.StatusError {
	kind := schema.GroupResource{Group: w.resource.Group, Resource: w.resource.Kind}
	switch {
	case e.UID != "" && e.UID != before.GetUID():
		return apierrors.NewConflict(kind, w.Key.Name, fmt.Errorf("the UID in the precondition (%s) does not match the UID in record (%s). The object might have been deleted and then recreated", e.UID, before.GetUID()))
	case e.ResourceVersion != "" && e.ResourceVersion != before.GetResourceVersion():
		return apierrors.NewConflict(kind, w.Key.Name, fmt.Errorf("the ResourceVersion in the precondition (%s) does not match the ResourceVersion in record (%s). The object might have been modified", e.ResourceVersion, before.GetResourceVersion()))
	default:
		return nil
	}
}

// mark says in an object when it is to go. A later time than one that is there
// already is not taken.
func (s *Server) mark(w write, before *Object, u *unstructured.Unstructured) {
	old, grace := before.GetDeletionTimestamp(), graceOf(w, before)
	if old == nil {
		at := metav1.NewTime(time.Now().Add(s.clock + time.Duration(grace)*time.Second).Truncate(time.Second))
		u.SetDeletionTimestamp(&at)
		u.SetDeletionGracePeriodSeconds(&grace)
		if g := before.GetGeneration(); g > 0 {
			u.SetGeneration(g + 1)
		}
		return
	}
	was := *before.GetDeletionGracePeriodSeconds()
	if w.options.GracePeriodSeconds == nil || grace >= was {
		return
	}
	at := metav1.NewTime(old.Add(time.Duration(grace-was) * time.Second))
	u.SetDeletionTimestamp(&at)
	u.SetDeletionGracePeriodSeconds(&grace)
}

// graceOf is how long the object may take to go. A pod that is on no node, or
// has ended, goes at once.
func graceOf(w write, before *Object) int64 {
	if w.Resource != "pods" {
		return 0
	}
	node, _, _ := unstructured.NestedString(before.Object, "spec", "nodeName")
	phase, _, _ := unstructured.NestedString(before.Object, "status", "phase")
	if node == "" || phase == "Succeeded" || phase == "Failed" {
		return 0
	}
	if g := w.options.GracePeriodSeconds; g != nil {
		return *g
	}
	if g, ok, _ := unstructured.NestedInt64(before.Object, "spec", "terminationGracePeriodSeconds"); ok {
		return g
	}
	return 30
}

// withPolicy are the finalizers by which the garbage collector knows what is to
// become of what the object owns.
func withPolicy(o metav1.DeleteOptions, finalizers []string) []string {
	if o.PropagationPolicy == nil {
		return finalizers
	}
	kept := slices.DeleteFunc(slices.Clone(finalizers), func(f string) bool {
		return f == metav1.FinalizerOrphanDependents || f == metav1.FinalizerDeleteDependents
	})
	switch *o.PropagationPolicy {
	case metav1.DeletePropagationOrphan:
		kept = append(kept, metav1.FinalizerOrphanDependents)
	case metav1.DeletePropagationForeground:
		kept = append(kept, metav1.FinalizerDeleteDependents)
	case metav1.DeletePropagationBackground:
	}
	return kept
}
