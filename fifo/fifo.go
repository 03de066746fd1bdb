package fifo

import (
	"errors"
	"iter"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"millrace/wire"
)

// ErrClosed is what Pop returns when the FIFO is closed and nothing waits any
// more, and what the producer gets from then on.
var ErrClosed = errors.New("fifo: closed")

// Known is the one backward glance of the chain: what the consumer has. Without
// it a list could not tell what has vanished since, nor that an object has not
// changed. The indexer is one.
//
// Its methods are called with the FIFO's lock held; they must not call the
// FIFO.
type Known interface {
	// Known is the UID and resourceVersion of an object that the consumer has.
	Known(key types.NamespacedName) (uid types.UID, resourceVersion string, ok bool)
	// Keys runs over all of them, in any order.
	Keys() iter.Seq[types.NamespacedName]
}

// Config is what may be chosen. The zero value works.
type Config struct {
	// Transform makes the object that is kept of the one that came in; default:
	// the same. It is called by the producer, without a lock, before anybody
	// else can see the object: once for each state that is news, and for the
	// last state of a deleted one. It must not change key, UID or
	// resourceVersion, and the same object must give the same result. The object
	// is lent (see wire.Event); so may the result be.
	Transform func(*wire.Object) (*wire.Object, error)

	// Crowd is how many entries of the first list may wait before Room waits. Default
	// 512: a few megabytes, and work for the consumer until the next piece comes from
	// the network.
	Crowd int

	// Trace is told what happens; default: nobody is.
	Trace Trace
}

// Trace is a set of hooks, each of them optional.
type Trace struct {
	// Done follows each entry that was processed, in the consumer's goroutine,
	// with the lock released. What waited longest in it waited since the first
	// delta's Received.
	Done func(Entry)
}

// FIFO is the queue between one producer (a reflector) and one consumer (an
// indexer). See the package's doc for what it promises. Make it with New.
type FIFO struct {
	known Known
	cfg   Config

	// wake has a token when an entry has come, or closed was set, since the
	// consumer looked last. It is a channel and not a condition, so that the
	// consumer can wait for the end of its context beside it at no cost.
	wake chan struct{}
	// room has a token when the consumer has taken an entry since the producer looked
	// last, or closed was set.
	room chan struct{}

	mu sync.Mutex

	// items is what waits, by key: an object is here if and only if its entry
	// is in the queue.
	items map[types.NamespacedName]*entry
	most  int // the largest items has been
	// head and tail are the ends of the queue, in order of arrival. Both nil:
	// it is empty.
	head, tail *entry
	// working is the entry that the consumer has in hand. It is neither in
	// items nor in the queue, and still visible to whoever asks how an object
	// was last known: the consumer may not have taken it in yet.
	working *entry

	// unseen is what existed when the list on its way began, and what that list
	// has not shown so far; nil while there is none. What has come into being
	// since then cannot be missing from it. So a first list holds nothing here,
	// and a relist only gets smaller, and holds none of the strings that it
	// brings.
	unseen map[types.NamespacedName]struct{}
	shown  int // how many objects the list on its way, or the last one, has shown

	// received is the last resourceVersion that the stream has reached: of an
	// event, a bookmark, a committed list.
	received string
	told     string // what the entry that was popped last says
	sequence uint64 // of the last entry that was queued

	initial  bool          // the first list has not been committed
	lastSeen uint64        // the last entry that the first list is done with; valid once initial is false
	synced   chan struct{} // closed when that entry has been processed
	closed   bool
}

// entry is one object in the queue.
type entry struct {
	Entry
	before   string // received when its first delta came: what is older than this entry ends there
	sequence uint64
	next     *entry
	room     [1]Delta // most entries have one delta; this saves them an allocation
}

// New makes a FIFO. It starts nothing.
func New(known Known, cfg Config) *FIFO {
	if cfg.Crowd <= 0 {
		cfg.Crowd = 512
	}
	return &FIFO{
		known:   known,
		cfg:     cfg,
		items:   map[types.NamespacedName]*entry{},
		initial: true,
		synced:  make(chan struct{}),
		wake:    make(chan struct{}, 1),
		room:    make(chan struct{}, 1),
	}
}

// Len is how many objects wait.
func (f *FIFO) Len() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.items)
}

// Oldest is since when the entry waits that is next; false if none waits. Ends and
// changes of an object wait together, from the first of them on.
func (f *FIFO) Oldest() (since time.Time, ok bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.head == nil {
		return time.Time{}, false
	}
	return f.head.Deltas[0].Received, true
}

// Synced is closed once the first list that was committed has been popped and
// processed: every object of it, and the news of the list's end. Events before
// that list change nothing about it.
func (f *FIFO) Synced() <-chan struct{} { return f.synced }

// Close lets the consumer take what waits and then sends it home with
// ErrClosed. What the producer says after it is not heard. It may be called
// more than once.
func (f *FIFO) Close() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.closed = true
	f.notify()
	offer(f.room)
}

// latestLocked is how an object was last known on its way: as it waits, as it
// is being processed, or as the consumer has it.
func (f *FIFO) latestLocked(key types.NamespacedName) state {
	if e := f.items[key]; e != nil {
		if s, ok := last(e.Deltas); ok {
			return s
		}
	}
	if f.working != nil && f.working.Key == key {
		if s, ok := last(f.working.Deltas); ok {
			return s
		}
	}
	uid, version, ok := f.known.Known(key)
	return state{exists: ok, uid: uid, version: version}
}

// entryLocked is the entry of an object, a new one at the end of the queue if
// none waits.
func (f *FIFO) entryLocked(key types.NamespacedName) *entry {
	e := f.items[key]
	if e == nil {
		e = f.pushLocked(key)
		f.items[key] = e
	}
	return e
}

// pushLocked puts a new entry at the end of the queue.
func (f *FIFO) pushLocked(key types.NamespacedName) *entry {
	f.sequence++
	e := &entry{before: f.received, sequence: f.sequence}
	e.Key = key
	e.Deltas = e.room[:0]
	if f.tail == nil {
		f.head = e
	} else {
		f.tail.next = e
	}
	f.tail = e
	f.notify()
	return e
}

// notify wakes the consumer, if it waits.
func (f *FIFO) notify() { offer(f.wake) }

func offer(token chan struct{}) {
	select {
	case token <- struct{}{}:
	default: // it has one already
	}
}

// reachLocked notes how far the stream has come. The consumer learns it with
// the entry that it pops last; if none waits and it does not know yet, a
// bookmark is queued to tell it.
func (f *FIFO) reachLocked(resourceVersion string) {
	if resourceVersion != "" {
		f.received = resourceVersion
	}
	if f.head == nil && f.received != f.told {
		f.markLocked()
	}
}

func (f *FIFO) markLocked() {
	e := f.pushLocked(types.NamespacedName{})
	e.Deltas = append(e.Deltas, Delta{Type: Bookmark, Received: time.Now()})
}
