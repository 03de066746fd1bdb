package shard

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
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

// A Leader is a replica that works on everything, once nobody works on a share of it any
// more. Each of its methods may be called from anywhere.
type Leader struct {
	leases *Leases
	poll   time.Duration
	unsure atomic.Pointer[error] // how the last look failed; nil: it did not, or there is none to make
}

// NewLeader starts nothing. The Leases are read every poll.
func NewLeader(leases *Leases, poll time.Duration) *Leader {
	return &Leader{leases: leases, poll: poll}
}

// longestPause is between two looks of who leads, however often the server has failed it:
// so long after it does well again, the work begins. A longer poll stays as it is.
const longestPause = 5 * time.Second

// AwaitUnclaimed returns nil when no replica claims a share any more, and ctx's cause when
// that ends first. Who calls it holds the Lease that Config.Leader of those replicas
// names: then none of them begins on a share afterwards, for as long as it is held. A
// server that refuses to show the Leases, or is away, is asked ever more seldom. What it
// waits for is in the log once, until it is something else.
func (l *Leader) AwaitUnclaimed(ctx context.Context) error {
	defer l.unsure.Store(nil)
	var told news
	calm := wait.Backoff{Duration: l.poll, Factor: 2, Steps: 10, Cap: max(l.poll, longestPause)}
	pauses := calm
	for ctx.Err() == nil {
		why, err := l.obstacle(ctx)
		switch {
		case err == nil && why == "":
			return nil
		case err == nil:
			l.unsure.Store(nil)
			if told.is(why) {
				klog.FromContext(ctx).Info("Leads, and waits for replicas that share the work", "why", why)
			}
			pauses = calm
			pause(ctx, l.poll)
		case ctx.Err() == nil:
			l.unsure.Store(&err)
			if told.is(err.Error()) {
				klog.FromContext(ctx).Error(err, "Leads, cannot see whether others share the work, and goes on trying")
			}
			pause(ctx, pauses.Step())
		}
	}
	return context.Cause(ctx)
}

// Ready is nil unless this replica leads, and cannot begin since the server does not let it
// see whether others share the work. That they do is no reason: they end when they are told
// to, and an update would wait for this one first.
func (l *Leader) Ready() error {
	if err := l.unsure.Load(); err != nil {
		return fmt.Errorf("it leads, and cannot see whether others share the work: %w", *err)
	}
	return nil
}

// obstacle is which replica claims a share; "" for none.
func (l *Leader) obstacle(ctx context.Context) (string, error) {
	v, err := l.leases.look(ctx)
	if err != nil {
		return "", err
	}
	// What this process has claimed in its last life is over.
	mine := slices.IndexFunc(v.slots, func(s slot) bool { return s.holder == l.leases.cfg.Identity })
	return v.obstacle(mine, Range{}), nil
}
