package peer

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache" //nolint:depguard // The peer.

	"millrace/wire"
)

// Metadata is the metadata of objects, as client-go would have it: all that an
// index looks at.
func Metadata(all []*wire.Object) []*metav1.PartialObjectMetadata {
	metas := make([]*metav1.PartialObjectMetadata, len(all))
	for i, o := range all {
		m := &metav1.PartialObjectMetadata{}
		m.Namespace, m.Name, m.UID = o.Key().Namespace, o.Key().Name, o.UID()
		for key, value := range o.Labels() {
			metav1.SetMetaDataLabel(&m.ObjectMeta, key, value)
		}
		for _, w := range o.Owners() {
			m.OwnerReferences = append(m.OwnerReferences, metav1.OwnerReference{APIVersion: w.APIVersion, Kind: w.Kind, Name: w.Name, UID: w.UID})
		}
		metas[i] = m
	}
	return metas
}

func metadata(o any) *metav1.PartialObjectMetadata {
	m, ok := o.(*metav1.PartialObjectMetadata)
	if !ok {
		panic("another object than was stored")
	}
	return m
}

// Index is client-go's store with the same indices as ours.
func Index(all []*metav1.PartialObjectMetadata, label string) (cache.Indexer, error) {
	x := cache.NewIndexer(cache.DeletionHandlingMetaNamespaceKeyFunc, cache.Indexers{
		cache.NamespaceIndex: cache.MetaNamespaceIndexFunc,
		"owner": func(o any) ([]string, error) {
			owners := metadata(o).OwnerReferences
			uids := make([]string, len(owners))
			for i, w := range owners {
				uids[i] = string(w.UID)
			}
			return uids, nil
		},
		"label": func(o any) ([]string, error) {
			value, ok := metadata(o).Labels[label]
			if !ok {
				return nil, nil
			}
			return []string{value}, nil
		},
	})
	for _, m := range all {
		if err := x.Add(m); err != nil {
			return nil, fmt.Errorf("index %s: %w", m.Name, err)
		}
	}
	return x, nil
}
