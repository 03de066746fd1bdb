// Command relay carries TCP connections between network namespaces: it
// listens where it was started and dials in another one.
//
//	this machine                     │  the node's network namespace
//	127.0.0.1:PORT ──▶ relay ────────┼──▶ 127.0.0.1:6443 kube-apiserver
//	                   (two copies a connection)
//
// It is how the API of a devcluster, whose processes all live in a network
// namespace of their own, shows on the loopback of the machine and nowhere
// else.
package main

import (
	"flag"
	"fmt"
	"io"
	"log"
	"net"
	"os"
	"runtime"

	"golang.org/x/sys/unix"
)

func main() {
	listen := flag.String("listen", "", "`address` to listen on, here")
	to := flag.String("to", "", "`address` to dial")
	netns := flag.String("netns", "", "`file` of the network namespace to dial in; default: this one")
	flag.Parse()
	if err := run(*listen, *to, *netns); err != nil {
		log.Fatal("relay: ", err)
	}
}

func run(listen, to, netns string) error {
	l, err := net.Listen("tcp", listen)
	if err != nil {
		return err
	}
	dial, err := dialer(netns)
	if err != nil {
		return err
	}
	for {
		c, err := l.Accept()
		if err != nil {
			return err
		}
		go func() {
			if err := carry(c.(*net.TCPConn), to, dial); err != nil {
				log.Print("relay: ", err)
			}
		}()
	}
}

// carry joins c with a new connection to the address, each direction until its
// sender is done, and closes both.
func carry(c *net.TCPConn, to string, dial func(string) (net.Conn, error)) error {
	defer c.Close() //nolint:errcheck // nothing is left to lose
	d, err := dial(to)
	if err != nil {
		return err
	}
	defer d.Close() //nolint:errcheck // nothing is left to lose
	back := make(chan struct{})
	go func() {
		defer close(back)
		pipe(c, d.(*net.TCPConn))
	}()
	pipe(d.(*net.TCPConn), c)
	<-back
	return nil
}

// pipe copies until from ends, and passes the end on. When either is gone, both
// are closed, which ends the other direction too.
func pipe(to, from *net.TCPConn) {
	if _, err := io.Copy(to, from); err != nil {
		_ = to.Close()
		_ = from.Close()
		return
	}
	_ = to.CloseWrite()
}

// dialer returns a function that dials in the network namespace. A namespace
// belongs to a thread and goroutines move between threads, so one goroutine
// keeps a thread for itself and dials for all; it lasts as long as the program.
func dialer(netns string) (func(string) (net.Conn, error), error) {
	if netns == "" {
		return func(to string) (net.Conn, error) { return net.Dial("tcp", to) }, nil
	}
	type answer struct {
		conn net.Conn
		err  error
	}
	requests, answers, entered := make(chan string), make(chan answer), make(chan error)
	go func() {
		runtime.LockOSThread()
		entered <- enter(netns)
		for to := range requests {
			c, err := net.Dial("tcp", to)
			answers <- answer{c, err}
		}
	}()
	if err := <-entered; err != nil {
		return nil, err
	}
	turn := make(chan struct{}, 1)
	return func(to string) (net.Conn, error) {
		turn <- struct{}{}
		defer func() { <-turn }()
		requests <- to
		a := <-answers
		return a.conn, a.err
	}, nil
}

func enter(netns string) error {
	f, err := os.Open(netns)
	if err != nil {
		return err
	}
	defer f.Close() //nolint:errcheck // opened for reading
	if err := unix.Setns(int(f.Fd()), unix.CLONE_NEWNET); err != nil {
		return fmt.Errorf("entering %s: %w", netns, err)
	}
	return nil
}
