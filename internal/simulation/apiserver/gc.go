package apiserver

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Collect does what there is to do for a garbage collector, once: it deletes what
// its owners have left behind, and lets go of owners that wait for what they own,
// or for its being left alone.
func (a Actor) Collect() {
	for _, o := range a.server.Orphans() {
		_, _ = a.Delete(o.Resource, o.Key, metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &o.UID}})
	}
	for _, owner := range a.server.all(func(o *Object) bool { return o.GetDeletionTimestamp() != nil }) {
		switch owned := a.server.all(func(o *Object) bool { return owns(owner, o) }); {
		case slices.Contains(owner.GetFinalizers(), metav1.FinalizerOrphanDependents):
			for _, o := range owned {
				_ = a.Release(o.resource.Resource, o.Key(), owner.GetUID())
			}
			a.dropFinalizer(owner, metav1.FinalizerOrphanDependents)
		case slices.Contains(owner.GetFinalizers(), metav1.FinalizerDeleteDependents):
			for _, o := range owned {
				_, _ = a.Delete(o.resource.Resource, o.Key(), metav1.DeleteOptions{})
			}
			if len(owned) == 0 {
				a.dropFinalizer(owner, metav1.FinalizerDeleteDependents)
			}
		}
	}
}

func (a Actor) dropFinalizer(o *Object, name string) {
	_, _ = Change(a, o.resource.Resource, "", o.Key(), func(m *map[string]any) {
		u := &unstructured.Unstructured{Object: *m}
		u.SetFinalizers(slices.DeleteFunc(u.GetFinalizers(), func(f string) bool { return f == name }))
	})
}

func owns(owner, o *Object) bool {
	return slices.ContainsFunc(o.GetOwnerReferences(), func(r metav1.OwnerReference) bool { return r.UID == owner.GetUID() })
}

// all objects of which something is true, in an order that does not change.
func (s *Server) all(which func(*Object) bool) (found []*Object) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, resource := range sortedKeys(s.objects) {
		for _, o := range s.sortedLocked(resource) {
			if which(o) {
				found = append(found, o)
			}
		}
	}
	return found
}
