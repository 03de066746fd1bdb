package shard

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"maps"
	"strings"
	"sync"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	coordination "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"k8s.io/klog/v2"
)

// Most is how many shards there can be.
const Most = 64

// Config is how many shards there are, and who this process is.
type Config struct {
	// Shards is how many replicas may share the work, Most at the most.
	Shards int
	// Identity names this process, as in a leader's Lease.
	Identity string
	// LeaseDuration is how long a Lease must not have changed before its holder is taken
	// for gone. It must be longer than the holder's renew deadline.
	LeaseDuration time.Duration
	// Timeout bounds each request, so that an answer that never comes does not keep who
	// asks from what is to be done next. Default: a third of LeaseDuration.
	Timeout time.Duration
	// Leader names the Lease of who works on everything where nothing is shared: while
	// somebody holds it, no share is begun. Default: nobody ever leads.
	Leader string
}

// Leases are those of all shards, as this process sees them, and a lock on one of
// them: whichever is free. Methods may be called from anywhere.
type Leases struct {
	client coordination.LeaseInterface
	cfg    Config

	// turn is held by whoever writes the Lease: the elector, which renews it, or the
	// Member, which claims a range. It is taken before mu.
	turn chan struct{}

	mu      sync.Mutex          // guards what follows; not held while the server is asked
	seen    map[string]sighting // by name
	slots   map[int]occupation  // since when
	shard   int                 // that this process holds, or wants next; -1: none
	mine    *coordinationv1.Lease
	held    bool
	claim   *Range // what is to be written on mine
	weights string
}

// A sighting is the last change of a Lease, by this process's own clock: those of the
// others may be wrong.
type sighting struct {
	version string
	at      time.Time
	unread  map[string]*news // what of it could not be read, by annotation
}

type occupation struct {
	held  bool
	since time.Time
}

// NewLeases does no I/O.
func NewLeases(client coordination.LeaseInterface, cfg Config) *Leases {
	if cfg.Timeout <= 0 {
		cfg.Timeout = cfg.LeaseDuration / 3
	}
	return &Leases{client: client, cfg: cfg, turn: make(chan struct{}, 1), seen: map[string]sighting{}, slots: map[int]occupation{}, shard: -1}
}

var _ resourcelock.Interface = (*Leases)(nil)

// look reads all Leases, as of now: a list without a resourceVersion is answered with
// what is stored. A holder is silent if it was when the list was asked for: what it has
// done since need not be in a list that took its time.
func (l *Leases) look(ctx context.Context) (view, error) {
	ctx, cancel := context.WithTimeout(ctx, l.cfg.Timeout)
	defer cancel()
	asked := time.Now()
	list, err := l.client.List(ctx, metav1.ListOptions{LabelSelector: Selector})
	if err != nil {
		return view{}, fmt.Errorf("list the Leases of shards: %w", err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	v := view{slots: make([]slot, Most)}                          // whoever has more shards than this process is seen, too
	now, there := time.Now(), map[string]bool{l.cfg.Leader: true} // which no list has
	for i := range list.Items {
		lease := &list.Items[i]
		there[lease.Name] = true
		l.sightLocked(lease, now)
		if shard, ok := shardOf(lease.Name); ok {
			v.slots[shard] = l.slotLocked(ctx, lease, asked)
		} else if lease.Name == DivisionLease {
			v.lease = lease
			v.division, err = ParseDivision(lease.Annotations[onDivision])
			l.complainLocked(ctx, lease, onDivision, err, "Everything is divided anew")
		}
	}
	maps.DeleteFunc(l.seen, func(name string, _ sighting) bool { return !there[name] })
	for i := range v.slots {
		v.slots[i].since = l.sinceLocked(i, v.slots[i].holder != "", now)
	}
	return v, nil
}

func (l *Leases) sightLocked(lease *coordinationv1.Lease, now time.Time) {
	last := l.seen[lease.Name]
	if last.unread == nil {
		last.unread = map[string]*news{onDivision: {}, onWeights: {}, onClaim: {}}
	}
	if last.version != lease.ResourceVersion {
		last.version, last.at = lease.ResourceVersion, now
	}
	l.seen[lease.Name] = last
}

// complainLocked logs that an annotation of a Lease that was sighted cannot be read, once
// for each text of it: Leases are looked at every second or so. Nil is that it can be.
func (l *Leases) complainLocked(ctx context.Context, lease *coordinationv1.Lease, annotation string, err error, what string) {
	text := ""
	if err != nil {
		text = lease.Annotations[annotation]
	}
	if l.seen[lease.Name].unread[annotation].is(text) {
		klog.FromContext(ctx).Error(err, what, "lease", lease.Name)
	}
}

// silentLocked tells whether nobody has renewed a Lease for as long as its holder may be
// silent, as of when it was asked for.
func (l *Leases) silentLocked(lease *coordinationv1.Lease, asked time.Time) bool {
	return asked.Sub(l.seen[lease.Name].at) >= l.patience(lease)
}

func (l *Leases) sinceLocked(shard int, held bool, now time.Time) time.Time {
	if was, known := l.slots[shard]; !known || was.held != held {
		l.slots[shard] = occupation{held, now}
	}
	return l.slots[shard].since
}

// slotLocked reads a Lease that was sighted.
func (l *Leases) slotLocked(ctx context.Context, lease *coordinationv1.Lease, asked time.Time) slot {
	s := slot{lease: lease, holder: holderOf(lease)}
	weighs, cells, _ := strings.Cut(lease.Annotations[onWeights], " ")
	var err error
	if s.weighs, err = ParseRange(weighs); err == nil {
		s.cells, err = parseCells(cells)
	}
	s.told = err == nil
	l.complainLocked(ctx, lease, onWeights, err, "What a share weighs cannot be read")
	if s.holder != "" && s.holder != l.cfg.Identity && l.silentLocked(lease, asked) {
		s.holder, s.silent = "", true
	}
	if text := lease.Annotations[onClaim]; text != "" && s.holder != "" {
		claim, err := ParseRange(text) // who claims what nobody can read may be at work anywhere
		l.complainLocked(ctx, lease, onClaim, err, "A claim cannot be read, and nobody can begin beside it")
		s.claim = &claim
	}
	return s
}

func holderOf(lease *coordinationv1.Lease) string {
	if lease == nil || lease.Spec.HolderIdentity == nil {
		return ""
	}
	return *lease.Spec.HolderIdentity
}

// patience is how long the holder of a Lease may be silent: as long as it says, if
// that is longer than what this process would say.
func (l *Leases) patience(lease *coordinationv1.Lease) time.Duration {
	if d := lease.Spec.LeaseDurationSeconds; d != nil {
		return max(l.cfg.LeaseDuration, time.Duration(*d)*time.Second)
	}
	return l.cfg.LeaseDuration
}

// Get implements resourcelock.Interface: it is the Lease that this process holds, or
// one that it could hold. One whose holder has gone silent is shown as nobody's.
func (l *Leases) Get(ctx context.Context) (*resourcelock.LeaderElectionRecord, []byte, error) {
	l.mu.Lock()
	held, shard := l.held, l.shard
	l.mu.Unlock()
	if held {
		lease, err := l.client.Get(ctx, leaseName(shard), metav1.GetOptions{})
		if err != nil {
			return nil, nil, err
		}
		l.mu.Lock()
		defer l.mu.Unlock()
		l.mine = lease
		return recordOf(lease, holderOf(lease))
	}
	v, err := l.look(ctx)
	if err != nil {
		return nil, nil, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.shard, l.mine = l.chooseLocked(v), nil
	switch {
	case l.shard < 0:
		// An elector takes for silent who never changes.
		others := &resourcelock.LeaderElectionRecord{HolderIdentity: "others", LeaseDurationSeconds: int(l.cfg.LeaseDuration / time.Second)}
		return others, fmt.Append(nil, time.Now()), nil
	case v.slots[l.shard].lease == nil:
		return nil, nil, apierrors.NewNotFound(schema.GroupResource{Group: coordinationv1.GroupName, Resource: "leases"}, leaseName(l.shard))
	}
	l.mine = v.slots[l.shard].lease
	return recordOf(l.mine, v.slots[l.shard].holder)
}

// recordOf is the Lease as an elector wants it, with who holds it really.
func recordOf(lease *coordinationv1.Lease, holder string) (*resourcelock.LeaderElectionRecord, []byte, error) {
	record := resourcelock.LeaseSpecToLeaderElectionRecord(&lease.Spec)
	record.HolderIdentity = holder
	raw, err := json.Marshal(record)
	return record, raw, err
}

// chooseLocked is the shard to take: that of this process's last life, which is over;
// else one that has a share and nobody to work on it; else any that is free. Where
// there is a choice, each replica begins elsewhere, or all would go for the same.
func (l *Leases) chooseLocked(v view) int {
	own := func(i int) bool { return v.slots[i].holder == l.cfg.Identity }
	orphan := func(i int) bool { _, has := v.division.Of(i); return has && v.slots[i].holder == "" }
	free := func(i int) bool { return v.slots[i].holder == "" }
	begin := fnv.New32a()
	_, _ = begin.Write([]byte(l.cfg.Identity)) // a hash takes everything
	for _, good := range []func(int) bool{own, orphan, free} {
		for i := range l.cfg.Shards {
			if i = (i + int(begin.Sum32()%uint32(l.cfg.Shards))) % l.cfg.Shards; good(i) {
				return i
			}
		}
	}
	return -1
}

// Create implements resourcelock.Interface.
func (l *Leases) Create(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	return l.inTurn(ctx, func() (*coordinationv1.Lease, error) {
		lease := &coordinationv1.Lease{Spec: resourcelock.LeaderElectionRecordToLeaseSpec(&record)}
		if lease.Name = l.inscribe(lease); lease.Name == "" {
			return nil, errors.New("create a Lease: no shard is free")
		}
		lease.Labels = leaseLabels()
		return l.client.Create(ctx, lease, metav1.CreateOptions{})
	})
}

// Update implements resourcelock.Interface.
func (l *Leases) Update(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	return l.inTurn(ctx, func() (*coordinationv1.Lease, error) {
		lease, ours := l.last()
		if lease == nil {
			return nil, errors.New("update a Lease: none was read")
		}
		if record.HolderIdentity == "" { // it is given back, once all work has ended
			if !ours {
				return nil, errors.New("give a Lease back: it is another replica's by now")
			}
			l.intend(nil)
		}
		lease.Spec = resourcelock.LeaderElectionRecordToLeaseSpec(&record)
		l.inscribe(lease)
		return l.client.Update(ctx, lease, metav1.UpdateOptions{})
	})
}

// write puts a claim, nil for none, on the Lease that this process holds.
func (l *Leases) write(ctx context.Context, claim *Range) error {
	ctx, cancel := context.WithTimeout(ctx, l.cfg.Timeout)
	defer cancel()
	return l.inTurn(ctx, func() (*coordinationv1.Lease, error) {
		lease, ours := l.last()
		if !ours {
			return nil, errors.New("claim a range: no Lease is held")
		}
		l.intend(claim)
		l.inscribe(lease)
		return l.client.Update(ctx, lease, metav1.UpdateOptions{})
	})
}

// inTurn writes the Lease when nobody else does, and takes the answer in. After one that
// was lost nobody knows what is stored: the elector then reads the Lease again.
func (l *Leases) inTurn(ctx context.Context, write func() (*coordinationv1.Lease, error)) error {
	select {
	case l.turn <- struct{}{}:
		defer func() { <-l.turn }()
	case <-ctx.Done():
		return ctx.Err() //nolint:wrapcheck // The elector looks for what the API server said.
	}
	lease, err := write()
	if err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.mine, l.held = lease, holderOf(lease) == l.cfg.Identity
	return nil
}

// last is a copy of the Lease as it was read or written last, and whether this process
// holds it.
func (l *Leases) last() (lease *coordinationv1.Lease, ours bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.mine.DeepCopy(), l.held && holderOf(l.mine) == l.cfg.Identity
}

// intend is what the Lease shall say from the next write on.
func (l *Leases) intend(claim *Range) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.claim = claim
}

// intends tells whether the next renewal of the Lease says that a range is claimed.
func (l *Leases) intends(r Range) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.claim != nil && *l.claim == r
}

// RecordEvent implements resourcelock.Interface. Nobody is told.
func (l *Leases) RecordEvent(string) {}

// Identity is this process.
func (l *Leases) Identity() string { return l.cfg.Identity }

// Describe is for the log.
func (l *Leases) Describe() string { return leasePrefix + "*" }

// weigh has the next renewal tell what a range weighs.
func (l *Leases) weigh(r Range, w Weights) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.weights = r.String() + " " + formatCells(w.Summarize())
}

// divide writes another division, if nobody else has meanwhile.
func (l *Leases) divide(ctx context.Context, v view, next Division) error {
	ctx, cancel := context.WithTimeout(ctx, l.cfg.Timeout)
	defer cancel()
	now := metav1.NowMicro()
	lease := &coordinationv1.Lease{}
	if v.lease != nil {
		lease = v.lease.DeepCopy()
	}
	lease.Name, lease.Labels = DivisionLease, leaseLabels()
	lease.Spec.HolderIdentity, lease.Spec.RenewTime = &l.cfg.Identity, &now
	metav1.SetMetaDataAnnotation(&lease.ObjectMeta, onDivision, next.String())
	var err error
	if v.lease == nil {
		_, err = l.client.Create(ctx, lease, metav1.CreateOptions{})
	} else {
		_, err = l.client.Update(ctx, lease, metav1.UpdateOptions{})
	}
	if err != nil {
		return fmt.Errorf("write the division: %w", err)
	}
	return nil
}

// inscribe puts on a Lease what it shall say, and returns the name of the one that this
// process holds, or wants; "" if there is none.
func (l *Leases) inscribe(lease *coordinationv1.Lease) (name string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.claim != nil {
		metav1.SetMetaDataAnnotation(&lease.ObjectMeta, onClaim, l.claim.String())
	} else {
		delete(lease.Annotations, onClaim)
	}
	if l.weights != "" {
		metav1.SetMetaDataAnnotation(&lease.ObjectMeta, onWeights, l.weights)
	}
	if l.shard < 0 {
		return ""
	}
	return leaseName(l.shard)
}

// holds is the shard that this process holds.
func (l *Leases) holds() (shard int, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.shard, l.held
}

// own is the slot of the shard that this process holds, as the server has it; nil if it
// is not this process's there.
func (l *Leases) own(v view) (shard int, own *slot) {
	shard, held := l.holds()
	if !held || v.slots[shard].holder != l.cfg.Identity {
		return shard, nil
	}
	return shard, &v.slots[shard]
}

func leaseLabels() map[string]string {
	set, err := labels.ConvertSelectorToLabelsMap(Selector)
	if err != nil {
		panic(err) // it is a constant
	}
	return set
}
