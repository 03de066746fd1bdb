package oracle

import (
	"context"
	"slices"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/tools/cache"
)

// startTheirs runs client-go's informer, the one that decodes every field.
func startTheirs(t *testing.T, k kind, resync time.Duration) *side {
	t.Helper()
	s := &side{server: serve(t, k), ear: newEar()}
	client, err := dynamic.NewForConfigAndClient(s.restConfig(), s.client(t))
	must(t, err)
	byColour := cache.Indexers{"colour": func(o any) ([]string, error) {
		colour, has := o.(*unstructured.Unstructured).GetLabels()["colour"]
		if !has {
			return nil, nil
		}
		return []string{colour}, nil
	}}
	informer := dynamicinformer.NewFilteredDynamicInformer(client, pods, "", resync, byColour, nil).Informer()
	must(t, informer.SetTransform(theirTransform))
	_, err = informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: func(o any) {
			s.hear(keyOf(o), tell("added", o))
		},
		UpdateFunc: s.theyUpdate,
		DeleteFunc: s.theyDelete,
	})
	must(t, err)
	s.held = func() held { return theyHold(t, informer.GetIndexer()) }

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

// theirTransform is what transform.Default does.
func theirTransform(o any) (any, error) {
	u := o.(*unstructured.Unstructured)
	unstructured.RemoveNestedField(u.Object, "metadata", "managedFields")
	unstructured.RemoveNestedField(u.Object, "metadata", "annotations", "kubectl.kubernetes.io/last-applied-configuration")
	return u, nil
}

func keyOf(o any) types.NamespacedName {
	u := o.(*unstructured.Unstructured)
	return types.NamespacedName{Namespace: u.GetNamespace(), Name: u.GetName()}
}

func tell(what string, o any) told {
	u := o.(*unstructured.Unstructured)
	return told{What: what, UID: u.GetUID(), Version: u.GetResourceVersion()}
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

func theyHold(t *testing.T, x cache.Indexer) held {
	t.Helper()
	h := held{map[types.NamespacedName]map[string]any{}, map[string][]string{}}
	for _, o := range x.List() {
		h.Objects[keyOf(o)] = o.(*unstructured.Unstructured).Object
	}
	for _, colour := range colours {
		found, err := x.IndexKeys("colour", colour)
		must(t, err)
		slices.Sort(found)
		h.Colours[colour] = append([]string{}, found...)
	}
	return h
}
