package main

import (
	"context"
	"io"
	"net"
	"net/http"
	"testing"

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
