package oracle

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/tools/cache"
)

// startTheirs runs client-go's informer.
func startTheirs(t *testing.T, k kind, resync time.Duration) *side {
	t.Helper()
	s := &side{server: serve(t, k), ear: newEar()}
	informer := s.theirInformer(t, resync)
	must(t, informer.SetTransform(s.theirTransform))
	_, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: func(o any) {
			s.hear(keyOf(o), tell("added", o))
		},
		UpdateFunc: s.theyUpdate,
		DeleteFunc: s.theyDelete,
	})
	must(t, err)
	s.held = func() held { return k.Resource.theyHold(t, informer.GetIndexer()) }

	ctx, cancel := context.WithCancel(quietly(t))
	done := make(chan struct{})
	go func() {
		defer close(done)
		informer.RunWithContext(ctx)
	}()
	s.stop = func() {
		cancel()
		<-done
	}
	return s
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// theirInformer is the dynamic one, or that of a clientset.
func (s *side) theirInformer(t *testing.T, resync time.Duration) cache.SharedIndexInformer {
	t.Helper()
	r := s.Resource
	indexers := cache.Indexers{"label": r.theirLabel, "owner": theirOwners}
	if !r.typed {
		client, err := dynamic.NewForConfigAndClient(r.restConfig(), s.client(t))
		must(t, err)
		return dynamicinformer.NewFilteredDynamicInformer(client, r.GroupVersionResource, "", resync, indexers, nil).Informer()
	}
	client, err := corev1client.NewForConfigAndClient(r.restConfig(), s.client(t))
	must(t, err)
	return cache.NewSharedIndexInformer(cache.ToListWatcherWithWatchListSemantics(&cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, opts metav1.ListOptions) (runtime.Object, error) {
			return client.Pods("").List(ctx, opts)
		},
		WatchFuncWithContext: func(ctx context.Context, opts metav1.ListOptions) (watch.Interface, error) {
			return client.Pods("").Watch(ctx, opts)
		},
	}, client), &corev1.Pod{}, resync, indexers)
}

func (r resource) theirLabel(o any) ([]string, error) {
	value, has := o.(metav1.Object).GetLabels()[r.label]
	if !has {
		return nil, nil
	}
	return []string{value}, nil
}

func theirOwners(o any) (uids []string, err error) {
	for _, owner := range o.(metav1.Object).GetOwnerReferences() {
		uids = append(uids, string(owner.UID))
	}
	return uids, nil
}

const lastApplied = "kubectl.kubernetes.io/last-applied-configuration"

var errRefused = errors.New("refused, this once")

// theirTransform is what transform.Default does, and refuses what it is told to.
func (s *side) theirTransform(o any) (any, error) {
	if s.refuses(o.(metav1.Object).GetResourceVersion()) {
		return nil, errRefused
	}
	switch o := o.(type) {
	case *unstructured.Unstructured:
		unstructured.RemoveNestedField(o.Object, "metadata", "managedFields")
		unstructured.RemoveNestedField(o.Object, "metadata", "annotations", lastApplied)
	case *corev1.Pod:
		o.ManagedFields = nil
		delete(o.Annotations, lastApplied)
	}
	return o, nil
}

func keyOf(o any) types.NamespacedName {
	m := o.(metav1.Object)
	return types.NamespacedName{Namespace: m.GetNamespace(), Name: m.GetName()}
}

func tell(what string, o any) told {
	m := o.(metav1.Object)
	return told{What: what, UID: m.GetUID(), Version: m.GetResourceVersion()}
}

func (s *side) theyUpdate(before, after any) {
	was, is := tell("deleted", before), tell("updated", after)
	switch {
	case was.UID != is.UID:
		s.hearOtherwise(newLifeIsNoUpdate)
		is.What = "added"
	case was.Version == is.Version:
		s.hearAgain(keyOf(after))
		return
	}
	s.hear(keyOf(after), is)
}

func (s *side) theyDelete(o any) {
	tombstone, unknown := o.(cache.DeletedFinalStateUnknown)
	if unknown {
		o = tombstone.Obj
	}
	t := tell("deleted", o)
	t.Unknown = unknown
	s.hear(keyOf(o), t)
}

func (r resource) theyHold(t *testing.T, x cache.Indexer) held {
	t.Helper()
	h := holding()
	for _, o := range x.List() {
		fields := fieldsOf(t, o)
		h.Objects[keyOf(o)] = fields
		for _, f := range r.facets {
			h.Facets[keyOf(o)] = append(h.Facets[keyOf(o)], f.String()+": "+theirFacet(fields, f.String()))
		}
	}
	for _, value := range r.values {
		h.Found["label "+value] = theyFind(t, x, "label", value)
	}
	for _, uid := range r.owners() {
		h.Found["owner "+string(uid)] = theyFind(t, x, "owner", string(uid))
	}
	return h
}

func theyFind(t *testing.T, x cache.Indexer, index, value string) []string {
	t.Helper()
	found, err := x.IndexKeys(index, value)
	must(t, err)
	slices.Sort(found)
	return append([]string{}, found...)
}

// fieldsOf is a decoded object, field by field. A Go type says more than its
// fields as JSON, such as fractions of seconds: its protobuf stands beside them.
func fieldsOf(t *testing.T, o any) map[string]any {
	t.Helper()
	switch o := o.(type) {
	case *unstructured.Unstructured:
		return o.Object
	case *corev1.Pod:
		fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(o)
		must(t, err)
		fields["protobuf"] = string(marshal(o))
		return fields
	}
	t.Fatalf("client-go has a %T", o)
	return nil
}
