package apiserver

import (
	"encoding/json"
	"errors"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	utiljson "k8s.io/apimachinery/pkg/util/json"
)

// An Actor does things to the store by no network: nothing goes wrong with that,
// and it takes no time. The kubelet is one, and users are. Errors are those of
// apimachinery's api/errors.
type Actor struct {
	server *Server
	name   string
}

// Actor makes one. It is safe for use from many goroutines.
func (s *Server) Actor(name string) Actor { return Actor{s, name} }

// Create makes an object.
func (a Actor) Create(resource string, object any) (*Object, error) {
	r := a.server.resources[resource]
	u, err := r.untyped(object)
	if err != nil {
		return nil, err
	}
	u.SetAPIVersion(r.apiVersion())
	u.SetKind(r.Kind)
	return a.apply(write{
		Request:  Request{Verb: "create", Resource: resource, Key: types.NamespacedName{Namespace: u.GetNamespace(), Name: u.GetName()}},
		resource: r, object: u,
	})
}

// Change reads an object, has change change it, and writes it. Nobody can get in
// between.
func Change[T any](a Actor, resource, subresource string, key types.NamespacedName, change func(*T)) (*Object, error) {
	for {
		before, ok := a.server.Object(resource, key)
		if !ok {
			return nil, apierrors.NewNotFound(a.server.resources[resource].GroupResource(), key.Name)
		}
		object := into[T](before)
		change(object)
		u, err := a.server.resources[resource].untyped(object)
		if err != nil {
			return nil, err
		}
		after, err := a.apply(write{
			Request:  Request{Verb: "update", Resource: resource, Subresource: subresource, Key: key},
			resource: a.server.resources[resource], object: u,
		})
		if !apierrors.IsConflict(err) {
			return after, err
		}
	}
}

// untyped is an object in Go as it is stored.
func (r *Resource) untyped(object any) (*unstructured.Unstructured, error) {
	if o, ok := object.(runtime.Object); ok && r.builtIn() {
		return untype(r, o), nil
	}
	raw, err := json.Marshal(object)
	if err != nil {
		return nil, err
	}
	fields := map[string]any{}
	return &unstructured.Unstructured{Object: fields}, utiljson.Unmarshal(raw, &fields)
}

// Patch applies a merge patch.
func (a Actor) Patch(resource, subresource string, key types.NamespacedName, patch string) (*Object, error) {
	return a.apply(write{
		Request:  Request{Verb: "patch", Resource: resource, Subresource: subresource, Key: key},
		resource: a.server.resources[resource], patchType: types.MergePatchType, patch: []byte(patch),
	})
}

// Delete asks for the deletion of an object.
func (a Actor) Delete(resource string, key types.NamespacedName, options metav1.DeleteOptions) (*Object, error) {
	return a.apply(write{
		Request:  Request{Verb: "delete", Resource: resource, Key: key},
		resource: a.server.resources[resource], options: options,
	})
}

func (a Actor) apply(w write) (*Object, error) {
	w.Actor, w.trusted = a.name, true
	w.Request = a.server.numbered(w.Request)
	w.sent = time.Now()
	out, err := a.server.apply(w)
	if err != nil {
		return nil, err
	}
	return out.object, nil
}

// Orphan is an object whose owners are all gone.
type Orphan struct {
	Resource string
	Key      types.NamespacedName
	UID      types.UID
}

// Orphans are what the garbage collector would delete.
func (s *Server) Orphans() []Orphan {
	s.mu.Lock()
	defer s.mu.Unlock()
	alive := map[types.UID]bool{}
	for _, objects := range s.objects {
		for _, o := range objects {
			alive[o.GetUID()] = true
		}
	}
	var found []Orphan //nolint:prealloc // most often there are none
	for _, resource := range sortedKeys(s.objects) {
		left := map[types.NamespacedName]*Object{}
		for key, o := range s.objects[resource] {
			if orphaned(o, alive) {
				left[key] = o
			}
		}
		for _, o := range sorted(left, "") {
			found = append(found, Orphan{resource, o.Key(), o.GetUID()})
		}
	}
	return found
}

func orphaned(o *Object, alive map[types.UID]bool) bool {
	owners := o.GetOwnerReferences()
	for _, owner := range owners {
		if alive[owner.UID] {
			return false
		}
	}
	return len(owners) > 0
}

// Release takes the owner references to an owner out of an object, as the
// garbage collector does for a deletion that orphans.
func (a Actor) Release(resource string, key types.NamespacedName, owner types.UID) error {
	_, err := Change(a, resource, "", key, func(m *map[string]any) {
		u := &unstructured.Unstructured{Object: *m}
		var kept []metav1.OwnerReference
		for _, o := range u.GetOwnerReferences() {
			if o.UID != owner {
				kept = append(kept, o)
			}
		}
		u.SetOwnerReferences(kept)
	})
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

// Reason is an error's, for people.
func Reason(err error) string {
	var status apierrors.APIStatus
	if errors.As(err, &status) {
		return string(status.Status().Reason)
	}
	return ""
}
