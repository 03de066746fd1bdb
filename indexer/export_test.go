package indexer

import (
	"fmt"
	"iter"

	"millrace/wire"
)

// Learn gives a packer its dictionary, where a test has not enough objects.
func (p *Packer) Learn(objects ...*wire.Object) error {
	d, err := wire.NewDictionary(objects)
	p.dictionary = d
	return err
}

// Cells is how many cells there are, free ones too.
func (x *Indexer) Cells() int { return x.cells.size() }

// Moment is all objects as of now, to be gone through later.
func (x *Indexer) Moment() iter.Seq[*wire.Object] {
	m := x.moment("")
	return func(yield func(*wire.Object) bool) {
		for f := range m.each {
			if !yield(x.look(f)) {
				return
			}
		}
	}
}

// Moment is all objects with a value, as of now.
func (i *Index[V]) Moment(v V) iter.Seq[*wire.Object] {
	m := i.moment(v)
	return func(yield func(*wire.Object) bool) {
		for f := range m.each {
			if !yield(i.x.look(f)) {
				return
			}
		}
	}
}

// Waiters is how many wait for the store to come further.
func (x *Indexer) Waiters() int {
	x.mu.Lock()
	defer x.mu.Unlock()
	return len(x.waiters)
}

// Check finds what is wrong with the store's inside.
func (x *Indexer) Check() error {
	x.mu.Lock()
	defer x.mu.Unlock()
	var t tiers
	if err := checkOrder(&x.order, &x.cells); err != nil {
		return err
	}
	for _, r := range x.order.runs {
		for _, p := range r.places {
			c := x.cells.at(p)
			if got, ok := x.keys.get(c.key(), &x.cells); !ok || got != p {
				return fmt.Errorf("%s is in cell %d, and its key leads to %d, %v", c.key(), p, got, ok)
			}
			if c.plain != nil {
				t.plain.Objects, t.plain.Bytes = t.plain.Objects+1, t.plain.Bytes+int64(c.plain.Size())
			} else {
				t.packed.Objects, t.packed.Bytes = t.packed.Objects+1, t.packed.Bytes+int64(c.packed.Size())
			}
		}
	}
	if t != x.tiers || x.keys.n != x.order.n || x.order.n+len(x.cells.unused) != x.cells.size() {
		return fmt.Errorf("tiers %+v, counted %+v; %d keys of %d objects, %d unused of %d", x.tiers, t, x.keys.n, x.order.n, len(x.cells.unused), x.cells.size())
	}
	for _, i := range x.indices {
		if err := i.(interface{ check() error }).check(); err != nil {
			return err
		}
	}
	return nil
}

func (i *Index[V]) check() error {
	for v, set := range i.sets {
		o := set.many
		if o == nil {
			o = &ordered{runs: []run{{places: []place{set.one}}}, n: 1}
		} else if o.n < 2 {
			return fmt.Errorf("%s: %v has a set of %d", i.name, v, o.n)
		}
		if err := checkOrder(o, &i.x.cells); err != nil {
			return fmt.Errorf("%s: %v: %w", i.name, v, err)
		}
	}
	return nil
}

func checkOrder(o *ordered, s *cells) error {
	n := 0
	var last place
	for _, r := range o.runs {
		if len(r.places) == 0 || len(r.places) > runSize {
			return fmt.Errorf("a run of %d", len(r.places))
		}
		for _, p := range r.places {
			if s.at(p).free() {
				return fmt.Errorf("cell %d is free", p)
			}
			if n > 0 && compare(s.key(last), s.key(p)) >= 0 {
				return fmt.Errorf("%s before %s", s.key(last), s.key(p))
			}
			last = p
			n++
		}
	}
	if n != o.n {
		return fmt.Errorf("%d members, %d counted", n, o.n)
	}
	return nil
}
