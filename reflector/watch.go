package reflector

import (
	"context"
	"errors"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"millrace/wire"
)

const (
	// initialSilence is how long a watch-list that was accepted may pause
	// before its end. The server sends it from memory, and knows within three
	// seconds whether its memory is fresh enough. An aggregated API or a proxy
	// that drops the bookmark pauses for ever (issue 135895 of kubernetes).
	initialSilence = 10 * time.Second
	// initialDeadline is how long it may take altogether once it was accepted, without the
	// time that the sink has no room: where changes keep coming, a missing bookmark makes no silence. Whoever
	// has more than can be sent in this time gets pages, which have no deadline.
	initialDeadline = 2 * time.Minute
)

// watchList asks for the present objects and all later changes in one stream
// (KEP-3157), and leaves the stream open where the objects end.
func (r *Reflector) watchList(ctx context.Context, p position) outcome {
	l := listing{r: r, began: time.Now()}
	s, err := r.open(ctx, r.requestFrom(p), r.watchListOptions(p))
	if err != nil {
		return r.outcomeOf(ctx, outcome{}, "watch-list", err)
	}
	l.until = s.opened.Add(initialDeadline)
	l.deadline = time.AfterFunc(initialDeadline, func() { s.cancel(errNoEnd) })
	defer l.deadline.Stop()
	s.patience = initialSilence
	l.begin()
	resourceVersion, err := l.initialEvents(ctx, s)
	if err != nil {
		l.abort()
		s.close()
		return r.streamEnded(ctx, s, outcome{opened: true}, "watch-list", err, errEarly)
	}
	s.patience = r.cfg.SilenceTimeout
	l.commit(resourceVersion, List{Cause: p.cause, Streamed: true, Pages: 1})
	return outcome{end: complete, now: time.Now(), rv: resourceVersion, gap: l.gap, bookmarked: true, stream: s}
}

func (r *Reflector) watchListOptions(p position) metav1.ListOptions {
	opts := r.watchOptions(p, p.floor)
	yes := true
	opts.SendInitialEvents = &yes
	opts.ResourceVersionMatch = metav1.ResourceVersionMatchNotOlderThan
	return opts
}

// watchOptions asks for changes after a resourceVersion.
func (r *Reflector) watchOptions(p position, resourceVersion string) metav1.ListOptions {
	opts := r.options(p)
	opts.Watch, opts.AllowWatchBookmarks = true, true
	opts.ResourceVersion = resourceVersion
	seconds := int64(r.cfg.WatchTimeout.Seconds() * (1 + r.random.Float64()))
	opts.TimeoutSeconds = &seconds
	return opts
}

// initialEvents reads up to the bookmark that ends the list, and returns its
// resourceVersion.
func (l *listing) initialEvents(ctx context.Context, s *stream) (string, error) {
	if err := l.r.beginEvents(s); err != nil {
		return "", err
	}
	for {
		event, err := s.events.Next()
		if isUnreadable(err) {
			l.items++
			l.unreadable(err)
			continue
		}
		if err != nil {
			return "", err
		}
		switch event.Type {
		case wire.Error:
			return "", statusError(event)
		case wire.Bookmark:
			if event.InitialEventsEnd {
				return endOfList(event)
			}
		case wire.Deleted:
			l.gap = !l.r.give(event.Type, event.Object, l.r.sink.Delete) || l.gap
		default:
			l.items++
			l.give(ctx, event.Type, event.Object)
		}
	}
}

func endOfList(event wire.Event) (string, error) {
	resourceVersion := event.Object.ResourceVersion()
	if resourceVersion == "" {
		return "", errNoRV
	}
	return resourceVersion, nil
}

// watch follows the changes after p.rv, on the stream that a watch-list left or
// on one of its own.
func (r *Reflector) watch(ctx context.Context, p position) outcome {
	o := outcome{rv: p.rv}
	s := p.stream
	if s == nil {
		var err error
		if s, err = r.open(ctx, r.requestFrom(p), r.watchOptions(p, p.rv)); err != nil {
			return r.outcomeOf(ctx, o, "watch", err)
		}
	}
	defer s.close()
	r.opened()
	o.opened = true
	mend := mending{cancel: s.cancel, after: p.patience()}
	defer mend.stop()
	if p.gap {
		mend.begin()
	}
	err := r.attend(ctx, p, s, &o, &mend)
	o.gap = o.gap || r.lacks()
	o.healthy = time.Since(s.opened) >= r.cfg.HealthyAfter
	return r.streamEnded(ctx, s, o, "watch", err, errHasty)
}

// attend follows a stream, and asks meanwhile for what is in quarantine.
func (r *Reflector) attend(ctx context.Context, p position, s *stream, o *outcome, mend *mending) error {
	ctx, cancel := context.WithCancel(ctx)
	var refetching sync.WaitGroup
	refetching.Go(func() { r.refetches(ctx, p) })
	defer refetching.Wait()
	defer cancel()
	if err := r.beginEvents(s); err != nil {
		return err
	}
	return r.follow(s.events, o, mend)
}

// beginEvents waits for the first bytes of a stream, which say how it is spelled;
// a stream that a watch-list left is past them.
func (r *Reflector) beginEvents(s *stream) error {
	if s.events != nil {
		return nil
	}
	format, err := s.format()
	if err != nil {
		return err
	}
	s.events = r.scanner.Events(format, s)
	return nil
}

// follow gives events to the sink until the stream ends, and says how it did.
func (r *Reflector) follow(events *wire.EventReader, o *outcome, mend *mending) error {
	for {
		event, err := events.Next()
		switch {
		case isUnreadable(err):
			if r.passOver(unreadable(err), o) {
				mend.begin()
			}
		case err != nil:
			return err
		case event.Type == wire.Error:
			o.heard = true
			return statusError(event)
		case behind(event.Object.ResourceVersion(), o.rv):
			o.heard = true
			return errBehind
		default:
			r.pass(event, o)
			r.cfg.Trace.event(event.Type)
		}
	}
}

// passOver goes on past an event that could not be read. Its key goes into
// quarantine, if its resourceVersion is known: that is the first at which it is
// of use to ask what the object was. It reports true if nothing is known to ask for.
func (r *Reflector) passOver(f Refusal, o *outcome) (blind bool) {
	r.turn.Lock()
	defer r.turn.Unlock()
	o.heard = true
	r.refuse(f)
	if f.ResourceVersion == "" || behind(f.ResourceVersion, o.rv) {
		o.gap = true
		return true
	}
	o.gap = !r.confine(f) || o.gap
	o.rv = f.ResourceVersion
	r.reached(o.rv)
	return f.Key.Name == ""
}

// pass gives one event to the sink.
func (r *Reflector) pass(event wire.Event, o *outcome) {
	r.turn.Lock()
	defer r.turn.Unlock()
	o.heard = true
	r.take(event, o)
	if resourceVersion := event.Object.ResourceVersion(); resourceVersion != "" {
		o.rv = resourceVersion
	}
	r.reached(o.rv)
}

func (r *Reflector) take(event wire.Event, o *outcome) {
	switch event.Type {
	case wire.Bookmark:
		o.bookmarked = true
		r.sink.Bookmark(event.Object.ResourceVersion())
		return
	case wire.Added:
		o.gap = !r.give(event.Type, event.Object, r.sink.Add) || o.gap
	case wire.Modified:
		o.gap = !r.give(event.Type, event.Object, r.sink.Update) || o.gap
	case wire.Deleted:
		o.gap = !r.give(event.Type, event.Object, r.sink.Delete) || o.gap
	case wire.Error: // was the end of the stream
	}
	o.progress = o.progress || event.Object.ResourceVersion() != o.rv
}

// give offers an object to the sink. It reports false if only a list can bring
// it now.
func (r *Reflector) give(event wire.EventType, o *wire.Object, take func(*wire.Object) error) bool {
	if err := take(o); err != nil {
		refusal := Refusal{Event: event, Key: o.Key(), ResourceVersion: o.ResourceVersion(), Err: err}
		r.refuse(refusal)
		return r.confine(refusal)
	}
	r.release(o.Key())
	return true
}

// isUnreadable tells one object that could not be read from a stream that cannot.
func isUnreadable(err error) bool {
	_, ok := errors.AsType[*wire.ScanError](err)
	return ok
}

// behind says that a resourceVersion is older than one of the same watch,
// where they only grow. What cannot be compared is not behind.
func behind(resourceVersion, last string) bool {
	order, err := wire.CompareResourceVersions(resourceVersion, last)
	return err == nil && order < 0
}

func statusError(event wire.Event) error {
	return &apierrors.StatusError{ErrStatus: *event.Status}
}

// streamEnded sorts what ended a stream that had been accepted; tooSoon is what
// to say of a close that turns out to be one.
func (r *Reflector) streamEnded(ctx context.Context, s *stream, o outcome, doing string, err, tooSoon error) outcome {
	err = s.explain(err)
	if isEOF(err) {
		o = r.outcomeOf(ctx, o, doing, tooSoon)
	} else {
		o = r.outcomeOf(ctx, o, doing, err)
	}
	switch {
	case o.end != unreachable:
	case isEOF(err):
		o.end = closed
	case !s.broken():
		o.end = malformed
	}
	return o
}
