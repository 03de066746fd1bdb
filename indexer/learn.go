package indexer

import (
	"cmp"
	"fmt"
	"slices"

	"millrace/wire"
)

// learn takes a dictionary from the objects that are to be packed, if there is
// none and they are enough.
func (p *Packer) learn(idle []found, s *Sweep) error {
	if p.dictionary != nil || len(idle) < enough {
		return nil
	}
	d, err := wire.NewDictionary(samples(idle))
	if err != nil {
		return fmt.Errorf("make a dictionary: %w", err)
	}
	p.dictionary, p.fresh, s.Dictionary = d, 0, true
	return nil
}

// sampled is how many objects a dictionary is chosen from, if there are so many.
const sampled = 256

// samples is what a dictionary is chosen from, evenly from the smallest to the
// largest: what is as long as another is most likely of the same task.
func samples(idle []found) []*wire.Object {
	bySize := make([]*wire.Object, len(idle))
	for i, f := range idle {
		bySize[i] = f.cell.plain
	}
	slices.SortStableFunc(bySize, func(a, b *wire.Object) int { return cmp.Compare(len(a.Bytes()), len(b.Bytes())) })
	some := make([]*wire.Object, min(len(bySize), sampled))
	for i := range some {
		some[i] = bySize[(2*i+1)*len(bySize)/(2*len(some))]
	}
	return some
}

// judge remembers how well a new dictionary packs, and drops it when a sweep of
// enough objects packs a quarter worse than the first one did: then the next
// sweep that has enough takes another one.
func (p *Packer) judge(s Sweep) {
	switch {
	case s.Packed < enough:
	case p.fresh == 0:
		p.fresh = s.Ratio
	case s.Ratio > worse*p.fresh:
		p.dictionary = nil
	}
}
