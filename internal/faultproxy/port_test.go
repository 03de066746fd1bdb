package faultproxy

import (
	"errors"
	"net"
	"syscall"
	"testing"
)

// Neither for a listener nor for a connection to somewhere else: the kernel gives out no
// port that somebody has bound.
func TestNobodyIsGivenThePortOfAShutDoor(t *testing.T) {
	listen := func() net.Listener {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	d, elsewhere := newDoor(listen()), listen()
	defer d.Close()
	defer elsewhere.Close()
	for range 3 {
		if err := d.shut(); err != nil {
			t.Fatal(err)
		}
		if _, err := net.Dial("tcp", d.address); !errors.Is(err, syscall.ECONNREFUSED) {
			t.Errorf("at a door that is shut: %v", err)
		}
		with := net.Dialer{LocalAddr: d.Addr()}
		if _, err := with.Dial("tcp", elsewhere.Addr().String()); !errors.Is(err, syscall.EADDRINUSE) {
			t.Errorf("a connection from its port: %v", err)
		}
		if err := d.open(); err != nil {
			t.Fatal(err)
		}
		c, err := net.Dial("tcp", d.address)
		if err != nil {
			t.Fatal(err)
		}
		c.Close() //nolint:errcheck // it has said all
	}
}
