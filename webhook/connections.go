package webhook

import (
	"net"
	"sync"
)

// mostConnections is how many there are at once; who comes then waits to be accepted. An
// API server has one for each request that it waits for. With 200 of them, each had 39 KiB
// for both of its ends, and 118 KiB with a request that has sent its first 32 KiB: no more
// than 120 MiB together.
const mostConnections = 1000

// limited is a listener whose connections are counted.
type limited struct {
	net.Listener

	open  chan struct{} // has one for each connection
	over  chan struct{} // closed with the listener
	close func() error
}

func limit(listener net.Listener, most int) *limited {
	over := make(chan struct{})
	return &limited{Listener: listener, open: make(chan struct{}, most), over: over, close: sync.OnceValue(func() error {
		close(over)
		return listener.Close()
	})}
}

// Accept implements net.Listener.
func (l *limited) Accept() (net.Conn, error) {
	select {
	case l.open <- struct{}{}:
	case <-l.over:
		return nil, net.ErrClosed
	}
	conn, err := l.Listener.Accept()
	if err != nil {
		<-l.open
		return nil, err
	}
	return &counted{conn, sync.OnceValue(func() error {
		defer func() { <-l.open }()
		return conn.Close()
	})}, nil
}

// Close implements net.Listener.
func (l *limited) Close() error { return l.close() }

// counted is a connection that is counted until it is closed.
type counted struct {
	net.Conn

	close func() error
}

// Close implements net.Conn.
func (c *counted) Close() error { return c.close() }
