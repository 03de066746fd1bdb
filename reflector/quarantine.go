package reflector

import (
	"cmp"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

const (
	// quarantineSize is how many keys are looked after one by one. Where more are
	// bad it is not the objects, it is us, and a list says as much as a thousand
	// requests.
	quarantineSize = 1000

	// The first request for an object comes a second after its refusal: what was
	// spoilt on the way is put right before anybody has looked. Whoever is still
	// refused after that is asked for half as often each time, down to once in
	// five minutes.
	refetchBase = time.Second
	refetchMax  = 5 * time.Minute
)

// Quarantined is an object whose newest state the sink does not have, because it
// could not be read or the sink refused it. The sink has it as it was, if it had
// it.
type Quarantined struct {
	Key types.NamespacedName
	// ResourceVersion is the state that was refused last, if that could be read.
	ResourceVersion string
	// Since is when the key came in, Err why it is still here.
	Since time.Time
	Err   error
	// Attempts counts the requests for this object that changed nothing; the next
	// is due at Next.
	Attempts int
	Next     time.Time
}

// confined is a key in quarantine.
type confined struct {
	Quarantined

	// stamp is that of the last refusal: an answer that was asked for before it is
	// too old.
	stamp uint64
	// unanswered: the server does not answer the question at all, so that only a
	// list will tell.
	unanswered bool
}

// quarantine is the set of them. It is plain data, guarded by Reflector.mu.
type quarantine struct {
	keys  map[types.NamespacedName]*confined
	stamp uint64 // of the last refusal of any key
}

// put takes a refusal in. A key that is there already stays, with the new reason
// and at its pace. It reports false if there is no key, or no room for one more.
func (q *quarantine) put(f Refusal, now time.Time) (fresh, ok bool) {
	if f.Key.Name == "" {
		return false, false
	}
	c := q.keys[f.Key]
	if c == nil {
		if len(q.keys) >= quarantineSize {
			return false, false
		}
		if q.keys == nil {
			q.keys = map[types.NamespacedName]*confined{}
		}
		fresh = true
		c = &confined{Quarantined: Quarantined{Key: f.Key, Since: now, Next: now.Add(refetchBase)}}
		q.keys[f.Key] = c
	}
	q.stamp++
	c.stamp, c.ResourceVersion, c.Err = q.stamp, f.ResourceVersion, f.Err
	return fresh, true
}

// release lets a key out.
func (q *quarantine) release(key types.NamespacedName) (Quarantined, bool) {
	c := q.keys[key]
	if c == nil {
		return Quarantined{}, false
	}
	delete(q.keys, key)
	return c.Quarantined, true
}

// before is every key that nobody has refused since a stamp, sorted.
func (q *quarantine) before(stamp uint64) []types.NamespacedName {
	var keys []types.NamespacedName
	for key, c := range q.keys {
		if c.stamp <= stamp {
			keys = append(keys, key)
		}
	}
	slices.SortFunc(keys, compareKeys)
	return keys
}

// first is the key that is due first.
func (q *quarantine) first() (first confined, ok bool) {
	for _, c := range q.keys {
		if !ok || cmp.Or(c.Next.Compare(first.Next), compareKeys(c.Key, first.Key)) < 0 {
			first, ok = *c, true
		}
	}
	return first, ok
}

// still reports whether a key is where it was when it was asked for.
func (q *quarantine) still(was confined) bool {
	c := q.keys[was.Key]
	return c != nil && c.stamp == was.stamp
}

// failed notes that asking for a key changed nothing, and when to ask again.
func (q *quarantine) failed(key types.NamespacedName, err error, unanswered bool, wish time.Duration, now time.Time) {
	c := q.keys[key]
	if c == nil {
		return
	}
	c.Attempts++
	c.Err, c.unanswered = err, unanswered
	pace := Backoff{Base: refetchBase, Max: 2 * refetchMax}
	c.Next = now.Add(max(wish, pace.step(c.Attempts+1)))
}

// unanswered reports whether there is a key that only a list can bring.
func (q *quarantine) unanswered() bool {
	for _, c := range q.keys {
		if c.unanswered {
			return true
		}
	}
	return false
}

// all is what there is, sorted by key.
func (q *quarantine) all() []Quarantined {
	all := make([]Quarantined, 0, len(q.keys))
	for _, c := range q.keys {
		all = append(all, c.Quarantined)
	}
	slices.SortFunc(all, func(a, b Quarantined) int { return compareKeys(a.Key, b.Key) })
	return all
}

func compareKeys(a, b types.NamespacedName) int {
	return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
}
