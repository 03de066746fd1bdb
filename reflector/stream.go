package reflector

import (
	"context"
	"errors"
	"io"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"millrace/wire"
)

// stream is the body of one answer while it is read. It cuts the connection
// when nothing comes for too long: a peer that vanished without a word looks
// like one that has nothing to say, and over HTTP/1.1 nothing else would ever
// tell.
//
// Its timers call cancel from goroutines of their own; everything else belongs
// to the goroutine that opened it.
type stream struct {
	body   io.ReadCloser
	head   []byte            // read already, to see what the answer is
	events *wire.EventReader // of a watch; reads through Read below
	cancel context.CancelCauseFunc
	// cause is why the request was cancelled, nil while it was not.
	cause func() error
	// silence cancels when it fires. It runs only while a read waits, so that
	// a slow sink is not taken for a silent server.
	silence *time.Timer
	// patience is how long a read may wait.
	patience time.Duration
	opened   time.Time
	// readErr is what the body itself ended with, nil while it goes on.
	readErr error
	// moved is told of each piece that came.
	moved func()
}

// open makes a request and returns the stream of its answer, to be closed by
// the caller. The errors are the client's: *errors.StatusError for an answer
// that was no success.
func (r *Reflector) open(ctx context.Context, request *rest.Request, opts metav1.ListOptions) (*stream, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	s := &stream{
		cancel:   cancel,
		cause:    func() error { return context.Cause(ctx) },
		silence:  time.AfterFunc(r.cfg.SilenceTimeout, func() { cancel(errSilent) }),
		patience: r.cfg.SilenceTimeout,
		moved:    r.moved,
	}
	body, err := request.
		SpecificallyVersionedParams(&opts, metav1.ParameterCodec, schema.GroupVersion{Version: "v1"}).
		Stream(ctx)
	s.silence.Stop()
	if err != nil {
		err = s.explain(err)
		cancel(nil)
		return nil, err
	}
	r.cfg.Pulse.Beat()
	s.body, s.opened = body, time.Now()
	return s, nil
}

// request is what all requests have in common.
func (r *Reflector) request(namespace, accept string) *rest.Request {
	return r.client.Get().
		NamespaceIfScoped(namespace, namespace != "").
		Resource(r.resource).
		SetHeader("Accept", accept).
		MaxRetries(0)
}

// requestFrom is a request for the resource, as a position asks for it.
//
// Over HTTP/2 a request that was cut leaves its connection in use, and the next
// one would go the same way for ever. One that bids the connection to close goes
// the same way too, but nobody goes after it: what follows has a new one.
func (r *Reflector) requestFrom(p position) *rest.Request {
	request := r.request(r.cfg.Namespace, r.accept(p))
	if p.suspect {
		request.SetHeader("Connection", "close")
	}
	return request
}

// Read waits for the next piece, though not for ever.
func (s *stream) Read(p []byte) (int, error) {
	if len(s.head) > 0 {
		n := copy(p, s.head)
		s.head = s.head[n:]
		return n, nil
	}
	s.silence.Reset(s.patience)
	n, err := s.body.Read(p)
	s.silence.Stop()
	s.moved()
	if err != nil {
		s.readErr = err
	}
	return n, err
}

// explain gives the reason why we cut the connection in place of what the
// transport says of it: HTTP/1.1 gives the reason itself, HTTP/2 and what wraps
// a transport say "context canceled".
func (s *stream) explain(err error) error {
	if cause := s.cause(); errors.Is(cause, errSilent) || errors.Is(cause, errNoEnd) || errors.Is(cause, errGap) {
		return cause
	}
	return err
}

// broken tells a stream that was cut from one whose content makes no sense.
func (s *stream) broken() bool { return s.readErr != nil }

// close ends the request. It never waits for the server.
func (s *stream) close() {
	s.silence.Stop()
	s.cancel(nil)
	// The error would be about a connection that nobody wants any more.
	_ = s.body.Close()
}
