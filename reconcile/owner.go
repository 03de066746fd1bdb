package reconcile

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// ControllerReference is what a child carries to name owner as its controller:
// the garbage collector deletes the child after the owner, and the child's events
// find the owner's key. The kind has to be given, because an object decoded from
// a list does not say its own.
func ControllerReference(owner metav1.Object, kind schema.GroupVersionKind) metav1.OwnerReference {
	yes := true
	return metav1.OwnerReference{
		APIVersion:         kind.GroupVersion().String(),
		Kind:               kind.Kind,
		Name:               owner.GetName(),
		UID:                owner.GetUID(),
		Controller:         &yes,
		BlockOwnerDeletion: &yes,
	}
}

// SetControllerReference puts owner's ControllerReference on child, in place of
// an older one of the same owner. It refuses, and changes nothing, if the owner
// has no UID (it was never created), if the two are in different namespaces (the
// garbage collector would delete the child as an orphan), or if the child has
// another controller.
func SetControllerReference(owner metav1.Object, kind schema.GroupVersionKind, child metav1.Object) error {
	switch namespace := owner.GetNamespace(); {
	case owner.GetUID() == "":
		return fmt.Errorf("%s %q has no UID and cannot own anything yet", kind.Kind, owner.GetName())
	case namespace != "" && namespace != child.GetNamespace():
		return fmt.Errorf("%s %q of namespace %q cannot own %q of namespace %q",
			kind.Kind, owner.GetName(), namespace, child.GetName(), child.GetNamespace())
	}
	kept := make([]metav1.OwnerReference, 0, len(child.GetOwnerReferences())+1)
	for _, ref := range child.GetOwnerReferences() {
		switch {
		case ref.UID == owner.GetUID():
			continue
		case ref.Controller != nil && *ref.Controller:
			return fmt.Errorf("%q is controlled by %s %q, not by %s %q",
				child.GetName(), ref.Kind, ref.Name, kind.Kind, owner.GetName())
		}
		kept = append(kept, ref)
	}
	child.SetOwnerReferences(append(kept, ControllerReference(owner, kind)))
	return nil
}
