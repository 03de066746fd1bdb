package indexer

import (
	"hash/maphash"

	"k8s.io/apimachinery/pkg/types"
)

// table finds an object's place by its key. A map would hold every key once
// more, in fifty bytes and more; here it is enough that the object has it. An
// entry is the upper half of the key's hash and the place plus one, or zero.
// Entries stand where their hash says or, if others stand there, after those.
type table struct {
	seed    maphash.Seed
	entries []uint64 // two to some power, a quarter of them free at least
	n       int
}

const smallTable = 64

func newTable(n int) table {
	size := smallTable
	for size*3/4 < n {
		size *= 2
	}
	return table{seed: maphash.MakeSeed(), entries: make([]uint64, size)}
}

func (t *table) hash(key types.NamespacedName) uint32 {
	return uint32(maphash.String(t.seed, key.Name) + 31*maphash.String(t.seed, key.Namespace))
}

func (t *table) home(hash uint32) int { return int(hash) & (len(t.entries) - 1) }

func (t *table) after(i int) int { return (i + 1) & (len(t.entries) - 1) }

// find is where a key stands, or the free entry where it would.
func (t *table) find(key types.NamespacedName, hash uint32, s *cells) (i int, found bool) {
	for i = t.home(hash); t.entries[i] != 0; i = t.after(i) {
		if uint32(t.entries[i]>>32) == hash && s.key(placeIn(t.entries[i])) == key {
			return i, true
		}
	}
	return i, false
}

func placeIn(entry uint64) place { return place(uint32(entry) - 1) }

func (t *table) get(key types.NamespacedName, s *cells) (place, bool) {
	i, found := t.find(key, t.hash(key), s)
	if !found {
		return 0, false
	}
	return placeIn(t.entries[i]), true
}

// add takes in a key that is not there.
func (t *table) add(key types.NamespacedName, p place) {
	if t.n++; t.n > len(t.entries)*3/4 {
		t.resize(2 * len(t.entries))
	}
	t.put(uint64(t.hash(key))<<32 | uint64(p+1))
}

func (t *table) put(entry uint64) {
	i := t.home(uint32(entry >> 32))
	for t.entries[i] != 0 {
		i = t.after(i)
	}
	t.entries[i] = entry
}

func (t *table) resize(size int) {
	old := t.entries
	t.entries = make([]uint64, size)
	for _, entry := range old {
		if entry != 0 {
			t.put(entry)
		}
	}
}

// drop takes out a key, while its cell still has it. Of those that stand behind
// it, each moves up that may stand there, so that no search ends at a hole.
func (t *table) drop(key types.NamespacedName, s *cells) {
	hole, found := t.find(key, t.hash(key), s)
	if !found {
		return
	}
	t.n--
	for i := t.after(hole); t.entries[i] != 0; i = t.after(i) {
		home := t.home(uint32(t.entries[i] >> 32))
		if away(home, i, len(t.entries)) >= away(hole, i, len(t.entries)) {
			t.entries[hole] = t.entries[i]
			hole = i
		}
	}
	t.entries[hole] = 0
}

// away is how many steps it is from one entry to another that comes after it.
func away(from, to, size int) int { return (to - from) & (size - 1) }
