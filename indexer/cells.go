package indexer

import (
	"slices"
	"sync/atomic"

	"k8s.io/apimachinery/pkg/types"

	"millrace/wire"
)

// place is the number of a cell. An object has one for as long as it is in the
// store, so a set of objects is a set of numbers, of four bytes each, and a new
// state of an object is written in one cell, however many sets it is in.
type place uint32

// cell holds one object, plain or packed; a free one holds neither.
type cell struct {
	plain  *wire.Object
	packed *wire.Packed
}

func (c cell) free() bool { return c.plain == nil && c.packed == nil }

func (c cell) key() types.NamespacedName {
	switch {
	case c.plain != nil:
		return c.plain.Key()
	case c.packed != nil:
		return c.packed.Key()
	}
	return types.NamespacedName{}
}

func (c cell) identity() (types.UID, string) {
	if c.plain != nil {
		return c.plain.UID(), c.plain.ResourceVersion()
	}
	return c.packed.UID(), c.packed.ResourceVersion()
}

const (
	chunkBits = 7
	chunkSize = 1 << chunkBits
)

// chunk is where cells are.
type chunk struct {
	cells *[chunkSize]cell
	// epoch is how many moments there had been when the writer made cells. If
	// there are more now, they are not his alone any more.
	epoch uint64
	// read is when each was last read, by the clock of the packer. It is shared
	// by all copies.
	read *[chunkSize]atomic.Uint32
}

// view is all cells: those of now, or those of a moment.
type view struct{ chunks []chunk }

func (v *view) at(p place) cell { return v.chunks[p>>chunkBits].cells[p%chunkSize] }

func (v *view) key(p place) types.NamespacedName { return v.at(p).key() }

func (v *view) read(p place) *atomic.Uint32 { return &v.chunks[p>>chunkBits].read[p%chunkSize] }

// size is how many cells there are, free ones too.
func (v *view) size() int { return len(v.chunks) << chunkBits }

// cells is the cells of now, under the store's lock.
type cells struct {
	view
	epoch  uint64  // of view.chunks, as a chunk has one
	unused []place // every free cell
	// moments is how many were taken, ever. What is older than the last one has
	// to be copied before it is written.
	moments uint64
}

// own makes the slice of chunks the writer's alone.
func (s *cells) own() {
	if s.epoch < s.moments {
		s.chunks, s.epoch = slices.Clone(s.chunks), s.moments
	}
}

// set writes one cell.
func (s *cells) set(p place, c cell) {
	i := p >> chunkBits
	if s.chunks[i].epoch < s.moments {
		s.own()
		copied := *s.chunks[i].cells
		s.chunks[i].cells, s.chunks[i].epoch = &copied, s.moments
	}
	s.chunks[i].cells[p%chunkSize] = c
}

// take finds a free cell, and makes some if there is none.
func (s *cells) take() place {
	if len(s.unused) == 0 {
		s.grow()
	}
	last := len(s.unused) - 1
	p := s.unused[last]
	s.unused = s.unused[:last]
	return p
}

func (s *cells) grow() {
	first := place(s.size())
	s.own()
	s.chunks = append(s.chunks, chunk{cells: new([chunkSize]cell), read: new([chunkSize]atomic.Uint32), epoch: s.moments})
	for i := range place(chunkSize) {
		s.unused = append(s.unused, first+chunkSize-1-i)
	}
}

func (s *cells) drop(p place) {
	s.set(p, cell{})
	s.unused = append(s.unused, p)
}
