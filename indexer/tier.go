package indexer

import (
	"sync/atomic"

	"millrace/wire"
)

// policy is when an object is packed and when it is plain again, in turns of a
// coarse clock: it counts the packer's sweeps. So reads and writes need not ask
// what time it is, and where nobody packs, nothing ever gets old.
type policy struct {
	clock atomic.Uint32
	after atomic.Uint32 // in turns; 0 while there is no packer
}

// A cell says when it was read, or written: in which turn, firstTurn being that
// before the first sweep. What came with the first list says less: nobody knows
// how long it has rested, most likely for days. It is unread, and as old as can
// be. Then it is glanced at: whoever takes over work looks at every object once,
// and that says nothing of how soon he comes back.
const (
	unread uint32 = iota
	glanced
	firstTurn
)

func (p *policy) now() uint32 { return p.clock.Load() + firstTurn }

// note notes a read, or a write, which is as good as one, and returns what was
// noted before.
func (p *policy) note(read *atomic.Uint32) uint32 {
	now := p.now()
	before := read.Load()
	if before == unread {
		now = glanced
	}
	if before != now {
		read.Store(now) // only the first of a turn: sixty-four readers need not pass a cache line around
	}
	return before
}

// written notes that there is a new state of an object.
func (p *policy) written(read *atomic.Uint32, initial bool) {
	if initial {
		read.Store(unread)
		return
	}
	read.Store(p.now())
}

// old says whether the last read is longer ago than After, whenever in its turn
// it was.
func (p *policy) old(read uint32) bool { return read < firstTurn || p.now()-read > p.after.Load() }

// open is what a cell holds, unpacked if need be.
func open(c cell) *wire.Object {
	if c.plain != nil {
		return c.plain
	}
	o, err := c.packed.Object()
	if err != nil {
		// It came back when it was packed, and has not left our memory since:
		// as good as a pointer that leads nowhere.
		panic(err)
	}
	return o
}

func (x *Indexer) open(c cell) *wire.Object {
	if c.plain == nil {
		x.unpacks.Add(1)
	}
	return open(c)
}

// look is an object for a reader. Read twice within After, it is plain again.
func (x *Indexer) look(f found) *wire.Object {
	before := x.policy.note(f.read)
	o := x.open(f.cell)
	if f.cell.packed != nil && !x.policy.old(before) {
		x.swap(f, cell{plain: o})
	}
	return o
}

// swap gives an object its other form, if it is there still in this one.
func (x *Indexer) swap(f found, to cell) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.swapLocked(f, to)
}

func (x *Indexer) swapLocked(f found, to cell) bool {
	if int(f.place) >= x.cells.size() || x.cells.at(f.place) != f.cell {
		return false
	}
	x.leaveLocked(f.cell)
	x.cells.set(f.place, to)
	x.enterLocked(to)
	return true
}
