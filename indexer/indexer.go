package indexer

import (
	"iter"
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

	// mu is held for a few lookups at most, by readers and writer alike. It is
	// not one that lets readers share: where those are many, the writer would wait
	// until each of them has had its turn on a core.
	mu    sync.Mutex
	cells cells   // of all objects
	keys  table   // the place of each by its key
	order ordered // all of them; those of a namespace stand together

	// indices are told of every change of cells under the same lock: no reader
	// sees the one without the other.
	indices []index
	names   map[string]*indexState
	unheard []IndexFailure // the first of each index, as long as it was not logged

	// version is how far the copy has come: everything that the stream said up
	// to there is in cells.
	version string
	rewinds int // how often it went back
	waiters waiters

	tiers        tiers // what cells hold
	dictionaries map[*wire.Dictionary]int
	saved        int64 // what was cut from all objects that ever came

	policy  policy
	packs   atomic.Int64
	unpacks atomic.Int64
	decodes atomic.Int64
	failed  atomic.Int64
	running atomic.Bool
	synced  chan struct{}
}

// indexState is what the store remembers of an index by its name.
type indexState struct{ failed bool }

var _ fifo.Known = (*Indexer)(nil)

// New makes an empty Indexer. It starts nothing. The name is for errors and for
// people: by custom the resource, in the plural.
func New(name string) *Indexer {
	return &Indexer{
		name:         name,
		keys:         newTable(0),
		names:        map[string]*indexState{},
		dictionaries: map[*wire.Dictionary]int{},
		synced:       make(chan struct{}),
	}
}

// Name is what New was given.
func (x *Indexer) Name() string { return x.name }

// Object is the newest state of one object.
func (x *Indexer) Object(key types.NamespacedName) (*wire.Object, bool) {
	f, ok := x.find(key)
	if !ok {
		return nil, false
	}
	return x.look(f), true
}

func (x *Indexer) find(key types.NamespacedName) (found, bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	p, ok := x.keys.get(key, &x.cells)
	if !ok {
		return found{}, false
	}
	return found{p, x.cells.at(p), x.cells.read(p)}, true
}

// Objects is every object of one namespace, or of all if it is empty, in the
// order of their keys, as of one moment.
func (x *Indexer) Objects(namespace string) []*wire.Object {
	m := x.moment(namespace)
	return m.objects(x)
}

func (x *Indexer) moment(namespace string) moment {
	m := x.momentOfAll()
	if namespace != "" {
		from := types.NamespacedName{Namespace: namespace}
		m.narrow(from, types.NamespacedName{Namespace: namespace + "\x00"}) // the first that could follow
	}
	return m
}

func (x *Indexer) momentOfAll() moment {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.cells.momentLocked(&x.order)
}

// Known implements fifo.Known. Nothing is unpacked for it.
func (x *Indexer) Known(key types.NamespacedName) (uid types.UID, resourceVersion string, ok bool) {
	f, ok := x.find(key)
	if !ok {
		return "", "", false
	}
	uid, resourceVersion = f.cell.identity()
	return uid, resourceVersion, true
}

// Keys implements fifo.Known. It runs over the keys of one moment, in their
// order, and holds no lock while it does. Nothing is unpacked for it. A key may be
// a part of its object: clone one that is to be kept for longer.
func (x *Indexer) Keys() iter.Seq[types.NamespacedName] {
	m := x.moment("")
	return func(yield func(types.NamespacedName) bool) {
		for f := range m.each {
			if !yield(f.cell.key()) {
				return
			}
		}
	}
}
