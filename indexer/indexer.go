package indexer

import (
	"iter"
	"maps"
	"slices"
	"sync"
	"sync/atomic"

	"k8s.io/apimachinery/pkg/types"

	"millrace/fifo"
	"millrace/wire"
)

// Indexer is the local copy of one resource: objects by key, and indices over
// them. See the package's doc for what it promises. Make it with New.
type Indexer struct {
	name string

	mu      sync.RWMutex
	objects map[types.NamespacedName]*slot
	// namespaces holds the slots of objects once more, by namespace.
	namespaces sets[string]
	// indices are told of every change of objects under the same lock: no
	// reader sees the one without the other.
	indices []index
	names   map[string]bool // of indices

	// version is how far the copy has come: everything that the stream said up
	// to there is in objects.
	version string
	moved   chan struct{} // closed when version changes; nil while nobody waits for it

	bytes int64 // the sizes of all objects
	saved int64 // what was cut from all objects that ever came

	decodes atomic.Int64
	running atomic.Bool
	synced  chan struct{}
}

var _ fifo.Known = (*Indexer)(nil)

// slot is the place of one object. Indices point to slots, so a new state whose
// index values are the same touches none.
type slot struct {
	object *wire.Object // never nil while the slot is in objects
}

// New makes an empty Indexer. It starts nothing. The name is for errors and for
// people: by custom the resource, in the plural.
func New(name string) *Indexer {
	return &Indexer{
		name:       name,
		objects:    map[types.NamespacedName]*slot{},
		namespaces: sets[string]{},
		names:      map[string]bool{},
		synced:     make(chan struct{}),
	}
}

// Name is what New was given.
func (x *Indexer) Name() string { return x.name }

// Object is the newest state of one object, as it is kept.
func (x *Indexer) Object(key types.NamespacedName) (*wire.Object, bool) {
	x.mu.RLock()
	defer x.mu.RUnlock()
	s, ok := x.objects[key]
	if !ok {
		return nil, false
	}
	return s.object, true
}

// Objects is every object of one namespace, or of all if it is empty, in the
// order of their keys, as of one moment.
func (x *Indexer) Objects(namespace string) []*wire.Object {
	x.mu.RLock()
	defer x.mu.RUnlock()
	if namespace != "" {
		return x.namespaces.objects(namespace)
	}
	all := make([]*wire.Object, 0, len(x.objects))
	for _, namespace := range slices.Sorted(maps.Keys(x.namespaces)) {
		all = append(all, x.namespaces.objects(namespace)...)
	}
	return all
}

// Known implements fifo.Known.
func (x *Indexer) Known(key types.NamespacedName) (uid types.UID, resourceVersion string, ok bool) {
	o, ok := x.Object(key)
	if !ok {
		return "", "", false
	}
	return o.UID(), o.ResourceVersion(), true
}

// Keys implements fifo.Known. It runs over the keys of one moment, and holds no
// lock while it does.
func (x *Indexer) Keys() iter.Seq[types.NamespacedName] {
	x.mu.RLock()
	defer x.mu.RUnlock()
	return slices.Values(slices.Collect(maps.Keys(x.objects)))
}

// Stats is the size of an Indexer, as of one moment.
type Stats struct {
	Objects    int
	Bytes      int64 // the sum of the objects' sizes (see wire.Object.Size); the maps around them are not counted
	SavedBytes int64 // what was cut from objects before they came here, summed up since the start
	Decodes    int64 // how many objects were decoded for readers since the start
}

// Stats costs the same however many objects there are.
func (x *Indexer) Stats() Stats {
	x.mu.RLock()
	defer x.mu.RUnlock()
	return Stats{
		Objects:    len(x.objects),
		Bytes:      x.bytes,
		SavedBytes: x.saved,
		Decodes:    x.decodes.Load(),
	}
}
