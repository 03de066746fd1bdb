package faultproxy

import (
	"context"
	"io"
	"time"
)

// trickle passes a body on at a rate, a tenth of a second's bytes at a time.
type trickle struct {
	io.ReadCloser

	ctx  context.Context //nolint:containedctx // of the request whose answer this is
	rate int
	slow func() bool // nil: for good
}

func (t *trickle) Read(b []byte) (int, error) {
	if t.slow != nil && !t.slow() {
		return t.ReadCloser.Read(b)
	}
	pause(t.ctx, time.Second/10)
	return t.ReadCloser.Read(b[:min(len(b), max(1, t.rate/10))])
}
