package workqueue

import "hash/maphash"

// fewest is how many slots a table has at the least.
const fewest = 16

// table finds the entry of a key. It is a hash table with open addressing and
// not a map for what a map would cost: the key a second time beside the entry's
// own (62 bytes for each key, of a queue's 200), and the largest size that it
// ever had, for ever.
//
// The entry of a key lies at its hash's slot, or in the next free one after it;
// between the two no slot is empty. So a search ends at an empty slot, and take
// closes the gap that it makes.
type table[K comparable] struct {
	seed    maphash.Seed
	hashes  []uint32 // of the key in each slot; searches look here first
	entries []*entry[K]
	n       int
}

func newTable[K comparable]() table[K] {
	t := table[K]{seed: maphash.MakeSeed()}
	t.resize(fewest)
	return t
}

// hash may be called without the queue's lock.
func (t *table[K]) hash(key K) uint32 { return uint32(maphash.Comparable(t.seed, key)) }

func (t *table[K]) find(key K, hash uint32) *entry[K] {
	for i := t.home(hash); t.entries[i] != nil; i = t.after(i) {
		if t.hashes[i] == hash && t.entries[i].key == key {
			return t.entries[i]
		}
	}
	return nil
}

// put adds e, whose key is not there yet. At seven eighths the table doubles:
// searches stay short since they pass over hashes, 16 to a line of the cache.
func (t *table[K]) put(e *entry[K]) {
	if t.n >= len(t.entries)/8*7 {
		t.resize(2 * len(t.entries))
	}
	t.place(e)
	t.n++
}

func (t *table[K]) place(e *entry[K]) {
	i := t.home(e.hash)
	for t.entries[i] != nil {
		i = t.after(i)
	}
	t.hashes[i], t.entries[i] = e.hash, e
}

// remove takes e out, which is there.
func (t *table[K]) remove(e *entry[K]) {
	gap := t.home(e.hash)
	for t.entries[gap] != e {
		gap = t.after(gap)
	}
	// Whoever lies behind the gap, and would have lain in it or before it had it
	// been free, moves up.
	for i := t.after(gap); t.entries[i] != nil; i = t.after(i) {
		if t.distance(t.home(t.hashes[i]), i) >= t.distance(gap, i) {
			t.hashes[gap], t.entries[gap] = t.hashes[i], t.entries[i]
			gap = i
		}
	}
	t.entries[gap] = nil
	t.n--
	if len(t.entries) > fewest && t.n < len(t.entries)/8 {
		t.resize(max(len(t.entries)/4, fewest))
	}
}

// resize moves everybody to a table of slots, a power of two. The hashes are
// known, so that 100,000 keys take about a millisecond.
func (t *table[K]) resize(slots int) {
	entries := t.entries
	t.hashes, t.entries = make([]uint32, slots), make([]*entry[K], slots)
	for _, e := range entries {
		if e != nil {
			t.place(e)
		}
	}
}

func (t *table[K]) home(hash uint32) int      { return int(hash) & (len(t.entries) - 1) }
func (t *table[K]) after(i int) int           { return (i + 1) & (len(t.entries) - 1) }
func (t *table[K]) distance(from, to int) int { return (to - from) & (len(t.entries) - 1) }
