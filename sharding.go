package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"

	"millrace/indexer"
	"millrace/shard"
)

// some is the work of this replica's share, while it holds the Lease of a shard. Each
// time the share changes, the workers end, then the caches, and then others may take
// what was given up; and it begins anew, with caches that are empty. To ask a source
// that has caches for something else would not do: what is no more in the answer would
// look as if it had been deleted.
func (p *program) some(mayWork context.Context, lose context.CancelCauseFunc) work {
	leases := p.shardLeases()
	p.member = shard.NewMember(leases, shard.MemberConfig{
		Poll: p.cfg.retryPeriod, Settle: p.cfg.leaseDuration, Weigh: p.weigh, Trace: p.registry.Sharding(),
	})
	begin := func(ctx context.Context, of shard.Range) error { return p.workOn(mayWork, ctx, of) }
	return func(context.Context, *errgroup.Group) func(context.Context) error {
		return func(ctx context.Context) error {
			now := time.Now()
			p.contends.Store(&now)
			run := func(ctx context.Context) error { return p.member.Run(ctx, begin) }
			return lead(ctx, p.cfg, leases, run, lose)
		}
	}
}

// shardLeases are those of all shards, as this replica sees them.
func (p *program) shardLeases() *shard.Leases {
	return shard.NewLeases(p.api.leases.Leases(p.cfg.namespace), shard.Config{
		Shards: p.cfg.shards, Identity: p.api.lock.Identity(), LeaseDuration: p.cfg.leaseDuration, Timeout: p.cfg.renewDeadline / 2, Leader: leaseName,
	})
}

// unshared is work on everything, by who leads: it begins when nobody works on a share of
// it any more, as when an install that had shards has one leader again.
func unshared(leader *shard.Leader, work func(context.Context) error) func(context.Context) error {
	return func(ctx context.Context) error {
		if err := leader.AwaitUnclaimed(ctx); err != nil {
			return fmt.Errorf("waiting for replicas that share the work: %w", err)
		}
		return work(ctx)
	}
}

// workOn is all of a share's life.
func (p *program) workOn(mayWork, ctx context.Context, of shard.Range) error {
	s := newShare(mayWork, p, of)
	p.share.Store(s)
	defer func() {
		p.share.Store(nil)
		p.registry.Part() // which has nothing
	}()
	caching, stopCaching := context.WithCancel(context.WithoutCancel(ctx))
	defer stopCaching()
	parts, caching := errgroup.WithContext(caching)
	s.keep(caching, parts)
	parts.Go(func() error {
		defer stopCaching()
		working, stop := context.WithCancel(ctx)
		defer stop()
		defer context.AfterFunc(caching, stop)() // a part that fails takes the others with it
		return unlessStopped(ctx, s.work)(working)
	})
	return parts.Wait()
}

var errShareMayCome = errors.New("it has no share of the namespaces yet, and may still get one")

// shared is why this replica does not work on its share, if it has one, or on everything,
// if it leads. A new one that has none may get that of a replica which is ending, and only
// then is the update at the next.
func (p *program) shared() error {
	if p.member == nil {
		return p.leader.Ready()
	}
	since := p.contends.Load()
	if p.share.Load() == nil && (since == nil || time.Since(*since) < p.cfg.leaseDuration) {
		return errShareMayCome
	}
	return p.member.Ready()
}

// weigh is what the objects of the share take while they are plain, by namespace; false
// while its caches fill.
func (p *program) weigh() (shard.Weights, bool) {
	s := p.share.Load()
	if s == nil {
		return nil, false
	}
	weights := shard.Weights{}
	for _, c := range s.chains() {
		if !synced(c) {
			return nil, false
		}
		addWeights(weights, c.Indexer)
	}
	return weights, true
}

// addWeights adds a store's. What is packed weighs as much as what is not: it takes a
// tenth, and a replica that has just begun, with all of it plain, is no heavier than
// one that has been there for an hour.
func addWeights(weights shard.Weights, store *indexer.Indexer) {
	for key := range store.Keys() {
		if o, ok := store.Glance(key); ok {
			weights[shard.Hash(key.Namespace)] += int64(o.PlainSize())
		}
	}
}
