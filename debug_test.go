package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/client-go/rest"
)

// The pages are there for the machine itself, and end with the program, whoever
// still looks at them. That the address is taken does not end it.
func TestDebugIsServedUntilItsContextEnds(t *testing.T) {
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := listener.Addr().String()
	on := machine{listen: func(context.Context, string, string) (net.Listener, error) { return listener, nil }}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	begun := make(chan struct{})
	pages := http.NewServeMux()
	pages.HandleFunc("GET /debug/key", func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "because\n") }) //nolint:errcheck // a test's
	pages.HandleFunc("GET /debug/events", func(_ http.ResponseWriter, r *http.Request) { close(begun); <-r.Context().Done() })
	ended := make(chan error, 1)
	go func() {
		ended <- serveDebug(ctx, config{debugBind: address}, &rest.Config{Host: "https://server"}, on, pages)
	}()
	if got := get(t, "http://"+address+"/debug/key"); got != "200 because\n" {
		t.Error(got)
	}
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		if response, err := http.Get("http://" + address + "/debug/events"); err == nil {
			defer response.Body.Close()
		}
	}()
	<-begun
	taken := config{debugBind: address}
	if err := serveDebug(ctx, taken, &rest.Config{Host: "https://server"}, machine{}.withDefaults(), pages); err != nil {
		t.Errorf("a taken address is told as %v", err)
	}
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	<-gone
}

// A flood of tokens that nobody has given costs the API server what it costs at most,
// and whoever is not asked about is told so, and sees nothing.
func TestStrangersDoNotUseUpTheController(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var asked, refused, shown atomic.Int64
		server := roundTripper(func(*http.Request) (*http.Response, error) {
			asked.Add(1)
			return &http.Response{
				StatusCode: http.StatusCreated, Header: http.Header{"Content-Type": {"application/json"}},
				Body: io.NopCloser(strings.NewReader(`{"kind":"TokenReview","apiVersion":"authentication.k8s.io/v1","status":{"authenticated":false}}`)),
			}, nil
		})
		guarded, err := guardOf(&rest.Config{Host: "https://server", Transport: server, QPS: -1})
		if err != nil {
			t.Fatal(err)
		}
		pages := guarded.Wrap(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { shown.Add(1) }))
		const strangers = 1000
		var all sync.WaitGroup
		for i := range strangers {
			all.Go(func() {
				time.Sleep(time.Duration(i) * 10 * time.Millisecond) // ten seconds of them
				request := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/debug/key", nil)
				request.RemoteAddr = "10.0.0.1:1234"
				request.Header.Set("Authorization", fmt.Sprint("Bearer ", i))
				answer := httptest.NewRecorder()
				pages.ServeHTTP(answer, request)
				if answer.Code == http.StatusUnauthorized || answer.Code == http.StatusServiceUnavailable {
					refused.Add(1)
				}
			})
		}
		all.Wait()
		// Those of the last second are asked about within the guard's ten.
		if most := int64(questionsAtOnce + 20*questionsPerSecond); asked.Load() > most || asked.Load() < questionsAtOnce {
			t.Errorf("the API server was asked %d times, want at most %d", asked.Load(), most)
		}
		if refused.Load() != strangers || shown.Load() != 0 {
			t.Errorf("%d were refused, %d saw the page", refused.Load(), shown.Load())
		}
	})
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }
