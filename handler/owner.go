package handler

import (
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"millrace/indexer"
	"millrace/predicate"
	"millrace/wire"
)

// EnqueueOwner adds the keys of all owners of a kind that the object has, or had
// before the change. They are taken to live in the namespace of the object, as
// owners with a namespace must. Whatever one of the urgent predicates passes is
// urgent; without any, nothing is.
func EnqueueOwner(source string, kind schema.GroupKind, q Queue, urgent ...predicate.Func) func(indexer.Change) {
	to := target{source, q, predicate.Or(urgent...)}
	return func(c indexer.Change) {
		after, before := ownersOf(c.New), ownersOf(c.Old)
		for i, o := range after {
			if isA(o, kind) && !named(after[:i], kind, o.Name) {
				to.send(beside(c.Key, o.Name), c.Key.Name, c)
			}
		}
		for i, o := range before {
			if isA(o, kind) && !named(before[:i], kind, o.Name) && !named(after, kind, o.Name) {
				to.send(beside(c.Key, o.Name), c.Key.Name, c)
			}
		}
	}
}

// beside is the key of another object in the same namespace.
func beside(key types.NamespacedName, name string) types.NamespacedName {
	key.Name = name
	return key
}

func ownersOf(o *wire.Object) []wire.Owner {
	if o == nil {
		return nil
	}
	return o.Owners()
}

// named says whether an owner of that kind and name is among them, of any UID:
// the key is the same.
func named(owners []wire.Owner, kind schema.GroupKind, name string) bool {
	for _, o := range owners {
		if o.Name == name && isA(o, kind) {
			return true
		}
	}
	return false
}

// isA compares without the version: an owner reference keeps the one that its
// writer spoke.
func isA(o wire.Owner, kind schema.GroupKind) bool {
	group, _, found := strings.Cut(o.APIVersion, "/")
	if !found {
		group = "" // "v1": the core group has no name
	}
	return o.Kind == kind.Kind && group == kind.Group
}
