package reflector

import (
	"context"
	"encoding/pem"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"k8s.io/client-go/rest"
)

// wireBetween forwards connections, until it freezes those that there are: they
// stay open, and nothing comes through any more in either direction. That is
// what is left when a node, a NAT entry or a load balancer is gone.
type wireBetween struct {
	net.Listener

	to     string
	mu     sync.Mutex
	frozen chan struct{} // closed to freeze the connections made so far
	conns  []net.Conn
}

func newWire(t *testing.T, to string) *wireBetween {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	w := &wireBetween{Listener: l, to: to, frozen: make(chan struct{})}
	go w.run()
	t.Cleanup(w.cut)
	return w
}

func (w *wireBetween) run() {
	for {
		near, err := w.Accept()
		if err != nil {
			return
		}
		far, err := net.Dial("tcp", w.to)
		if err != nil {
			_ = near.Close()
			continue
		}
		w.mu.Lock()
		w.conns = append(w.conns, near, far)
		frozen := w.frozen
		w.mu.Unlock()
		go forward(far, near, frozen)
		go forward(near, far, frozen)
	}
}

// forward ends the other side when one has ended, but not when it is frozen.
func forward(to, from net.Conn, frozen chan struct{}) {
	buffer := make([]byte, 4096)
	for {
		n, err := from.Read(buffer)
		select {
		case <-frozen:
			return
		default:
		}
		if _, e := to.Write(buffer[:n]); err != nil || e != nil {
			_ = to.Close()
			return
		}
	}
}

func (w *wireBetween) freeze() {
	w.mu.Lock()
	defer w.mu.Unlock()
	close(w.frozen)
	w.frozen = make(chan struct{})
}

func (w *wireBetween) cut() {
	_ = w.Close()
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, c := range w.conns {
		_ = c.Close()
	}
}

// watchServer answers every watch-list with nothing, and stays open.
type watchServer struct {
	asked chan string // the protocol of each request
	r     *Reflector
}

func (s *watchServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Query().Has("sendInitialEvents") {
		endOfInitial("9")(w, r)
	}
	headers(w, r)
	select {
	case s.asked <- r.Proto:
	default: // of so many nobody asks, and it may not hold up an answer
	}
	<-r.Context().Done()
}

// distant is a reflector whose server is behind a wire, over TLS as client-go
// sets it up.
func distant(t *testing.T, cfg Config) (*wireBetween, *watchServer) {
	t.Helper()
	handler := &watchServer{asked: make(chan string, 100)}
	server := httptest.NewUnstartedServer(handler)
	server.EnableHTTP2 = true
	server.StartTLS()
	t.Cleanup(server.Close)
	w := newWire(t, server.Listener.Addr().String())
	client := clientFor(t, &rest.Config{
		Host: "https://" + w.Addr().String(),
		Dial: new(net.Dialer).DialContext, // a transport of its own, which reads the environment anew
		TLSClientConfig: rest.TLSClientConfig{
			CAData: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}),
		},
	})
	ctx, cancel := context.WithCancel(quietly(t))
	done := make(chan error, 1)
	handler.r = New(client, "pods", blind{}, cfg)
	go func() { done <- handler.r.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return w, handler
}

// watched waits for the first watch, and says over which protocol it is. On a machine that
// stands still it may have been cut by now, and asked for again.
func (s *watchServer) watched(t *testing.T) string {
	t.Helper()
	proto := s.next(t)
	for s.r.State() != Watching && len(s.asked) == 0 {
		time.Sleep(time.Millisecond)
	}
	return proto
}

// comesBack freezes the wire, and waits for a request that comes all the same.
func (s *watchServer) comesBack(t *testing.T, w *wireBetween) {
	t.Helper()
	w.freeze()
	for len(s.asked) > 0 {
		<-s.asked // of before
	}
	s.next(t)
}

func (s *watchServer) next(t *testing.T) string {
	t.Helper()
	select {
	case proto := <-s.asked:
		return proto
	case <-time.After(time.Minute): // before the SilenceTimeout that is the default, 90 s
		t.Fatal("no request within a minute")
		return ""
	}
}

// HTTP/2 pings find a connection whose other end is gone, long before silence
// does: client-go's transport sends one after HTTP2_READ_IDLE_TIMEOUT_SECONDS
// (30) without a frame, and waits HTTP2_PING_TIMEOUT_SECONDS (15) for the answer.
func TestPingsFindAHalfOpenConnection(t *testing.T) {
	t.Setenv("HTTP2_READ_IDLE_TIMEOUT_SECONDS", "1")
	t.Setenv("HTTP2_PING_TIMEOUT_SECONDS", "1")
	w, s := distant(t, Config{HealthyAfter: time.Millisecond})
	if got := s.watched(t); got != "HTTP/2.0" {
		t.Errorf("the request came over %s", got)
	}
	s.comesBack(t, w)
}

// Without pings, the watch is cut; the request after it still goes over the dead
// connection, and the one after that over a new one.
func TestSilenceFindsAHalfOpenConnectionWithoutPings(t *testing.T) {
	for proto, variable := range map[string]string{"HTTP/2.0": "HTTP2_READ_IDLE_TIMEOUT_SECONDS", "HTTP/1.1": "DISABLE_HTTP2"} {
		t.Run(proto, func(t *testing.T) {
			t.Setenv(variable, "0")
			w, s := distant(t, Config{SilenceTimeout: 500 * time.Millisecond, HealthyAfter: time.Millisecond, Backoff: Backoff{Base: time.Millisecond, Max: time.Second}})
			if got := s.watched(t); got != proto {
				t.Errorf("the request came over %s", got)
			}
			s.comesBack(t, w)
		})
	}
}
