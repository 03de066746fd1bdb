package reconcile

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// HasFinalizer tells whether o's deletion waits for name.
func HasFinalizer(o metav1.Object, name string) bool {
	return slices.Contains(o.GetFinalizers(), name)
}

// AddFinalizer makes o's deletion wait for name, and tells whether it did not
// before. It has to be written before whatever it is to clean up is made. The API
// server refuses new finalizers on an object that is being deleted.
func AddFinalizer(o metav1.Object, name string) (changed bool) {
	if HasFinalizer(o, name) {
		return false
	}
	o.SetFinalizers(append(slices.Clone(o.GetFinalizers()), name))
	return true
}

// RemoveFinalizer lets o's deletion go on as far as name is concerned, and tells
// whether it waited for it. The finalizers of others, and their order, stay.
func RemoveFinalizer(o metav1.Object, name string) (changed bool) {
	if !HasFinalizer(o, name) {
		return false
	}
	o.SetFinalizers(slices.DeleteFunc(slices.Clone(o.GetFinalizers()), func(f string) bool { return f == name }))
	return true
}
