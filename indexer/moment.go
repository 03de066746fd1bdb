package indexer

import (
	"slices"
	"sync/atomic"

	"k8s.io/apimachinery/pkg/types"

	"millrace/wire"
)

// fewObjects is up to where a reader copies cells under the lock: what an owner
// has, most times. For more he takes a moment.
const fewObjects = 16

// moment is some objects as they are at one moment, in order, and is read
// without a lock, for as long as it takes. To take one is to count it, and to
// copy two slices, however much they lead to: it all stays as it is, because
// the writer writes elsewhere from then on.
//
// That is not for speed alone. Whoever holds a lock while he copies fifty
// thousand pointers, or only while he allocates the room for them, may lose his
// core there; and where sixty-four readers do, there is always one who has, and
// the writer waits for all of them to be scheduled. Measured, with one reader
// and with 64: see BenchmarkApplyBesideReaders.
type moment struct {
	view
	runs     []run
	from, to position
	few      [fewObjects]found // instead of all that, if there are not more
	n        int               // of few
}

// found is an object in a moment.
type found struct {
	place place
	cell  cell
	read  *atomic.Uint32
}

// momentLocked is all of a set as it is now.
func (s *cells) momentLocked(o *ordered) moment {
	if o.n <= fewObjects {
		var m moment
		for _, r := range o.runs {
			for _, p := range r.places {
				m.put(s, p)
			}
		}
		return m
	}
	s.moments++
	return moment{view: s.view, runs: o.runs, to: position{run: len(o.runs)}}
}

func (m *moment) put(s *cells, p place) {
	m.few[m.n] = found{p, s.at(p), s.read(p)}
	m.n++
}

// narrow leaves the keys from one to before another.
func (m *moment) narrow(from, to types.NamespacedName) {
	few := slices.DeleteFunc(m.few[:m.n], func(f found) bool {
		return compare(f.cell.key(), from) < 0 || compare(f.cell.key(), to) >= 0
	})
	m.n = len(few)
	m.from, _ = find(m.runs, from, &m.view)
	m.to, _ = find(m.runs, to, &m.view)
}

// each runs over the objects.
func (m *moment) each(yield func(found) bool) {
	for _, f := range m.few[:m.n] {
		if !yield(f) {
			return
		}
	}
	for i := m.from.run; i <= m.to.run && i < len(m.runs); i++ {
		for _, p := range m.within(i) {
			if !yield(found{p, m.at(p), m.read(p)}) {
				return
			}
		}
	}
}

// within is the part of a run that belongs to the moment.
func (m *moment) within(run int) []place {
	places := m.runs[run].places
	if run == m.to.run {
		places = places[:m.to.at]
	}
	if run == m.from.run {
		places = places[m.from.at:]
	}
	return places
}

// size is how many objects there are.
func (m *moment) size() int {
	n := m.n
	for i := m.from.run; i <= m.to.run && i < len(m.runs); i++ {
		n += len(m.within(i))
	}
	return n
}

// objects is all of them, unpacked.
func (m *moment) objects(x *Indexer) []*wire.Object {
	n := m.size()
	if n == 0 {
		return nil
	}
	objects := make([]*wire.Object, 0, n)
	for f := range m.each {
		objects = append(objects, x.look(f))
	}
	return objects
}
