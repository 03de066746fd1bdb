package shard

import (
	"context"
	"fmt"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2"
)

// An install that is changed from one leader to shards, or back, has replicas of both
// kinds for a while. Each says first what it is about to do, the leader by holding its
// Lease and a member by its claim, and then looks whether the other kind is there: so
// one of them sees the other, whatever comes between. The leader keeps its Lease while it
// waits, and a member takes its claim back, so they do not wait for each other.

// leader is why no share may be begun: who works on everything. "" if nobody does. It has
// to be read after the claim was seen on the server.
func (l *Leases) leader(ctx context.Context) (obstacle string, err error) {
	if l.cfg.Leader == "" {
		return "", nil
	}
	ctx, cancel := context.WithTimeout(ctx, l.cfg.Timeout)
	defer cancel()
	asked := time.Now()
	lease, err := l.client.Get(ctx, l.cfg.Leader, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return "", nil // nobody has ever led
	}
	if err != nil {
		return "", fmt.Errorf("read the Lease of a leader: %w", err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.sightLocked(lease, time.Now())
	holder := holderOf(lease)
	if holder == "" || holder == l.cfg.Identity || l.silentLocked(lease, asked) {
		return "", nil
	}
	return fmt.Sprintf("%s, which %s holds, is for everything", lease.Name, holder), nil
}

// AwaitUnclaimed returns nil when no replica claims a share any more, and ctx's cause when
// that ends first. Who calls it holds the Lease that Config.Leader of those replicas
// names: then none of them begins on a share afterwards, for as long as it is held. The
// Leases are read every poll.
func (l *Leases) AwaitUnclaimed(ctx context.Context, poll time.Duration) error {
	for was := ""; ctx.Err() == nil; pause(ctx, poll) {
		v, err := l.look(ctx)
		if err != nil {
			if ctx.Err() == nil {
				klog.FromContext(ctx).Error(err, "Cannot see whether the work is shared, will try again")
			}
			continue
		}
		// What this process has claimed in its last life is over.
		mine := slices.IndexFunc(v.slots, func(s slot) bool { return s.holder == l.cfg.Identity })
		why := v.obstacle(mine, Range{})
		if why == "" {
			return nil
		}
		if why != was {
			klog.FromContext(ctx).Info("Leads, and waits for replicas that share the work", "why", why)
		}
		was = why
	}
	return context.Cause(ctx)
}
