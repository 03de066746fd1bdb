package faultproxy

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"strconv"
	"syscall"
	"time"

	"millrace/internal/simulation/apiserver"
)

// errBroken ends an answer that the plan has broken.
var errBroken = errors.New("broken as planned")

// errLate is for an event that did not come in time.
var errLate = errors.New("too late")

// settling is how long an answer needs from here to the process: what is killed
// after its answer should have had it.
const settling = 50 * time.Millisecond

// A call is a request on its way through the proxy.
type call struct {
	proxy *Proxy
	fault Fault
	x     *Exchange
	conn  *conn
}

type callKey struct{}
type connKey struct{}

// withConn puts the connection below TLS into the context of its requests.
func withConn(ctx context.Context, c net.Conn) context.Context {
	if over, ok := c.(*tls.Conn); ok {
		c = over.NetConn()
	}
	return context.WithValue(ctx, connKey{}, c)
}

// enter counts an answer that begins. A connection that has been accepted may still have
// a request when the server is closed: whoever came while Run waits would be waited for
// by nobody, or have its WaitGroup panic.
func (p *Proxy) enter() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.over {
		p.serving.Add(1)
	}
	return !p.over
}

// serve takes a request through what the plan has for it.
func (p *Proxy) serve(w http.ResponseWriter, r *http.Request) {
	if !p.enter() {
		panic(http.ErrAbortHandler)
	}
	defer p.serving.Done()
	body, err := readBody(r)
	if err != nil {
		panic(http.ErrAbortHandler) // whoever asks has gone in mid-sentence
	}
	c := p.begin(r, body)
	defer p.note(func() { c.x.Ended = time.Now() })
	defer func() {
		// A panic is how a handler tells its server to break the answer off.
		if broken := recover(); broken != nil {
			p.note(func() { c.x.Ended, c.x.Lost = time.Now(), true })
			panic(broken)
		}
	}()
	c.before(r.Context())
	if e := c.fault.Refuse; e != nil {
		code := refuse(w, e)
		p.note(func() { c.x.Code = code })
		return
	}
	if c.fault.Query != nil {
		q := r.URL.Query()
		c.fault.Query(q)
		r.URL.RawQuery = q.Encode()
	}
	if c.fault.Garble != nil || c.x.Verb == "watch" {
		// What is to be changed has to be read; and streamed lists of 1.37 are
		// compressed for whoever takes that.
		r.Header.Set("Accept-Encoding", "identity")
	}
	p.reverse.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), callKey{}, c)))
	if c.fault.Kill == apiserver.AfterAnswering {
		http.NewResponseController(w).Flush() //nolint:errcheck // the end of the handler does it, too
		pause(context.Background(), settling)
		c.kill()
	}
}

func (p *Proxy) begin(r *http.Request, body []byte) *call {
	c := &call{proxy: p, x: &Exchange{Request: name(r, body), Sent: time.Now()}}
	c.conn, _ = r.Context().Value(connKey{}).(*conn)
	c.x.Actor = p.cfg.Actor
	if c.x.Writes() {
		c.x.UID, c.x.ResourceVersion = insists(c.x.Verb, body)
	}
	if c.x.Verb == "patch" {
		c.x.Body = body
	}
	p.note(func() {
		p.counts[c.x.Request]++
		c.x.Nth = p.counts[c.x.Request]
		p.exchanges = append(p.exchanges, c.x)
	})
	fault, ok := p.request(c.x.Request)
	if ok {
		c.fault = fault
		p.note(func() { c.x.Fault = fault.Fault })
	}
	return c
}

// before is what befalls a request on its way to the server.
func (c *call) before(ctx context.Context) {
	pause(ctx, c.fault.Wait)
	if c.fault.Kill == apiserver.BeforeActing {
		c.kill()
	}
	if c.fault.Lose == apiserver.BeforeActing {
		c.lose(ctx)
	}
}

// kill sends the signal. A process that is dead is told nothing more.
func (c *call) kill() {
	signal := c.fault.Signal
	if signal == 0 {
		signal = syscall.SIGKILL
	}
	c.proxy.cfg.Signal(signal)
	if signal == syscall.SIGKILL {
		panic(http.ErrAbortHandler)
	}
}

// lose breaks the connection, or leaves whoever has asked waiting.
func (c *call) lose(ctx context.Context) {
	if c.fault.Hang {
		<-ctx.Done()
	} else if c.conn != nil {
		c.conn.reset()
	}
	panic(http.ErrAbortHandler)
}

// answered is what befalls the server's answer.
func answered(resp *http.Response) error {
	ctx := resp.Request.Context()
	c := ctx.Value(callKey{}).(*call) //nolint:forcetypeassert // serve has put it there
	c.proxy.note(func() { c.x.Code = resp.StatusCode })
	if c.x.Writes() {
		if err := c.committed(resp); err != nil {
			return err
		}
	}
	if c.fault.Kill == apiserver.BeforeAnswering {
		c.kill()
	}
	if c.fault.Lose == apiserver.BeforeAnswering {
		c.lose(ctx)
	}
	pause(ctx, c.fault.Linger)
	switch {
	case c.x.Verb == "watch" && resp.StatusCode == http.StatusOK:
		resp.Body = newStream(ctx, c, resp)
	case c.fault.Garble != nil:
		body, err := io.ReadAll(resp.Body)
		resp.Body.Close() //nolint:errcheck // all of it is here
		if err != nil {
			return err
		}
		body = c.fault.Garble(body)
		resp.Body = io.NopCloser(bytes.NewReader(body))
		resp.ContentLength = int64(len(body))
		resp.Header.Set("Content-Length", strconv.Itoa(len(body)))
	}
	if c.fault.BytesPerSecond > 0 {
		resp.Body = &trickle{ReadCloser: resp.Body, ctx: ctx, rate: c.fault.BytesPerSecond, slow: c.fault.Slow}
	}
	return nil
}

// committed waits for all of the answer to a write: then the write is done.
func (c *call) committed(resp *http.Response) error {
	body, err := io.ReadAll(resp.Body)
	resp.Body.Close() //nolint:errcheck // all of it is here
	if err != nil {
		return err
	}
	resp.Body = io.NopCloser(bytes.NewReader(body))
	if resp.Header.Get("Content-Encoding") == "" {
		c.proxy.note(func() { c.x.Version = metadata(body).ResourceVersion })
	}
	return nil
}

// unanswered is for a server that gives no answer: the connection ends without one.
func unanswered(_ http.ResponseWriter, r *http.Request, _ error) {
	if c, ok := r.Context().Value(callKey{}).(*call); ok && c.conn != nil && r.Context().Err() == nil {
		c.conn.reset()
	}
	panic(http.ErrAbortHandler)
}

// pause waits, but no longer than ctx lives.
func pause(ctx context.Context, d time.Duration) {
	if d <= 0 {
		return
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}
