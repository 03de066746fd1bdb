package main

import (
	"io"
	"net"
	"testing"
	"time"
)

// listen returns a listener on a free port of the loopback.
func listen(t *testing.T) *net.TCPListener {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return l.(*net.TCPListener)
}

// through connects a client by way of carry to the server.
func through(t *testing.T, server net.Listener) *net.TCPConn {
	t.Helper()
	dial, err := dialer("/proc/self/ns/net")
	if err != nil {
		t.Skip("entering a network namespace needs root: ", err)
	}
	front := listen(t)
	go func() {
		c, err := front.AcceptTCP()
		if err != nil {
			return
		}
		_ = carry(c, server.Addr().String(), dial)
	}()
	client, err := net.Dial("tcp", front.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	if err := client.SetDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Close() })
	return client.(*net.TCPConn)
}

// The end of what a client sends reaches the server while the answer still
// flows: kubectl exec and the like close one direction first.
func TestOneDirectionEndsBeforeTheOther(t *testing.T) {
	server := listen(t)
	go func() {
		c, err := server.AcceptTCP()
		if err != nil {
			return
		}
		asked, _ := io.ReadAll(c)
		_, _ = c.Write(append([]byte("answer to "), asked...))
		_ = c.Close()
	}()
	client := through(t, server)
	if _, err := client.Write([]byte("question")); err != nil {
		t.Fatal(err)
	}
	if err := client.CloseWrite(); err != nil {
		t.Fatal(err)
	}
	got, err := io.ReadAll(client)
	if err != nil || string(got) != "answer to question" {
		t.Errorf("got %q and error %v", got, err)
	}
}

func TestClientLearnsThatNobodyAnswers(t *testing.T) {
	server := listen(t)
	client := through(t, server)
	if err := server.Close(); err != nil {
		t.Fatal(err)
	}
	if got, err := io.ReadAll(client); len(got) > 0 {
		t.Errorf("got %q and error %v from a server that is gone", got, err)
	}
}

// A server that goes away ends the connection of a client that only listens.
func TestServerGoneEndsAWatch(t *testing.T) {
	server := listen(t)
	accepted := make(chan *net.TCPConn)
	go func() {
		c, err := server.AcceptTCP()
		if err != nil {
			return
		}
		accepted <- c
	}()
	client := through(t, server)
	c := <-accepted
	if err := c.SetLinger(0); err != nil { // as a killed process resets its connections
		t.Fatal(err)
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := client.Read(make([]byte, 1)); err == nil {
		t.Error("read something from a server that is gone")
	} else if timeout, ok := err.(net.Error); ok && timeout.Timeout() {
		t.Error("the client was left waiting")
	}
}
