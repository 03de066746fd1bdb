package reflector

import (
	"context"
	"errors"
	"io"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"millrace/wire"
)

// list reads the resource page by page and gives each object to the sink as it
// arrives: neither the list nor a page is ever held.
func (r *Reflector) list(ctx context.Context, p position) outcome {
	l := listing{r: r, began: time.Now()}
	opts := r.listOptions(p)
	for pages := 1; ; pages++ {
		meta, err := l.page(ctx, r.requestFrom(p), opts)
		if err == nil && meta.ResourceVersion == "" {
			err = errNoRV
		}
		if err != nil {
			l.abort()
			return r.outcomeOf(ctx, outcome{pages: pages - 1}, "list", err)
		}
		if meta.Continue == "" {
			l.commit(meta.ResourceVersion, List{Cause: p.cause, Pages: pages})
			return outcome{end: complete, now: time.Now(), rv: meta.ResourceVersion, gap: l.gap}
		}
		// A continuation names its own resourceVersion; to name one beside it
		// is an error.
		opts = r.options(p)
		opts.Limit, opts.Continue = max(r.cfg.PageSize, 0), meta.Continue
	}
}

// options narrows as configured, as far as the server can.
func (r *Reflector) options(p position) metav1.ListOptions {
	opts := metav1.ListOptions{LabelSelector: r.cfg.LabelSelector, FieldSelector: r.cfg.FieldSelector}
	if p.sharded {
		opts.ShardSelector = r.cfg.ShardSelector
	}
	return opts
}

// listOptions asks for the first page.
func (r *Reflector) listOptions(p position) metav1.ListOptions {
	opts := r.options(p)
	if !p.whole && r.cfg.PageSize > 0 {
		opts.Limit = r.cfg.PageSize
	}
	if p.floor != "" {
		// Without the match, a resourceVersion with a limit means exactly that
		// one, which is what has just expired.
		opts.ResourceVersion, opts.ResourceVersionMatch = p.floor, metav1.ResourceVersionMatchNotOlderThan
	}
	return opts
}

// listing is a list on its way to the sink.
type listing struct {
	r     *Reflector
	began time.Time
	begun bool // the sink was told
	items int
	gap   bool
	stamp uint64 // what was refused after it, this list has refused

	deadline *time.Timer // ends one that is streamed; nil for pages
	until    time.Time   // when it does; later by what the sink was waited for
}

// page reads one answer.
func (l *listing) page(ctx context.Context, request *rest.Request, opts metav1.ListOptions) (wire.ListMeta, error) {
	s, err := l.r.open(ctx, request, opts)
	if err != nil {
		return wire.ListMeta{}, err
	}
	defer s.close()
	l.begin()
	return l.r.readList(s, func(o *wire.Object, err error) error { return l.item(ctx, o, err) })
}

// readList reads an answer that is a list, in whatever format it is.
func (r *Reflector) readList(s *stream, item func(*wire.Object, error) error) (wire.ListMeta, error) {
	format, err := s.format()
	if err != nil {
		return wire.ListMeta{}, s.explain(err)
	}
	meta, err := r.scanner.List(format, s, item)
	if err != nil {
		return meta, s.explain(err)
	}
	s.drain()
	return meta, nil
}

// begin tells the sink of the list, once the server has begun to answer: an
// outage is not a series of lists.
func (l *listing) begin() {
	if !l.begun {
		l.r.sink.Begin()
		l.begun, l.stamp = true, l.r.stamp()
	}
}

// item takes one object of a page, or what is known of one that could not be
// read.
func (l *listing) item(ctx context.Context, o *wire.Object, err error) error {
	l.items++
	if err != nil {
		l.unreadable(err)
		return nil
	}
	l.give(ctx, "", o)
	return nil
}

// give offers an object to the sink, once that has room for it.
func (l *listing) give(ctx context.Context, event wire.EventType, o *wire.Object) {
	l.awaitRoom(ctx)
	l.gap = !l.r.give(event, o, l.r.sink.Item) || l.gap
}

// awaitRoom waits for the sink, which is not the server's fault: the deadline stands still.
func (l *listing) awaitRoom(ctx context.Context) {
	if l.r.cfg.Room == nil {
		return
	}
	from := time.Now()
	running := l.deadline != nil && l.deadline.Stop()
	l.r.cfg.Room(ctx)
	if running {
		l.until = l.until.Add(time.Since(from))
		l.deadline.Reset(time.Until(l.until))
	}
}

func (l *listing) unreadable(err error) {
	refusal := unreadable(err)
	l.r.refuse(refusal)
	l.gap = !l.r.confine(refusal) || l.gap
	if refusal.Key.Name != "" {
		l.r.sink.Keep(refusal.Key)
	}
}

func (l *listing) commit(resourceVersion string, done List) {
	l.begin() // a list may be empty
	l.r.sink.Commit(resourceVersion)
	l.r.releaseBefore(l.stamp)
	done.Items, done.Took = l.items, time.Since(l.began)
	l.r.cfg.Trace.listed(done)
}

func (l *listing) abort() {
	if l.begun {
		l.r.sink.Abort()
	}
}

// drain reads what may follow the list, a line end and the mark of the body's
// end, so that the connection can serve the next request.
func (s *stream) drain() {
	_, _ = io.CopyN(io.Discard, s, 512)
}

// unreadable is the refusal of what could not even be read.
func unreadable(err error) Refusal {
	refusal := Refusal{Err: err}
	if bad, ok := errors.AsType[*wire.ScanError](err); ok {
		refusal.Key, refusal.ResourceVersion = bad.Key, bad.ResourceVersion
	}
	return refusal
}

// isEOF is true for the end of a stream between two events.
func isEOF(err error) bool { return errors.Is(err, io.EOF) }
