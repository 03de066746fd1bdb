package indexer

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"millrace/wire"
)

// PackConfig says what is packed and when. The zero value works.
type PackConfig struct {
	// After is how long nobody must have read or written an object before it is
	// packed, and within what time a second read makes it plain again. 0 is ten
	// minutes: workers come back to what they work on within seconds.
	After time.Duration

	// Every is how often the packer sweeps through the store. 0 is a minute, or
	// After if that is less. An object is packed at most two sweeps later than it
	// could be.
	Every time.Duration

	// Live says whether somebody is at work for an object, such as its owner:
	// then it stays plain. nil says that nobody is. It is called by Run, and by Handle,
	// without a lock of a store, and may read any store.
	Live func(*wire.Object) bool

	// Crowd is how many objects of the first list may be plain before Handle packs any, 64
	// at least. 0 is 1024, some megabytes: a smaller list is there sooner if nobody packs
	// meanwhile, and the first dictionary is the better the more it is chosen from.
	Crowd int

	Trace PackTrace
}

// PackTrace is told what a Packer does. Any of it may be nil. It is called by
// Run or Sweep, without a lock.
type PackTrace struct {
	// Swept comes after each sweep.
	Swept func(Sweep)
}

// Sweep is one walk through the store. That after a first list counts with it what Handle
// has packed of the list.
type Sweep struct {
	Idle   int // objects that were read long enough ago and are nobody's work
	Packed int // those of them that are packed now
	// Dictionary says that a new one was made for this sweep.
	Dictionary bool
	// Ratio is the size of what was packed by its size before; 0 if nothing was. Freed is
	// how many bytes less that is.
	Ratio float64
	Freed int64
	Took  time.Duration
}

// Packer packs an indexer's objects: an object that nobody has read for After,
// and that nobody is at work for, is packed; read twice within After, it is
// plain again. Readers, handlers and the FIFO see no difference but in time.
type Packer struct {
	x       *Indexer
	cfg     PackConfig
	running atomic.Bool

	mu    sync.Mutex // held by who packs: Run, or Handle while the first list comes
	first firstList

	// dictionary is the newest one; nil until there are enough objects to take
	// it from.
	dictionary *wire.Dictionary
	// fresh is the ratio that the dictionary had when it was tried; lost is what
	// it has cost since, in bytes, by packing worse than that.
	fresh, lost float64
}

const (
	// enough is how many objects must be idle for a dictionary to be taken from
	// them: fewer say little about the rest.
	enough = 64
	// worse is how much worse than fresh a dictionary may pack at no charge: no two
	// sweeps are alike.
	worse = 1.25
	// dictionaryCost is what a dictionary takes by its size: its decoder, and the
	// strings that its objects share, are as much again.
	dictionaryCost = 2
	// batch is how many packed objects are swapped in under one lock.
	batch = 32
)

// NewPacker makes the packer of x, which has one. It starts nothing.
func NewPacker(x *Indexer, cfg PackConfig) *Packer {
	if cfg.After <= 0 {
		cfg.After = 10 * time.Minute
	}
	if cfg.Every <= 0 {
		cfg.Every = min(time.Minute, cfg.After)
	}
	if cfg.Crowd <= 0 {
		cfg.Crowd = 1024
	}
	cfg.Crowd = max(cfg.Crowd, enough)
	if cfg.Live == nil {
		cfg.Live = func(*wire.Object) bool { return false }
	}
	turns := (cfg.After + cfg.Every - 1) / cfg.Every
	x.policy.after.Store(uint32(min(turns, 1<<30)))
	return &Packer{x: x, cfg: cfg}
}

// Run sweeps until ctx ends, and returns nil then. A second Run at the same time
// is an error, and so is a codec that cannot be made.
//
// What was read in the turn of the clock before After began may have been read
// within After; so objects wait for one sweep more than After has.
//
// What came with the first list does not wait, if nobody is at work for it: the next
// sweep packs it, or Handle has done so.
func (p *Packer) Run(ctx context.Context) error {
	if !p.running.CompareAndSwap(false, true) {
		return fmt.Errorf("packer of %s runs already", p.x.name)
	}
	defer p.running.Store(false)
	ticker := time.NewTicker(p.cfg.Every)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
		if err := p.Sweep(ctx); err != nil {
			return fmt.Errorf("pack %s: %w", p.x.name, err)
		}
	}
}

// Sweep is one turn of Run: the clock goes on, and what is idle is packed, as
// far as ctx allows. Use it instead of Run, not beside it.
func (p *Packer) Sweep(ctx context.Context) error {
	s, err := p.sweep(ctx)
	if err == nil && p.cfg.Trace.Swept != nil {
		p.cfg.Trace.Swept(s)
	}
	return err
}

func (p *Packer) sweep(ctx context.Context) (Sweep, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	begin := time.Now()
	p.x.policy.clock.Add(1)
	s, size, err := p.endFirst()
	if err != nil {
		return s, err
	}
	idle := p.idle()
	s.Idle += len(idle)
	if err := p.learn(idle, &s); err != nil {
		return s, err
	}
	if p.dictionary != nil && len(idle) > 0 {
		packed, err := p.pack(ctx, idle, &s)
		if err != nil {
			return s, err
		}
		size.join(packed)
	}
	s.Ratio, s.Freed = size.ratio(), int64(size.before-size.after)
	s.Took = time.Since(begin)
	return s, nil
}

// idle is what should be packed.
func (p *Packer) idle() []found {
	m := p.x.moment("")
	var idle []found
	for f := range m.each {
		if p.rests(f) {
			idle = append(idle, f)
		}
	}
	return idle
}

func (p *Packer) rests(f found) bool {
	return f.cell.plain != nil && p.x.policy.old(f.read.Load()) && !p.cfg.Live(f.cell.plain)
}

// pack packs what is idle: quickly what the first list has brought, since it may be
// all that there is, while a start waits for the cores; the rest well.
func (p *Packer) pack(ctx context.Context, idle []found, s *Sweep) (size sizes, err error) {
	i := partition(idle, func(f found) bool { return f.read.Load() < firstTurn })
	for _, part := range []struct {
		packer func() (*wire.Packer, error)
		idle   []found
	}{{p.dictionary.QuickPacker, idle[:i]}, {p.dictionary.Packer, idle[i:]}} {
		if len(part.idle) == 0 {
			continue
		}
		with, err := part.packer() // some megabytes, which live as long as this takes
		if err != nil {
			return size, err
		}
		s.Packed += p.packWith(ctx, with, part.idle, &size)
	}
	p.judge(size)
	return size, nil
}

// partition puts those that are so before the others, and returns how many they are.
func partition(all []found, is func(found) bool) (n int) {
	for i, f := range all {
		if is(f) {
			all[n], all[i] = all[i], all[n]
			n++
		}
	}
	return n
}

// packWith packs one object after the other, without a lock of the store's, and returns
// how many it has put there.
func (p *Packer) packWith(ctx context.Context, with *wire.Packer, idle []found, size *sizes) (n int) {
	done := make([]packedCell, 0, batch)
	for i := 0; i < len(idle) && ctx.Err() == nil; i++ {
		f := idle[i]
		packed := with.Pack(f.cell.plain)
		if packed == nil {
			p.x.policy.written(f.read, false) // or it would be tried again in every sweep
			continue
		}
		if done = append(done, packedCell{f, packed}); len(done) == batch {
			n += p.x.swapIn(done, size)
			done = done[:0]
		}
	}
	return n + p.x.swapIn(done, size)
}

// packedCell is an object that has been packed, and what was found of it then.
type packedCell struct {
	found
	packed *wire.Packed
}

// swapIn puts packed objects into their places, save those that have been
// written or read meanwhile, and returns how many that were, and adds up their sizes.
func (x *Indexer) swapIn(done []packedCell, size *sizes) (n int) {
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, d := range done {
		if x.policy.old(d.read.Load()) && x.swapLocked(d.found, cell{packed: d.packed}) {
			size.add(d.cell.plain, d.packed)
			n++
		}
	}
	x.packs.Add(int64(n))
	return n
}
