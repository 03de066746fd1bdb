package apiserver

import (
	"context"
	"errors"
	"net"
	"os"
	"sync"
	"syscall"
	"time"
)

// dialTimeout is how long the way to a server is looked for that does not
// answer, as in client-go's own dialer.
const dialTimeout = 30 * time.Second

// network is the pipes between clients and the server. It is the listener of
// the server's HTTP.
type network struct {
	accept chan net.Conn
	over   chan struct{}
	once   *sync.Once

	mu    *sync.Mutex
	down  *bool
	conns map[*conn]bool
}

func newNetwork() network {
	return network{
		accept: make(chan net.Conn), over: make(chan struct{}), once: new(sync.Once),
		mu: new(sync.Mutex), down: new(bool), conns: map[*conn]bool{},
	}
}

// Accept, Close and Addr are those of a net.Listener.
func (n network) Accept() (net.Conn, error) {
	select {
	case c := <-n.accept:
		return c, nil
	case <-n.over:
		return nil, net.ErrClosed
	}
}

func (n network) Close() error {
	n.once.Do(func() { close(n.over) })
	return nil
}

func (n network) Addr() net.Addr { return &net.UnixAddr{Name: "apiserver"} }

// Down refuses connections and breaks those that are there, until Up.
func (s *Server) Down() {
	s.pipes.mu.Lock()
	*s.pipes.down = true
	broken := s.pipes.takeLocked(func(*conn) bool { return true })
	s.pipes.mu.Unlock()
	shut(broken)
}

// Up ends Down.
func (s *Server) Up() {
	s.pipes.mu.Lock()
	defer s.pipes.mu.Unlock()
	*s.pipes.down = false
}

// takeLocked takes the connections out of the list, for somebody to close.
func (n network) takeLocked(which func(*conn) bool) []*conn {
	var taken []*conn
	for c := range n.conns {
		if which(c) {
			taken = append(taken, c)
			delete(n.conns, c)
		}
	}
	return taken
}

func shut(conns []*conn) {
	for _, c := range conns {
		_ = c.Conn.Close()
		_ = c.near.Close()
	}
}

// A Link is how one process reaches the server.
type Link struct {
	Actor string

	server *Server

	mu      sync.Mutex
	cut     bool
	severed chan struct{} // closed with cut
	apart   chan struct{} // while the network is partitioned; closed when it is whole again
	stalled chan struct{} // while it only stands still; closed when it goes on
	trouble time.Time     // when either last began or ended
	dials   int
}

// Connect makes a link for an actor, whose name no other process has had.
func (s *Server) Connect(actor string) *Link {
	return &Link{Actor: actor, server: s, severed: make(chan struct{})}
}

// Dial is for rest.Config.
func (l *Link) Dial(ctx context.Context, _, _ string) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	l.mu.Lock()
	l.dials++
	l.mu.Unlock()
	if err := l.whole(ctx); err != nil {
		return nil, err
	}
	n := l.server.pipes
	n.mu.Lock()
	down := *n.down
	n.mu.Unlock()
	if down || l.isCut() {
		return nil, &net.OpError{Op: "dial", Net: "tcp", Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}
	}
	near, far := net.Pipe()
	c := &conn{Conn: far, near: near, link: l}
	n.mu.Lock()
	n.conns[c] = true
	n.mu.Unlock()
	select {
	case n.accept <- c:
		return near, nil
	case <-n.over:
		return nil, net.ErrClosed
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// Dials is how often a connection was asked for.
func (l *Link) Dials() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.dials
}

// whole waits while the network is partitioned, or stands still.
func (l *Link) whole(ctx context.Context) error {
	l.mu.Lock()
	apart := l.apart
	if apart == nil {
		apart = l.stalled
	}
	l.mu.Unlock()
	if apart == nil {
		return nil
	}
	select {
	case <-apart:
		return nil
	case <-l.severed:
		return net.ErrClosed
	case <-ctx.Done():
		return &net.OpError{Op: "dial", Net: "tcp", Err: os.ErrDeadlineExceeded}
	}
}

// Partition lets nothing through in either direction until Heal, and tells
// nobody. What was on its way is lost.
func (l *Link) Partition() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.trouble = time.Now()
	if l.apart == nil {
		l.apart = make(chan struct{})
	}
}

// Heal ends Partition. Connections that had something to say meanwhile break.
func (l *Link) Heal() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.trouble = time.Now()
	if l.apart != nil {
		close(l.apart)
		l.apart = nil
	}
}

// Stall lets nothing through until GoOn, and loses nothing: what was sent arrives
// then, if anybody is left to whom it matters.
func (l *Link) Stall() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.trouble = time.Now()
	if l.stalled == nil {
		l.stalled = make(chan struct{})
	}
}

// GoOn ends Stall.
func (l *Link) GoOn() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.trouble = time.Now()
	if l.stalled != nil {
		close(l.stalled)
		l.stalled = nil
	}
}

// troubledSince tells whether the way was not free all the time.
func (l *Link) troubledSince(t time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.cut || l.apart != nil || l.stalled != nil || l.trouble.After(t)
}

// stands waits while the network stands still.
func (l *Link) stands() {
	l.mu.Lock()
	stalled := l.stalled
	l.mu.Unlock()
	if stalled == nil {
		return
	}
	select {
	case <-stalled:
	case <-l.severed:
	}
}

// Cut ends all connections, for good: the process is dead.
func (l *Link) Cut() {
	l.mu.Lock()
	if !l.cut {
		l.cut = true
		close(l.severed)
	}
	l.mu.Unlock()
	n := l.server.pipes
	n.mu.Lock()
	broken := n.takeLocked(func(c *conn) bool { return c.link == l })
	n.mu.Unlock()
	shut(broken)
}

func (l *Link) isCut() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.cut
}

// conn is the server's end of a connection.
type conn struct {
	net.Conn

	near net.Conn
	link *Link
}

var errLost = errors.New("what was sent was lost")

func (c *conn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if err == nil { // that the other end is closed is known at once
		c.link.stands()
	}
	if c.held() {
		return 0, errLost
	}
	return n, err
}

func (c *conn) Write(p []byte) (int, error) {
	c.link.stands()
	if c.held() {
		return 0, errLost
	}
	return c.Conn.Write(p)
}

// held waits for the end of a partition, and tells whether there was one.
func (c *conn) held() bool {
	c.link.mu.Lock()
	apart := c.link.apart
	c.link.mu.Unlock()
	if apart == nil {
		return false
	}
	select {
	case <-apart:
	case <-c.link.severed:
	}
	return true
}

func (c *conn) Close() error {
	n := c.link.server.pipes
	n.mu.Lock()
	delete(n.conns, c)
	n.mu.Unlock()
	return c.Conn.Close()
}
