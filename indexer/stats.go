package indexer

// TierStats is the size of one tier.
type TierStats struct {
	Objects int
	// Bytes is the sum of the objects' sizes (see wire.Object.Size and
	// wire.Packed.Size); the tables around them are not counted.
	Bytes int64
}

// tiers is the two of them.
type tiers struct{ plain, packed TierStats }

// Stats is the size of an Indexer and what was done, as of one moment.
type Stats struct {
	// Objects and Bytes are the sums of both tiers.
	Objects int
	Bytes   int64
	// Plain is what is kept as it was delivered, Packed what a Packer has
	// packed.
	Plain, Packed TierStats

	// Dictionaries is how many dictionaries packed objects refer to, and
	// DictionaryBytes their size. They are not in Bytes.
	Dictionaries    int
	DictionaryBytes int64

	// These are counted since the start.
	SavedBytes    int64 // cut from objects before they came here
	Decodes       int64 // objects decoded for readers
	Packs         int64 // objects packed
	Unpacks       int64 // objects unpacked, to be read or to be compared with their next state
	IndexFailures int64 // objects that an index function has panicked over (see Failures)
}

// Stats costs the same however many objects there are.
func (x *Indexer) Stats() Stats {
	x.mu.Lock()
	defer x.mu.Unlock()
	s := Stats{
		Objects:       x.tiers.plain.Objects + x.tiers.packed.Objects,
		Bytes:         x.tiers.plain.Bytes + x.tiers.packed.Bytes,
		Plain:         x.tiers.plain,
		Packed:        x.tiers.packed,
		Dictionaries:  len(x.dictionaries),
		SavedBytes:    x.saved,
		Decodes:       x.decodes.Load(),
		Packs:         x.packs.Load(),
		Unpacks:       x.unpacks.Load(),
		IndexFailures: x.failed.Load(),
	}
	for d := range x.dictionaries {
		s.DictionaryBytes += int64(d.Size())
	}
	return s
}

// enterLocked counts what a cell holds, and leaveLocked that it does no more.
func (x *Indexer) enterLocked(c cell) {
	if c.plain != nil {
		x.tiers.plain.Objects++
		x.tiers.plain.Bytes += int64(c.plain.Size())
		return
	}
	x.tiers.packed.Objects++
	x.tiers.packed.Bytes += int64(c.packed.Size())
	x.dictionaries[c.packed.Dictionary()]++
}

func (x *Indexer) leaveLocked(c cell) {
	if c.plain != nil {
		x.tiers.plain.Objects--
		x.tiers.plain.Bytes -= int64(c.plain.Size())
		return
	}
	x.tiers.packed.Objects--
	x.tiers.packed.Bytes -= int64(c.packed.Size())
	d := c.packed.Dictionary()
	if x.dictionaries[d]--; x.dictionaries[d] == 0 {
		delete(x.dictionaries, d)
	}
}
