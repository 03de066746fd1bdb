package shard

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/klog/v2"
)

// MemberConfig says how patiently a Member goes about it.
type MemberConfig struct {
	// Poll is how often the Leases are read. While a share changes hands it is four
	// times as often; who waits for a leader to end, or for the server, waits for longer
	// than that.
	Poll time.Duration
	// Settle is how long a replica must have come, or gone, before everything is divided
	// anew. One that takes another's place within it takes its share, too.
	Settle time.Duration
	// Weigh is what the share at work weighs; false: not known yet.
	Weigh func() (Weights, bool)
	Trace Trace
}

// Trace is a set of hooks, each of them optional, that are called by goroutines of Run.
type Trace struct {
	// Looked follows each look at the Leases.
	Looked func(members, version int)
	// Began is told of each share that work begins on, and Ended when the work has ended.
	Began, Ended func(Range)
}

// A Member is one replica of those that share the work. It must hold one of the
// Leases for as long as Run runs.
type Member struct {
	leases  *Leases
	cfg     MemberConfig
	waiting atomic.Pointer[delay] // nil: the share is worked on, or there is no Lease yet
	told    news                  // of a delay; Run's
}

// A delay is why the share is not worked on.
type delay struct {
	why string
	led bool // somebody works on everything: it is nobody's share that is waited for
}

// NewMember starts nothing.
func NewMember(leases *Leases, cfg MemberConfig) *Member { return &Member{leases: leases, cfg: cfg} }

// weighing is after how many looks a share is weighed again.
const weighing = 10

// Run has work work on this replica's share until ctx ends, and returns when it has
// returned. Each time the share becomes another one, work's ctx ends, and when it has
// returned it is called again, with what the share is then; while there is none it is
// not called. An error of work ends it. Run keeps to this:
//
//   - work is called with a range only after a list of all Leases has shown that this
//     replica claims it, and that no other one claims a part of it;
//   - the claim stands until work has returned.
func (m *Member) Run(ctx context.Context, work func(context.Context, Range) error) error {
	for {
		r, ok := m.await(ctx)
		if !ok {
			return nil
		}
		if err := m.work(ctx, r, work); err != nil {
			return err
		}
	}
}

// Ready is nil if this replica works on its share, or holds no Lease and so has none, or
// if a leader works on everything.
func (m *Member) Ready() error {
	if w := m.waiting.Load(); w != nil && !w.led {
		return errors.New("its share of the namespaces changes: " + w.why)
	}
	return nil
}

// Led tells whether this replica waits for one that leads to end.
func (m *Member) Led() bool {
	w := m.waiting.Load()
	return w != nil && w.led
}

func (m *Member) work(ctx context.Context, r Range, work func(context.Context, Range) error) error {
	if m.cfg.Trace.Began != nil {
		m.cfg.Trace.Began(r)
	}
	if m.cfg.Trace.Ended != nil {
		defer m.cfg.Trace.Ended(r)
	}
	klog.FromContext(ctx).Info("Works on a share of the namespaces", "range", r.String())
	ctx, stop := context.WithCancel(ctx)
	var watching sync.WaitGroup
	watching.Go(func() {
		defer stop()
		m.follow(ctx, r)
	})
	defer watching.Wait()
	defer stop()
	return work(ctx, r)
}

// await returns a range that is this replica's to work on; false when ctx ends.
func (m *Member) await(ctx context.Context) (Range, bool) {
	defer m.waiting.Store(nil)
	m.told = news{}
	var failed news
	for ctx.Err() == nil {
		r, ok, again, err := m.claim(ctx)
		if ok {
			return r, true
		}
		if err != nil && ctx.Err() == nil {
			m.waits(ctx, delay{why: "the server does not let it look, or claim: " + err.Error()}, false)
		}
		m.complain(ctx, &failed, err, "Cannot get its share of the namespaces, and goes on trying")
		if !again {
			pause(ctx, m.patience(err))
		}
	}
	return Range{}, false
}

// patience is until the next step towards a share. A share changes hands within seconds; a
// leader may lead for days, and a server that has just failed need not be asked soon.
func (m *Member) patience(err error) time.Duration {
	if err != nil || m.Led() {
		return m.cfg.Poll
	}
	return m.cfg.Poll / 4
}

// complain logs an error, if it is not the last one over again; nil is that all is well.
func (m *Member) complain(ctx context.Context, last *news, err error, what string) {
	switch {
	case ctx.Err() != nil:
	case err == nil:
		*last = news{}
	case last.is(err.Error()):
		klog.FromContext(ctx).Error(err, what)
	}
}

// claim does the next step towards a share: it looks, and writes what is to be written
// next. It has come there if a look shows this replica's claim, on a Lease that it holds,
// and no other beside it, and after that nobody leads; and if the claim is meant to stay:
// one that could not be taken back is there as well, and the next renewal would erase it.
// With again there is news to look at.
func (m *Member) claim(ctx context.Context) (r Range, ok, again bool, err error) {
	v, err := m.look(ctx)
	if err != nil {
		return Range{}, false, false, err
	}
	shard, own := m.leases.own(v)
	if own == nil {
		m.waits(ctx, delay{why: "it does not hold its Lease"}, true)
		return Range{}, false, false, nil
	}
	led, err := m.leases.leader(ctx)
	if err != nil {
		return Range{}, false, false, err
	}
	if led != "" {
		m.waits(ctx, delay{why: led, led: true}, true)
		return Range{}, false, false, m.drop(ctx, own.claim)
	}
	return m.claimBeside(ctx, v, shard, own.claim)
}

// claimBeside is claim where nobody leads: there are other shards alone.
func (m *Member) claimBeside(ctx context.Context, v view, shard int, claimed *Range) (r Range, ok, again bool, err error) {
	want, has := v.division.Of(shard)
	if !has {
		m.waits(ctx, delay{why: "the namespaces are still to be divided for it"}, false)
		return Range{}, false, false, m.drop(ctx, claimed)
	}
	obstacle := v.obstacle(shard, want)
	why := obstacle
	if why == "" {
		why = "it is being claimed"
	}
	m.waits(ctx, delay{why: why}, obstacle != "")
	switch {
	case claimed != nil && *claimed == want && m.leases.intends(want):
		return want, obstacle == "", false, nil
	case obstacle != "":
		return Range{}, false, false, m.drop(ctx, claimed)
	default:
		err = m.leases.write(ctx, &want)
		return Range{}, false, err == nil, err
	}
}

// waits notes why the share is not worked on, and tells what is not over in a moment, unless
// it was told last.
func (m *Member) waits(ctx context.Context, now delay, long bool) {
	m.waiting.Store(&now)
	if long && m.told.is(now.why) {
		klog.FromContext(ctx).Info("Waits for its share of the namespaces", "why", now.why)
	}
}

// drop takes a claim back, now that nobody works on it any more.
func (m *Member) drop(ctx context.Context, claimed *Range) error {
	if claimed == nil {
		return nil
	}
	return m.leases.write(ctx, nil)
}

// follow returns when the work on a range should end.
func (m *Member) follow(ctx context.Context, r Range) {
	var failed news
	for n := 0; ctx.Err() == nil; n++ {
		if n%weighing == 0 {
			w, ok := m.cfg.Weigh()
			if ok {
				m.leases.weigh(r, w)
			} else {
				n-- // at the next look
			}
		}
		v, err := m.look(ctx)
		if err == nil {
			if m.ends(v, r) {
				return
			}
			var led bool
			if led, err = m.makesWay(ctx, v); led {
				return
			}
		}
		m.complain(ctx, &failed, err, "Cannot see who shares the namespaces, and goes on trying")
		pause(ctx, m.cfg.Poll)
	}
}

// makesWay tells whether somebody leads, and waits, while a part of everything is not
// worked on: nobody could begin on it beside a leader. Where nothing is missing, who is to
// lead may wait, as it may be a new version that does not come far.
func (m *Member) makesWay(ctx context.Context, v view) (bool, error) {
	if v.whole() {
		return false, nil
	}
	led, err := m.leases.leader(ctx)
	return led != "", err
}

// ends tells whether a part of a range at work is to be another's, or what is to be added
// to it is nobody's any more, or the server does not show the claim to it, which nobody
// else would see then.
func (m *Member) ends(v view, r Range) bool {
	shard, own := m.leases.own(v)
	if own == nil || own.claim == nil || *own.claim != r {
		return true
	}
	want, has := v.division.Of(shard)
	switch {
	case has && want == r:
		return false
	case !has || !r.Within(want):
		return true
	default:
		return v.obstacle(shard, want) == ""
	}
}

// look reads the Leases. The first of those that hold one divides, if it is time to.
func (m *Member) look(ctx context.Context) (view, error) {
	v, err := m.leases.look(ctx)
	if err != nil {
		return view{}, err
	}
	members := v.members()
	if shard, ok := m.leases.holds(); ok && len(members) > 0 && members[0] == shard {
		if next, due := v.divide(m.cfg.Settle); due {
			if err := m.leases.divide(ctx, v, next); err != nil {
				return view{}, err
			}
			klog.FromContext(ctx).Info("The namespaces are divided anew", "shards", next.shards(), "version", next.Version)
			if v, err = m.leases.look(ctx); err != nil {
				return view{}, err
			}
		}
	}
	if m.cfg.Trace.Looked != nil {
		m.cfg.Trace.Looked(len(members), v.division.Version)
	}
	return v, nil
}

func pause(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}
