package simulation

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"

	"millrace/internal/simulation/turnstile"
)

// oldConnections does in place of net/http what that does when a connection breaks
// before an answer came: a read that went by a connection that had been used before
// is sent again, at once, and nobody hears of it; whoever asked by a new one has the
// error.
//
// Which connection a request finds free depends on which of the goroutines that
// want one at an instant is the first. So here each has a connection of its own
// (DisableKeepAlives, with which net/http repeats nothing), and the seed says
// whether it is an old one.
type oldConnections struct {
	next  http.RoundTripper
	seed  turnstile.Seed
	actor string

	mu   sync.Mutex
	sent map[string]int // by URL
}

func newOldConnections(next http.RoundTripper, seed turnstile.Seed, actor string) *oldConnections {
	return &oldConnections{next: next, seed: seed, actor: actor, sent: map[string]int{}}
}

// RoundTrip sends a request, and a read perhaps once more.
func (o *oldConnections) RoundTrip(req *http.Request) (*http.Response, error) {
	old := req.Method == http.MethodGet && o.isOld(req)
	resp, err := o.next.RoundTrip(req)
	if err == nil || !old || neverSent(err) || req.Context().Err() != nil {
		return resp, err
	}
	return o.next.RoundTrip(req)
}

func (o *oldConnections) isOld(req *http.Request) bool {
	url := req.URL.String()
	o.mu.Lock()
	o.sent[url]++
	nth := o.sent[url]
	o.mu.Unlock()
	return o.seed.Happens(0.5, "by an old connection", o.actor, url, fmt.Sprint(nth))
}

// neverSent tells whether there was no connection to break.
func neverSent(err error) bool {
	dial, ok := errors.AsType[*net.OpError](err)
	return ok && dial.Op == "dial"
}
