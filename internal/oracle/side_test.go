package oracle

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// side is one of the two: an informer, and the server that it looks at.
type side struct {
	*server
	*ear

	held func() held // what its cache has
	stop func()      // returns when all of its goroutines have
}

// held is a cache.
type held struct {
	Objects map[types.NamespacedName]map[string]any
	Found   map[string][]string // keys by what an index was asked for, sorted
	Facets  map[types.NamespacedName][]string
}

func holding() held {
	return held{map[types.NamespacedName]map[string]any{}, map[string][]string{}, map[types.NamespacedName][]string{}}
}

// forget leaves an object out.
func (h held) forget(key types.NamespacedName) {
	delete(h.Objects, key)
	delete(h.Facets, key)
	for asked, found := range h.Found {
		h.Found[asked] = slices.DeleteFunc(found, func(k string) bool { return k == key.String() })
	}
}

// owners are those that objects may have.
func (r resource) owners() []types.UID {
	if r.tape == nil {
		return []types.UID{"owner-0", "owner-1", "nobody"}
	}
	var all []types.UID
	for _, c := range r.tape.changes[:min(9, len(r.tape.changes))] {
		for _, o := range r.metaOf(c.item).OwnerReferences {
			all = append(all, o.UID)
		}
	}
	return all
}

// told is an event.
type told struct {
	What    string // added, updated, deleted
	UID     types.UID
	Version string // of the object; of its last state that was seen if it was deleted
	Unknown bool   // its final state was not seen
	Merged  bool   // the event stands for more than one; only ours does
}

// ear hears events.
type ear struct {
	mu    sync.Mutex
	last  map[types.NamespacedName]told
	again map[types.NamespacedName]int // objects that were shown once more as they were
	used  map[exception]int            // what was heard in other words than it was said
	wait  chan struct{}                // until it is closed nothing is heard; nil: it is
}

func newEar() *ear {
	return &ear{last: map[types.NamespacedName]told{}, again: map[types.NamespacedName]int{}, used: map[exception]int{}}
}

func (e *ear) hear(key types.NamespacedName, t told) {
	e.attend()
	e.mu.Lock()
	defer e.mu.Unlock()
	e.last[key] = t
}

func (e *ear) hearAgain(key types.NamespacedName) {
	e.attend()
	e.mu.Lock()
	defer e.mu.Unlock()
	e.again[key]++
}

// attend is where a handler stands still.
func (e *ear) attend() {
	e.mu.Lock()
	wait := e.wait
	e.mu.Unlock()
	if wait != nil {
		<-wait
	}
}

func (e *ear) hold() {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.wait == nil {
		e.wait = make(chan struct{})
	}
}

func (e *ear) release() {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.wait != nil {
		close(e.wait)
		e.wait = nil
	}
}

func (e *ear) hearOtherwise(x exception) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.used[x]++
}

// heard is what was heard since it was last asked.
func (e *ear) heard() (last map[types.NamespacedName]told, again map[types.NamespacedName]int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	last, again = maps.Clone(e.last), maps.Clone(e.again)
	clear(e.last)
	clear(e.again)
	return last, again
}

// bench is both sides.
type bench struct {
	theirs, ours *side
	used         map[exception]int
}

// sit starts both sides.
func sit(t *testing.T, s script, resync time.Duration) *bench {
	t.Helper()
	return &bench{theirs: startTheirs(t, s.server, resync), ours: startOurs(t, s, resync), used: map[exception]int{}}
}

func (b *bench) stop() {
	for _, s := range []*side{b.theirs, b.ours} {
		s.release()
		s.stop()
	}
}

// play does one step on both sides.
func (b *bench) play(do step) {
	for _, s := range []*side{b.theirs, b.ours} {
		s.play(do)
		switch do.do {
		case hold:
			s.hold()
		case release:
			s.release()
		default:
		}
	}
	time.Sleep(do.takes())
}

// takes is how long a step is.
func (s step) takes() time.Duration {
	switch s.do {
	case settle:
		return settling
	case moment:
		return time.Second
	default:
		return tick
	}
}

// keys are those of both maps, sorted.
func keys[V any](maps ...map[types.NamespacedName]V) []types.NamespacedName {
	var all []types.NamespacedName
	for _, m := range maps {
		for k := range m {
			all = append(all, k)
		}
	}
	slices.SortFunc(all, func(a, b types.NamespacedName) int { return cmpStrings(a.String(), b.String()) })
	return slices.Compact(all)
}

func cmpStrings(a, b string) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

func (t told) String() string {
	if t.What == "" {
		return "nothing"
	}
	s := fmt.Sprintf("%s %s@%s", t.What, t.UID, t.Version)
	if t.Unknown {
		s += ", final state unknown"
	}
	if t.Merged {
		s += ", merged"
	}
	return s
}

var _ http.Handler = (*server)(nil)
