package faultproxy

import (
	"errors"
	"net"
	"sync"
)

// A door is a listener that can be shut and opened again at the same address, and
// whose connections can be reset or fall silent.
type door struct {
	address string

	mu       sync.Mutex
	changed  chan struct{} // closed at each change of what follows
	listener net.Listener  // nil while the door is shut
	port     port          // while it is shut, and not closed
	closed   bool
	quiet    bool // for those that are still to come
	conns    map[*conn]bool
}

func newDoor(l net.Listener) *door {
	return &door{address: l.Addr().String(), listener: l, changed: make(chan struct{}), conns: map[*conn]bool{}}
}

// Accept implements net.Listener: while the door is shut it waits.
func (d *door) Accept() (net.Conn, error) {
	for {
		l, changed, closed := d.now()
		switch {
		case closed:
			return nil, net.ErrClosed
		case l == nil:
			<-changed
			continue
		}
		c, err := l.Accept()
		if err == nil {
			return d.admit(c), nil
		}
		if now, _, _ := d.now(); now == l && !errors.Is(err, net.ErrClosed) {
			return nil, err
		}
	}
}

func (d *door) now() (l net.Listener, changed chan struct{}, closed bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.listener, d.changed, d.closed
}

func (d *door) admit(c net.Conn) net.Conn {
	d.mu.Lock()
	defer d.mu.Unlock()
	admitted := &conn{Conn: c, door: d, silent: make(chan struct{}), over: make(chan struct{})}
	d.conns[admitted] = true
	if d.quiet {
		close(admitted.silent)
	}
	return admitted
}

// Close implements net.Listener. Connections are the server's to close.
func (d *door) Close() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return nil
	}
	d.closed = true
	defer d.tellLocked()
	if d.listener == nil {
		d.port.release()
		return nil
	}
	err := d.listener.Close()
	d.listener = nil
	return err
}

func (d *door) shutLocked() (err error) {
	if d.closed || d.listener == nil {
		return nil
	}
	d.port, err = keep(d.listener)
	d.listener = nil
	d.tellLocked()
	return err
}

func (d *door) tellLocked() {
	close(d.changed)
	d.changed = make(chan struct{})
}

// Addr implements net.Listener.
func (d *door) Addr() net.Addr {
	a, err := net.ResolveTCPAddr("tcp", d.address)
	if err != nil {
		return &net.TCPAddr{}
	}
	return a
}

// shut refuses connections, and resets those that there are.
func (d *door) shut() error {
	d.mu.Lock()
	err := d.shutLocked()
	d.mu.Unlock()
	d.reset()
	return err
}

// open takes connections again.
func (d *door) open() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.quiet = false
	if d.closed || d.listener != nil {
		return nil
	}
	l, err := d.port.listen()
	if err != nil {
		return err
	}
	d.listener = l
	d.tellLocked()
	return nil
}

// reset breaks all connections as a machine does that knows nothing of them.
func (d *door) reset() {
	for _, c := range d.all() {
		c.reset()
	}
}

// silence has nothing come through the connections any more, in either direction,
// and nobody told. With all it is so for new ones too, until open.
func (d *door) silence(all bool) {
	d.mu.Lock()
	d.quiet = all
	d.mu.Unlock()
	for _, c := range d.all() {
		c.silence()
	}
}

func (d *door) all() []*conn {
	d.mu.Lock()
	defer d.mu.Unlock()
	all := make([]*conn, 0, len(d.conns))
	for c := range d.conns {
		all = append(all, c)
	}
	return all
}

// conn is a connection that can fall silent: from then on what is read waits, and
// what is written is lost.
type conn struct {
	net.Conn

	door   *door
	once   sync.Once
	silent chan struct{} // closed: it is
	over   chan struct{} // closed: nobody needs it
	mu     sync.Mutex
}

func (c *conn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	select {
	case <-c.silent:
		if err == nil {
			<-c.over
			return 0, net.ErrClosed
		}
	default:
	}
	return n, err
}

func (c *conn) Write(b []byte) (int, error) {
	select {
	case <-c.silent:
		return len(b), nil
	default:
		return c.Conn.Write(b)
	}
}

func (c *conn) silence() {
	c.mu.Lock()
	defer c.mu.Unlock()
	select {
	case <-c.silent:
	default:
		close(c.silent)
	}
}

func (c *conn) reset() {
	if tcp, ok := c.Conn.(*net.TCPConn); ok {
		tcp.SetLinger(0) //nolint:errcheck // of a connection that is about to go
	}
	c.Close() //nolint:errcheck // it is to break
}

// Close ends it for the server.
func (c *conn) Close() error {
	c.once.Do(func() {
		close(c.over)
		c.door.mu.Lock()
		delete(c.door.conns, c)
		c.door.mu.Unlock()
	})
	return c.Conn.Close()
}
