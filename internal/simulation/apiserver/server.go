package apiserver

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// Config of a Server. Its zero value works.
type Config struct {
	// Interference decides what goes wrong. Default: Calm.
	Interference Interference
	// Seen is told of each exchange, under the server's lock. Default: nobody.
	Seen func(Exchange)
	// Told is told of each event of a watch that is not skipped, when it is sent or
	// the watch ends in its place. Default: nobody.
	Told func(Event, EventVerdict)
	// Silent is told that a watch that says nothing was given up, and since when it
	// had said nothing. Default: nobody.
	Silent func(watch Request, since time.Time)
	// Unknown is told the path of a request for what is not modelled. It is
	// answered with 404. Default: nobody.
	Unknown func(path string)
	// Killed is told that Interference killed the process of an actor: its Link
	// is cut already. Default: nobody.
	Killed func(actor string)
	// PageCap is how many objects a page has at most, whatever the client asks
	// for. Default: 500.
	PageCap int
	// Custom are resources beside those of the model. Default: none.
	Custom []*Resource
	// NoWatchList refuses lists as streams.
	NoWatchList bool
	// Minor is what /version says. Default: 37.
	Minor int
}

// Server is an API server and its store.
type Server struct {
	cfg       Config
	resources map[string]*Resource
	bodies    *bodies
	pipes     network

	answers answers

	mu        sync.Mutex
	clock     time.Duration // what the server's clock is ahead of the time
	version   uint64
	uids      int
	objects   map[string]map[types.NamespacedName]*Object // by resource; each resource is there
	removed   map[string]bool                             // resources whose CRD is not there
	history   []change
	compacted uint64          // watches and lists from before that version are refused
	asked     map[Request]int // how often, for Request.Nth
	watches   map[*follower]bool
	news      map[*Resource]chan struct{} // closed when its watches have something to look at; none: nobody waits
}

// change is what one version did to one object.
type change struct {
	version       uint64
	before, after *Object // nil: it was not, or is no more
	last          *Object // of a deletion: the object at the version of the deletion
}

func (c change) object() *Object {
	if c.after != nil {
		return c.after
	}
	return c.last
}

// New makes a server with an empty store.
func New(cfg Config) *Server {
	if cfg.Interference == nil {
		cfg.Interference = Calm{}
	}
	if cfg.Seen == nil {
		cfg.Seen = func(Exchange) {}
	}
	if cfg.Told == nil {
		cfg.Told = func(Event, EventVerdict) {}
	}
	if cfg.Silent == nil {
		cfg.Silent = func(Request, time.Time) {}
	}
	if cfg.Unknown == nil {
		cfg.Unknown = func(string) {}
	}
	if cfg.Killed == nil {
		cfg.Killed = func(string) {}
	}
	if cfg.PageCap == 0 {
		cfg.PageCap = 500
	}
	if cfg.Minor == 0 {
		cfg.Minor = 37
	}
	s := &Server{
		cfg: cfg, resources: resources(), pipes: newNetwork(),
		version: 1000, compacted: 1000,
		objects: map[string]map[types.NamespacedName]*Object{}, removed: map[string]bool{},
		asked: map[Request]int{}, watches: map[*follower]bool{}, news: map[*Resource]chan struct{}{},
	}
	for _, also := range cfg.Custom {
		s.resources[also.Resource] = also
	}
	s.bodies = newBodies(s.resources)
	for name := range s.resources {
		s.objects[name] = map[types.NamespacedName]*Object{}
	}
	return s
}

// numbered gives a request its number.
func (s *Server) numbered(r Request) Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	r.Nth = 0
	if resource := s.resources[r.Resource]; resource != nil {
		r.Group = resource.Group
	}
	s.asked[r]++
	r.Nth = s.asked[r]
	return r
}

// commitLocked makes after the present version of an object; nil removes it. It
// returns the object as watches are told of it.
func (s *Server) commitLocked(r *Resource, key types.NamespacedName, before, after *Object) (committed *Object) {
	s.version++
	c := change{version: s.version, before: before}
	if after == nil {
		last := before.withOwnMetadata()
		last.SetResourceVersion(fmt.Sprint(s.version))
		c.last = newObject(r, last, s.version)
		delete(s.objects[r.Resource], key)
	} else {
		after.SetResourceVersion(fmt.Sprint(s.version))
		c.after = newObject(r, after.Unstructured, s.version)
		s.objects[r.Resource][key] = c.after
	}
	s.history = append(s.history, c)
	s.tellLocked(r)
	return c.object()
}

// tellLocked has the watches of a resource look. Those of others need not: a Lease is
// renewed more often than all else happens, and there are twenty watches.
func (s *Server) tellLocked(r *Resource) {
	if news := s.news[r]; news != nil {
		close(news)
		delete(s.news, r)
	}
}

// tellAllLocked has every watch look.
func (s *Server) tellAllLocked() {
	for _, name := range s.Resources() { // who looks first must not be left to a map
		s.tellLocked(s.resources[name])
	}
}

// newsLocked is closed when a watch of a resource is to look again.
func (s *Server) newsLocked(r *Resource) <-chan struct{} {
	if s.news[r] == nil {
		s.news[r] = make(chan struct{})
	}
	return s.news[r]
}

// SetClock has the server's clock be ahead of the time, or behind it: what it
// writes into objects. Nothing else of it goes by that clock.
func (s *Server) SetClock(ahead time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.clock = ahead
}

// Version is the present resource version.
func (s *Server) Version() uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.version
}

// Resources are those that the server has, by their plural names, sorted.
func (s *Server) Resources() []string { return slices.Sorted(maps.Keys(s.resources)) }

// Objects are those of a resource, sorted by namespace and name.
func (s *Server) Objects(resource string) []*Object {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.sortedLocked(resource)
}

// Object is the present version of one.
func (s *Server) Object(resource string, key types.NamespacedName) (*Object, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	o, ok := s.objects[resource][key]
	return o, ok
}

func (s *Server) sortedLocked(resource string) []*Object {
	return sorted(s.objects[resource], "")
}

// sorted are the objects of a namespace, or of all, in the order of their keys in
// etcd: those of "a-b" stand before those of "a", since "-" is less than "/".
func sorted(objects map[types.NamespacedName]*Object, namespace string) []*Object {
	all := make([]*Object, 0, len(objects))
	for key, o := range objects {
		if namespace == "" || namespace == key.Namespace {
			all = append(all, o)
		}
	}
	slices.SortFunc(all, func(a, b *Object) int {
		if x, y := a.GetNamespace(), b.GetNamespace(); x != y {
			return strings.Compare(x+"/", y+"/")
		}
		return strings.Compare(a.GetName(), b.GetName())
	})
	return all
}

// Compact forgets the history: who has not seen all of it has to list again.
func (s *Server) Compact() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.compactLocked()
}

func (s *Server) compactLocked() {
	s.compacted = s.version
	oldest := s.version
	for f := range s.watches {
		oldest = min(oldest, f.position)
	}
	s.history = slices.DeleteFunc(s.history, func(c change) bool { return c.version <= oldest })
}

// EndWatches ends every watch, as a restart does.
func (s *Server) EndWatches(how Ending) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for f := range s.watches {
		f.end = how
	}
	s.tellAllLocked()
}

// A Backup is a state of the store.
type Backup struct {
	version uint64
	objects map[string]map[types.NamespacedName]*Object
}

// Backup makes one.
func (s *Server) Backup() Backup {
	s.mu.Lock()
	defer s.mu.Unlock()
	b := Backup{s.version, map[string]map[types.NamespacedName]*Object{}}
	for resource, objects := range s.objects {
		b.objects[resource] = maps.Clone(objects)
	}
	return b
}

// Restore makes a backup the present: the objects, and the resource version, raised
// by bump. What is before that is forgotten, and watches end.
//
// Kubernetes' documentation wants a bump (etcdutl snapshot restore --bump-revision
// --mark-compacted), beyond every number that anybody was told.
func (s *Server) Restore(b Backup, bump uint64) {
	s.EndWatches(Reset)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.version = b.version + bump
	for resource, objects := range b.objects {
		clear(s.objects[resource])
		maps.Copy(s.objects[resource], objects)
	}
	s.history = nil
	s.compacted = s.version
	for f := range s.watches {
		f.old = true // one that is slow to tell what was before must not go on with what is after
	}
	s.tellAllLocked()
}

// RemoveCRD takes a resource away, and all objects of it; RestoreCRD brings the
// resource back.
func (s *Server) RemoveCRD(resource string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.resources[resource]
	for _, o := range s.sortedLocked(resource) {
		key := o.Key()
		s.seenLocked(Exchange{Request: Request{Actor: "apiserver", Verb: "delete", Resource: resource, Key: key}, Code: 200, Before: o, At: time.Now(), Sent: time.Now()})
		s.commitLocked(r, key, o, nil)
	}
	s.removed[resource] = true
	for f := range s.watches {
		if f.resource == r {
			f.end = Close
		}
	}
	s.tellLocked(r)
}

// RestoreCRD undoes RemoveCRD, without the objects.
func (s *Server) RestoreCRD(resource string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.removed, resource)
}

func (s *Server) seenLocked(e Exchange) { s.cfg.Seen(e) }
