package indexer

import (
	"cmp"
	"fmt"
	"slices"

	"millrace/wire"
)

// sampled is how many objects a dictionary is chosen from, and is tried with, if
// there are so many.
const sampled = 256

// learn takes a dictionary from the objects that are to be packed, if there is
// none and they are enough. How good it is shows with others: what it was taken
// from is in it word for word.
func (p *Packer) learn(idle []found, s *Sweep) error {
	if p.dictionary != nil || len(idle) < enough {
		return nil
	}
	learnt, others := samples(idle)
	d, err := wire.NewDictionary(learnt)
	if err != nil {
		return fmt.Errorf("make a dictionary: %w", err)
	}
	if p.fresh, err = try(d, others); err != nil {
		return err
	}
	p.dictionary, p.lost, s.Dictionary = d, 0, true
	return nil
}

// samples is what a dictionary is chosen from and as many to try it with, both
// evenly from the smallest to the largest: what is as long as another is most
// likely of the same task.
func samples(idle []found) (learnt, others []*wire.Object) {
	bySize := make([]*wire.Object, len(idle))
	for i, f := range idle {
		bySize[i] = f.cell.plain
	}
	slices.SortStableFunc(bySize, func(a, b *wire.Object) int { return cmp.Compare(len(a.Bytes()), len(b.Bytes())) })
	n := min(len(bySize)/2, sampled)
	for i := range n {
		others = append(others, bySize[2*i*len(bySize)/(2*n)])
		learnt = append(learnt, bySize[(2*i+1)*len(bySize)/(2*n)])
	}
	return learnt, others
}

// try is how well a dictionary packs objects: their size then by their size
// before.
func try(d *wire.Dictionary, objects []*wire.Object) (float64, error) {
	packer, err := d.Packer()
	if err != nil {
		return 0, err
	}
	var size sizes
	for _, o := range objects {
		if packed := packer.Pack(o); packed != nil {
			size.add(o, packed)
		}
	}
	return size.ratio(), nil
}

// sizes is the sums over some objects before and after they were packed.
type sizes struct{ before, after float64 }

func (s *sizes) add(o *wire.Object, packed *wire.Packed) {
	s.before += float64(o.Size())
	s.after += float64(packed.Size())
}

func (s *sizes) join(other sizes) {
	s.before += other.before
	s.after += other.after
}

func (s *sizes) ratio() float64 {
	if s.before == 0 {
		return 0
	}
	return s.after / s.before
}

// judge adds up what the dictionary has cost by packing a quarter worse than when
// it was fresh, and drops it when that is more than another one would take: then
// the next sweep that has enough takes one. So whatever comes, and in whatever
// turns, dictionaries take no more than they save.
func (p *Packer) judge(s sizes) {
	p.lost = max(0, p.lost+s.after-worse*p.fresh*s.before)
	if p.lost > float64(dictionaryCost*p.dictionary.Size()) {
		p.dictionary = nil
	}
}
