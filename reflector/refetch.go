package reflector

import (
	"context"
	"errors"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/types"

	"millrace/wire"
)

// refetchPace is the least time between two requests for objects in quarantine,
// however many there are.
const refetchPace = time.Second

// refetches asks again for what is in quarantine, one object after the other,
// while a watch is on. The stream does not wait for it: the two take turns with
// the sink (Reflector.turn).
//
// An answer must not put an object back that an event has brought further. So
// the question is what the object was at the resourceVersion that the stream had
// reached. As long as no event of the key comes meanwhile, that is what it still
// is when the answer is here; if one comes, it has released the key or given its
// refusal a new stamp, and the answer is dropped. No two resourceVersions are
// ever compared.
func (r *Reflector) refetches(ctx context.Context, p position) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for ctx.Err() == nil {
		c, at, wait := r.due()
		if wait = max(wait, time.Until(r.soonest)); wait <= 0 {
			r.refetch(ctx, p, c, at)
			r.soonest = time.Now().Add(refetchPace)
			continue
		}
		timer.Reset(wait)
		select {
		case <-ctx.Done():
		case <-timer.C:
		case <-r.confinement:
		}
	}
}

// due is the key whose turn it is and where the stream stands, or how long there
// is nothing to do.
func (r *Reflector) due() (c confined, at string, wait time.Duration) {
	r.turn.Lock()
	defer r.turn.Unlock()
	r.mu.Lock()
	defer r.mu.Unlock()
	c, ok := r.quarantine.first()
	if !ok {
		return c, "", time.Hour // a newcomer ends the wait
	}
	return c, r.status.ResourceVersion, time.Until(c.Next)
}

// refetch asks for one object, and tells the sink what came of it.
func (r *Reflector) refetch(ctx context.Context, p position, c confined, at string) {
	o, err := r.one(ctx, p, c.Key, at)
	switch {
	case ctx.Err() != nil:
		return // the next watch asks again
	case err == nil && o == nil:
		r.vanished(c)
		return
	case err == nil, isUnreadable(err):
		err = r.fetched(c, o, err)
	}
	if err != nil {
		r.notFetched(c, err)
	}
}

// one is the object of a key as it was at a resourceVersion, nil if there was
// none. It is a list of one, not a GET: the verb is one that a reflector has
// anyway; a selector that the object left counts as its deletion, as it does in a
// watch; and a list can be asked for the past. An answer is used when it is
// complete: its resourceVersion, which may come last, says whether it is one.
func (r *Reflector) one(ctx context.Context, p position, key types.NamespacedName, at string) (found *wire.Object, err error) {
	opts := r.options(p)
	opts.FieldSelector = also(opts.FieldSelector, fields.OneTermEqualSelector("metadata.name", key.Name).String())
	opts.ResourceVersion, opts.ResourceVersionMatch = at, metav1.ResourceVersionMatchExact
	s, err := r.open(ctx, r.request(key.Namespace, r.accept(p)), opts)
	if err != nil {
		return nil, err
	}
	defer s.close()
	meta, err := r.readList(s, func(o *wire.Object, err error) error {
		if err == nil && o.Key() != key {
			err = errStranger
		}
		if err == nil {
			found = o.Own()
		}
		return err
	})
	if err == nil && (meta.ResourceVersion != at || meta.Continue != "") {
		err = errElsewhen
	}
	return found, err
}

// also is both of two field selectors.
func also(selector, more string) string {
	if selector == "" {
		return more
	}
	return selector + "," + more
}

// fetched is the object, or the reason why it cannot be read even now.
func (r *Reflector) fetched(was confined, o *wire.Object, err error) error {
	r.turn.Lock()
	defer r.turn.Unlock()
	if !r.isStill(was) {
		return nil
	}
	if err == nil {
		err = r.sink.Found(o)
	}
	if err != nil {
		r.refuse(Refusal{Key: was.Key, ResourceVersion: was.ResourceVersion, Err: err})
		return &refusedAgainError{err}
	}
	r.release(was.Key)
	return nil
}

// vanished: at the resourceVersion that the stream has reached there is no such
// object.
func (r *Reflector) vanished(was confined) {
	r.turn.Lock()
	defer r.turn.Unlock()
	if r.isStill(was) {
		r.sink.Gone(was.Key)
		r.release(was.Key)
	}
}

var (
	errStranger = errors.New("the answer is another object")
	errElsewhen = errors.New("the answer is not the whole of what there was at the resourceVersion that was asked about")
)

// refusedAgainError is an answer that was no better than what it was to put right.
type refusedAgainError struct{ error }

func (e *refusedAgainError) Unwrap() error { return e.error }

// notFetched notes what became of the question. A server that does not answer
// it at all (it has forgotten the resourceVersion, or does not know what is
// asked) will be asked for a list when the watch ends.
func (r *Reflector) notFetched(was confined, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.quarantine.still(was) {
		r.quarantine.failed(was.Key, err, isNoAnswer(err), retryAfter(err), time.Now())
	}
}

func isNoAnswer(err error) bool {
	if _, again := errors.AsType[*refusedAgainError](err); again {
		return false
	}
	switch classify(err) {
	case expired, tooLarge, denied, missing, rejected, unacceptable:
		return true
	default: // trouble that passes, unless a parameter was passed over
		return errors.Is(err, errStranger) || errors.Is(err, errElsewhen)
	}
}

func (r *Reflector) isStill(was confined) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.quarantine.still(was)
}
