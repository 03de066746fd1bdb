package fifo_test

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"

	"k8s.io/apimachinery/pkg/types"

	"millrace/fifo"
	"millrace/wire"
)

// server is the model: a history of every object, one resourceVersion for each
// change.
type server struct {
	*rand.Rand
	t       *testing.T
	version int
	uids    int
	now     map[string]*wire.Object
	log     []change
}

// change is one write. object is the new state, or the last one of what was
// deleted.
type change struct {
	version int
	deleted bool
	created bool
	object  *wire.Object
}

func (s *server) write() {
	s.version++
	name := string(rune('a' + s.IntN(6)))
	is, exists := s.now[name]
	switch {
	case !exists:
		s.uids++
		o := obj(s.t, name, fmt.Sprint("u", s.uids), strconv.Itoa(s.version))
		s.now[name] = o
		s.log = append(s.log, change{version: s.version, object: o, created: true})
	case s.IntN(3) == 0:
		o := obj(s.t, name, string(is.UID()), strconv.Itoa(s.version))
		delete(s.now, name)
		s.log = append(s.log, change{version: s.version, object: o, deleted: true})
	default:
		o := obj(s.t, name, string(is.UID()), strconv.Itoa(s.version))
		s.now[name] = o
		s.log = append(s.log, change{version: s.version, object: o})
	}
}

// held reports whether an object was in this state (nil: absent) at some time
// since a resourceVersion.
func (s *server) held(key types.NamespacedName, o *wire.Object, since int) bool {
	version := func(o *wire.Object) string {
		if o == nil {
			return ""
		}
		return o.ResourceVersion()
	}
	state := "" // as of since
	for _, c := range s.log {
		if c.object.Key() != key {
			continue
		}
		if c.version > since && state == version(o) {
			return true
		}
		if state = c.object.ResourceVersion(); c.deleted {
			state = ""
		}
	}
	return state == version(o)
}

// stream is the client's side of the producer: what of the log it has told the
// FIFO.
type stream struct {
	*server
	r    *rig
	told int    // changes of the log
	last string // the resourceVersion that was published last
	busy bool   // the consumer has an entry in hand

	// spoils: every list is complete, and has objects that cannot be read.
	spoils bool
	unread map[types.NamespacedName]bool
}

// event tells the next change, if there is one.
func (s *stream) event() {
	if s.told == len(s.log) {
		return
	}
	c := s.log[s.told]
	s.told++
	tell := s.r.Update
	switch {
	case c.deleted:
		tell = s.r.Delete
	case c.created:
		tell = s.r.Add
	}
	if err := tell(c.object); err != nil {
		s.t.Fatal(err)
	}
}

// list tells all that is there, or a part of it, in any order, while the consumer
// goes on. After that the stream goes on behind the list, or where it was.
func (s *stream) list(complete bool) {
	s.r.Begin()
	names := slices.Sorted(maps.Keys(s.now))
	s.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
	for _, name := range names {
		s.consume()
		if !complete && s.IntN(2) == 0 {
			continue
		}
		if s.spoils && s.IntN(4) == 0 {
			s.unread[key(name)] = true
			s.r.Keep(key(name))
			continue
		}
		if err := s.r.Item(s.now[name]); err != nil {
			s.t.Fatal(err)
		}
	}
	if !complete {
		s.r.Abort()
		return
	}
	s.told = len(s.log)
	s.changes()
	s.r.Commit(strconv.Itoa(s.version))
}

// changes is what happens while a list is sent as a stream (KEP-3157): it comes
// before the end of the list, and belongs to it.
func (s *stream) changes() {
	for range s.IntN(4) {
		s.write()
	}
	for s.told < len(s.log) {
		s.consume()
		c := s.log[s.told]
		s.told++
		tell := s.r.Item
		if c.deleted {
			tell = s.r.Delete
		}
		if err := tell(c.object); err != nil {
			s.t.Fatal(err)
		}
	}
}

// consume lets the consumer take an entry or none, if it has none in hand.
func (s *stream) consume() {
	if !s.busy && !s.r.Idle() && s.IntN(3) == 0 {
		s.pop(0)
	}
}

func (s *stream) step() {
	switch s.IntN(20) {
	case 0:
		s.list(true)
	case 1:
		s.list(s.spoils)
	case 2:
		s.r.Resync()
	case 3:
		if s.told == len(s.log) && s.version > 0 {
			s.r.Bookmark(strconv.Itoa(s.version))
		}
	case 4, 5, 6, 7, 8, 9, 10:
		s.write()
	default:
		s.event()
	}
}

// pop lets the consumer take one entry, while the producer goes on, and checks
// what it was told.
func (s *stream) pop(meanwhile int) {
	s.busy = true
	defer func() { s.busy = false }()
	err := s.r.Pop(context.Background(), func(e fifo.Entry) error {
		for range meanwhile {
			s.step()
		}
		if len(e.Deltas) > 3 {
			return fmt.Errorf("%d deltas", len(e.Deltas))
		}
		if err := s.r.store.take(e); err != nil {
			return fmt.Errorf("%w: %s", err, show(e))
		}
		if err := s.deletesNothingAlive(e); err != nil {
			return err
		}
		s.last = cmp.Or(e.ResourceVersion, s.last)
		return s.asFarAs(e.ResourceVersion)
	})
	if err != nil {
		s.t.Fatal(err)
	}
}

// deletesNothingAlive checks that nobody is told of the end of what the server
// has, whatever of it could not be read. (After a list that was aborted, the
// stream tells the past once more, and with it such ends.)
func (s *stream) deletesNothingAlive(e fifo.Entry) error {
	is := s.now[e.Key.Name]
	for _, d := range e.Deltas {
		if s.spoils && d.Type == fifo.Deleted && is != nil && is.UID() == d.UID {
			return fmt.Errorf("told of the end of %s, which is alive: %s", is.UID(), show(e))
		}
	}
	return nil
}

// asFarAs checks the promise of a published resourceVersion: no object in the
// store is older than it, but those that could not be read.
func (s *stream) asFarAs(resourceVersion string) error {
	if resourceVersion == "" {
		return nil
	}
	since, err := strconv.Atoi(resourceVersion)
	if err != nil {
		return err
	}
	for c := range 6 {
		k := key(string(rune('a' + c)))
		if has := s.r.store[k]; !s.unread[k] && !s.held(k, has, since) {
			return fmt.Errorf("at %s, %s is older: %v", resourceVersion, k, has)
		}
	}
	return nil
}

func TestWhateverHappensTheConsumerEndsWithWhatTheServerHas(t *testing.T) {
	for seed := range uint64(150) {
		t.Run(strconv.FormatUint(seed, 10), func(t *testing.T) {
			s := &stream{
				server: &server{Rand: rand.New(rand.NewPCG(seed, 4)), t: t, now: map[string]*wire.Object{}},
				r:      newRig(t, fifo.Config{}),
				spoils: seed%5 == 0,
				unread: map[types.NamespacedName]bool{},
			}
			s.list(true)
			for range 300 {
				s.step()
				for !s.r.Idle() && s.IntN(2) == 0 {
					s.pop(s.IntN(4))
				}
			}
			for s.told < len(s.log) {
				s.event()
			}
			if s.spoils { // what could not be read can be at last
				s.spoils = false
				s.list(true)
			}
			s.r.Bookmark(strconv.Itoa(s.version))
			for !s.r.Idle() {
				s.pop(0)
			}
			s.compare()
		})
	}
}

func (s *stream) compare() {
	s.t.Helper()
	if len(s.r.store) != len(s.now) {
		s.t.Errorf("the store has %d objects, the server %d", len(s.r.store), len(s.now))
	}
	for name, want := range s.now {
		if got := s.r.store[key(name)]; got == nil || got.UID() != want.UID() || got.ResourceVersion() != want.ResourceVersion() {
			s.t.Errorf("%s: %v, want %v", name, got, want)
		}
	}
	if s.last != strconv.Itoa(s.version) {
		s.t.Errorf("published %q, the server is at %d", s.last, s.version)
	}
	if !s.r.synced() {
		s.t.Error("not synced")
	}
}
