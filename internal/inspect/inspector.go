package inspect

import (
	"cmp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"millrace/fifo"
	"millrace/indexer"
	"millrace/reflector"
	"millrace/wire"
)

// Inspector is what there is to see of one run of the program. Make it with New.
// All methods may be called from anywhere.
type Inspector struct {
	version string
	leads   func() bool
	share   func() float64 // nil if the work is not shared

	mu          sync.Mutex
	resources   []*Resource
	controllers []*Controller
}

// New makes an Inspector that knows nothing yet, and starts nothing. The version
// is the program's, and leads tells whether this replica does the work.
func New(version string, leads func() bool) *Inspector {
	return &Inspector{version: version, leads: leads}
}

// Shared says that replicas share the work, and how much of the namespaces' hashes this one
// has: from 0, which is none now, to 1. Call it before Handler serves.
func (i *Inspector) Shared(share func() float64) { i.share = share }

// Controller is the queue and the pool of that name, whose keys are objects of a
// resource. Call it once for each; one of the same name takes the place of the last.
func (i *Inspector) Controller(name, resource string) *Controller {
	c := newController(name, resource)
	i.mu.Lock()
	defer i.mu.Unlock()
	if at := slices.IndexFunc(i.controllers, func(c *Controller) bool { return c.name == name }); at >= 0 {
		i.controllers[at] = c
	} else {
		i.controllers = append(i.controllers, c)
	}
	return c
}

// Resource is the chain of that resource. Call it once for each; one of the same name
// takes the place of the last.
func (i *Inspector) Resource(name string) *Resource {
	r := &Resource{name: name}
	i.mu.Lock()
	defer i.mu.Unlock()
	if at := slices.IndexFunc(i.resources, func(r *Resource) bool { return r.name == name }); at >= 0 {
		i.resources[at] = r
	} else {
		i.resources = append(i.resources, r)
	}
	return r
}

func (i *Inspector) all() ([]*Resource, []*Controller) {
	i.mu.Lock()
	defer i.mu.Unlock()
	resources := slices.Clone(i.resources)
	slices.SortStableFunc(resources, func(a, b *Resource) int { return cmp.Compare(a.narrow(), b.narrow()) })
	return resources, slices.Clone(i.controllers)
}

func (i *Inspector) controller(name string) (*Controller, bool) {
	_, all := i.all()
	at := slices.IndexFunc(all, func(c *Controller) bool { return c.name == name })
	if at < 0 {
		return nil, false
	}
	return all[at], true
}

func (i *Inspector) resource(name string) (*Resource, bool) {
	all, _ := i.all()
	at := slices.IndexFunc(all, func(r *Resource) bool { return r.name == name && r.stages.Load() != nil })
	if at < 0 {
		return nil, false
	}
	return all[at], true
}

// controllerNames are for people, in order.
func (i *Inspector) controllerNames() []string {
	_, all := i.all()
	slices.SortFunc(all, func(a, b *Controller) int { return cmp.Compare(a.name, b.name) })
	names := make([]string, len(all))
	for n, c := range all {
		names[n] = c.name
	}
	return names
}

// Resource is the chain of one resource, from the reflector to the store.
type Resource struct {
	name   string
	stages atomic.Pointer[stages]

	added, modified, deleted, bookmarks, others atomic.Uint64
	lists                                       atomic.Uint64
	failure                                     atomic.Pointer[failure]
}

// narrow is 1 for the chain of one object, whose name is there behind a slash, and 0 for
// that of a whole resource, which is shown before it.
func (r *Resource) narrow() int { return strings.Count(r.name, "/") }

// stages are what is looked at.
type stages struct {
	source *reflector.Reflector
	fifo   *fifo.FIFO
	store  *indexer.Indexer
}

// failure is the last exchange that failed, and when the next one is due.
type failure struct {
	reflector.Failure
	next time.Time
}

// Source adds the resource's hooks to those of a reflector.
func (r *Resource) Source(trace reflector.Trace) reflector.Trace {
	return trace.Then(reflector.Trace{
		Event:  func(e wire.EventType) { r.counter(e).Add(1) },
		Listed: func(reflector.List) { r.lists.Add(1) },
		Failed: func(f reflector.Failure) { r.failure.Store(&failure{f, time.Now().Add(f.Wait)}) },
	})
}

func (r *Resource) counter(e wire.EventType) *atomic.Uint64 {
	switch e {
	case wire.Added:
		return &r.added
	case wire.Modified:
		return &r.modified
	case wire.Deleted:
		return &r.deleted
	case wire.Bookmark:
		return &r.bookmarks
	default:
		return &r.others
	}
}

// Attach says which stages the chain has.
func (r *Resource) Attach(source *reflector.Reflector, f *fifo.FIFO, store *indexer.Indexer) {
	r.stages.Store(&stages{source, f, store})
}
