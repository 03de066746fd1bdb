package webhook

import (
	"errors"
	"net"
	"testing"
	"testing/synctest"
)

// crowd is a listener at which somebody always waits.
type crowd struct{ net.Listener }

func (crowd) Accept() (net.Conn, error) {
	here, there := net.Pipe()
	return here, there.Close()
}

func (crowd) Close() error { return nil }

func TestACrowdWaitsOutside(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := limit(crowd{}, 3)
		accepted := make(chan net.Conn, 10)
		end := make(chan error)
		go func() {
			for {
				conn, err := l.Accept()
				if err != nil {
					end <- err
					return
				}
				accepted <- conn
			}
		}()
		synctest.Wait()
		if len(accepted) != 3 {
			t.Fatalf("%d connections", len(accepted))
		}
		gone := <-accepted
		for range 2 { // as net/http does; it counts once
			if err := gone.Close(); err != nil {
				t.Error(err)
			}
		}
		synctest.Wait()
		if len(accepted) != 3 {
			t.Errorf("%d connections after one has gone", len(accepted))
		}
		if err := l.Close(); err != nil {
			t.Error(err)
		}
		if err := <-end; !errors.Is(err, net.ErrClosed) {
			t.Error(err)
		}
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
}
