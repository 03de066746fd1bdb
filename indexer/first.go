package indexer

import (
	"context"

	"k8s.io/apimachinery/pkg/types"

	"millrace/wire"
)

// firstList is what a Packer has done of the list that a store begins with.
type firstList struct {
	waiting []types.NamespacedName // have come, and nobody has looked yet whether they rest
	quick   *wire.Packer           // for the objects of the list; nil until the first
	of      *wire.Dictionary       // that quick packs with
	sum     Sweep                  // without Ratio, Freed and Took
	size    sizes
	err     error
}

// Handle is a handler of Run's, the last of all, so that the others have said before it
// what they are at work for. It packs what the first list brings while it comes, in the
// goroutine that takes it in: however fast the list is and however busy the cores, no
// more of it is ever plain than is at work, or waits before the store (see fifo's Room).
// A start needs the memory for what it comes to then, and not for ten times as much.
//
// After the first list it does nothing. A sweep that falls into the list goes on with what
// Handle has not packed, and Handle waits for it.
func (p *Packer) Handle(c Change) {
	if !c.Initial || c.New == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.first.waiting = append(p.first.waiting, c.Key)
	if w := p.first.waiting; len(w) >= p.crowd() {
		p.packFirst(w)
		clear(w) // keys are parts of their objects
		p.first.waiting = w[:0]
	}
}

// crowd is how many wait before they are looked at.
func (p *Packer) crowd() int {
	if p.dictionary == nil {
		return p.cfg.Crowd
	}
	return batch
}

// packFirst packs those of the first list that rest. What it leaves is for the sweeps.
func (p *Packer) packFirst(waiting []types.NamespacedName) {
	if p.first.err != nil {
		return
	}
	var idle []found
	for _, key := range waiting {
		if f, ok := p.x.find(key); ok && p.rests(f) {
			idle = append(idle, f)
		}
	}
	p.first.sum.Idle += len(idle)
	if p.first.err = p.learn(idle, &p.first.sum); p.first.err != nil || p.dictionary == nil {
		return
	}
	with, err := p.quick()
	if err != nil {
		p.first.err = err
		return
	}
	var size sizes
	p.first.sum.Packed += p.packWith(context.Background(), with, idle, &size)
	p.first.size.join(size)
	p.judge(size)
}

// quick is the packer of the first list, which is kept for the whole of it.
func (p *Packer) quick() (*wire.Packer, error) {
	if p.first.of == p.dictionary {
		return p.first.quick, nil
	}
	with, err := p.dictionary.QuickPacker()
	if err != nil {
		return nil, err
	}
	p.first.quick, p.first.of = with, p.dictionary
	return with, nil
}

// endFirst is what was packed of the first list since it was asked last; if that is over,
// with what was needed for it.
func (p *Packer) endFirst() (Sweep, sizes, error) {
	first := p.first
	p.first = firstList{waiting: first.waiting, quick: first.quick, of: first.of}
	if p.x.isSynced() {
		p.first = firstList{}
	}
	return first.sum, first.size, first.err
}
