package faultproxy

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"sync"
	"syscall"
	"time"

	"millrace/internal/simulation/apiserver"
)

// Config is what a Proxy needs to know.
type Config struct {
	// Server is the API server's URL, Transport is how it is reached (its
	// authority; no credentials, since those of the request are passed on).
	Server    *url.URL
	Transport http.RoundTripper
	// Listener is where the process will ask; it is the Proxy's from New on.
	Listener net.Listener
	// Actor names the process in exchanges. Default: none.
	Actor string
	// Signal sends a signal to the process and, if that was SIGKILL, returns when
	// it is dead. Nil: a plan must have no Kill.
	Signal func(syscall.Signal)
}

// Proxy is an API server in whose answers things go wrong as planned. Its methods
// may be called from any goroutine.
type Proxy struct {
	cfg       Config
	authority *Authority
	door      *door
	reverse   *httputil.ReverseProxy

	serving sync.WaitGroup // of what enters before it is over

	mu          sync.Mutex
	over        bool // nobody enters any more
	certificate *tls.Certificate
	plan        []*planned
	exchanges   []*Exchange
	counts      map[apiserver.Request]int
	changed     chan struct{} // closed at each change of exchanges
}

// New makes a Proxy, and the keys that its listener answers with.
func New(cfg Config) (*Proxy, error) {
	authority, err := NewAuthority()
	if err != nil {
		return nil, fmt.Errorf("a proxy: %w", err)
	}
	p := &Proxy{
		cfg: cfg, authority: authority, door: newDoor(cfg.Listener),
		counts: map[apiserver.Request]int{}, changed: make(chan struct{}),
	}
	p.reverse = &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(cfg.Server)
		},
		Transport:      cfg.Transport,
		FlushInterval:  -1, // an event is passed on when it has come
		ModifyResponse: answered,
		ErrorHandler:   unanswered,
		ErrorLog:       log.New(io.Discard, "", 0), // what is broken is broken on purpose, and told in exchanges
	}
	return p, p.Present(authority, aDay())
}

// URL is where the process is to ask, CA who vouches for that.
func (p *Proxy) URL() string { return "https://" + p.door.address }

// CA is the certificate, as PEM, of the authority that has signed the proxy's.
func (p *Proxy) CA() []byte { return p.authority.PEM() }

func (p *Proxy) presented(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.certificate, nil
}

// Run serves until ctx ends, and returns when every answer has ended. It is called
// once.
func (p *Proxy) Run(ctx context.Context) error {
	server := &http.Server{
		Handler:           http.HandlerFunc(p.serve),
		TLSConfig:         &tls.Config{GetCertificate: p.presented, MinVersion: tls.VersionTLS12},
		ReadHeaderTimeout: time.Minute,
		ErrorLog:          log.New(io.Discard, "", 0),
		ConnContext:       withConn,
		BaseContext:       func(net.Listener) context.Context { return ctx },
	}
	defer context.AfterFunc(ctx, func() {
		p.door.Close() //nolint:errcheck // it is not needed any more
		p.door.reset()
		server.Close() //nolint:errcheck // it is not needed any more
	})()
	err := server.ServeTLS(p.door, "", "")
	p.note(func() { p.over = true })
	p.serving.Wait()
	if ctx.Err() == nil {
		return fmt.Errorf("proxy at %s: %w", p.door.address, err)
	}
	return nil
}

// Plan adds faults; of two that are meant for one request the first befalls it.
// What it returns ends them, and says how often each has befallen something.
func (p *Proxy) Plan(faults ...Fault) (end func() []int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	added := make([]*planned, len(faults))
	for i, f := range faults {
		added[i] = &planned{Fault: f}
	}
	p.plan = append(p.plan, added...)
	return func() []int {
		p.mu.Lock()
		defer p.mu.Unlock()
		hits := make([]int, len(added))
		for i, f := range added {
			f.ended = true
			hits[i] = f.hits
		}
		return hits
	}
}

// Shut refuses connections and resets those that there are, until Open.
func (p *Proxy) Shut() error { return p.door.shut() }

// Open ends what Shut and Silence began.
func (p *Proxy) Open() error { return p.door.open() }

// Reset breaks every connection.
func (p *Proxy) Reset() { p.door.reset() }

// Silence makes every connection half-open: nobody is told anything, and nothing
// comes through any more. With all, new ones are so too, until Open.
func (p *Proxy) Silence(all bool) { p.door.silence(all) }

// Exchanges are those so far, in the order in which they were asked for.
func (p *Proxy) Exchanges() []Exchange {
	p.mu.Lock()
	defer p.mu.Unlock()
	all := make([]Exchange, len(p.exchanges))
	for i, x := range p.exchanges {
		all[i] = *x
	}
	return all
}

// Matching are the exchanges that on describes, its bounds and its Event aside.
func (p *Proxy) Matching(on On) []Exchange {
	var some []Exchange
	for _, x := range p.Exchanges() {
		if on.Request(x.Request) {
			some = append(some, x)
		}
	}
	return some
}

// Await returns when is is true of the exchanges, which it is asked at each change
// of them; or ctx's error.
func (p *Proxy) Await(ctx context.Context, is func([]Exchange) bool) error {
	for {
		p.mu.Lock()
		changed := p.changed
		p.mu.Unlock()
		if is(p.Exchanges()) {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// note changes what is known of exchanges.
func (p *Proxy) note(change func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	change()
	close(p.changed)
	p.changed = make(chan struct{})
}

// request is the fault that befalls a request, if one does.
func (p *Proxy) request(r apiserver.Request) (Fault, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, f := range p.plan {
		if f.On.Event == "" && f.On.Request(r) && f.turn() {
			return f.Fault, true
		}
	}
	return Fault{}, false
}

// event is the fault that befalls an event, if one does.
func (p *Proxy) event(e Event) (Fault, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, f := range p.plan {
		if f.On.Event != "" && f.On.event(e) && f.turn() {
			return f.Fault, true
		}
	}
	return Fault{}, false
}
