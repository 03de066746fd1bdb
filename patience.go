package main

import (
	"context"
	"errors"
	"io"
	"net/http"
	"time"
)

// answerWithin is how long the API server may take to begin an answer. It gives
// up by itself after 60 s (--request-timeout), and what takes longer than this is
// lost on the way. A reconcile makes several requests, one after the other, and
// has a timeout for all of them, in which each must find its time: see
// reconcile.PoolConfig.
const answerWithin = 45 * time.Second

var errNoAnswer = errors.New("no answer from the API server within " + answerWithin.String())

// patience is a transport that gives up a request whose answer does not begin.
// How long an answer goes on, once it has begun, is not its affair: a watch goes
// on for minutes.
func patience(next http.RoundTripper) http.RoundTripper { return patient{next} }

type patient struct{ next http.RoundTripper }

func (p patient) RoundTrip(req *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithCancelCause(req.Context())
	late := time.AfterFunc(answerWithin, func() { cancel(errNoAnswer) })
	resp, err := p.next.RoundTrip(req.WithContext(ctx))
	if late.Stop(); err != nil {
		if errors.Is(context.Cause(ctx), errNoAnswer) {
			err = errNoAnswer
		}
		cancel(nil)
		return nil, err
	}
	resp.Body = untilClosed{resp.Body, cancel}
	return resp, nil
}

// WrappedRoundTripper lets client-go find the transport below.
func (p patient) WrappedRoundTripper() http.RoundTripper { return p.next }

// untilClosed keeps a request's context for as long as its answer is read.
type untilClosed struct {
	io.ReadCloser

	cancel context.CancelCauseFunc
}

func (b untilClosed) Close() error {
	defer b.cancel(nil)
	return b.ReadCloser.Close()
}
