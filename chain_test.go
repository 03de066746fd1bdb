package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"testing"
	"testing/synctest"

	"k8s.io/client-go/rest"

	"millrace/internal/inspect"
	"millrace/internal/metrics"
	"millrace/internal/settings"
	"millrace/shard"
)

// wired is a share of everything, as the program wires it. Nothing of it runs.
func wired(t *testing.T, server http.RoundTripper) *share {
	t.Helper()
	cfg, err := parseConfig([]string{"--entrypoint-image=registry.example.com/millrace"}, none)
	if err != nil {
		t.Fatal(err)
	}
	registry := metrics.New()
	api, err := newClients(cfg, &rest.Config{Host: "http://api", Transport: server}, registry, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(api.close)
	api.settings = settings.New(settings.Trace{})
	p := &program{cfg: cfg, on: machine{random: func(string) rand.Source { return rand.NewPCG(1, 1) }}, registry: registry, api: api, shown: inspect.New(version, func() bool { return true })}
	return newShare(t.Context(), p, shard.Range{})
}

// Each chain takes its first list in as it has room for it: what the network brings faster
// would all be in memory, plain. One is wired by hand, and once was without.
func TestEveryFirstListWaitsForRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := wired(t, plenty(2000))
		ctx, stop := context.WithCancel(t.Context())
		over := make(chan error)
		chains := s.chains()
		for _, c := range chains {
			go func() { over <- c.source.Run(ctx) }() // and nobody takes anything in
		}
		synctest.Wait()
		for _, c := range chains {
			if n := c.fifo.Len(); n != 512 {
				t.Errorf("%d of %s wait", n, c.Name())
			}
		}
		stop()
		for range chains {
			if err := <-over; err != nil {
				t.Error(err)
			}
		}
	})
}

// plenty is an API server that has so many objects of everything, and sends them all at
// once.
type plenty int

func (n plenty) RoundTrip(r *http.Request) (*http.Response, error) {
	var b bytes.Buffer
	for i := range int(n) {
		fmt.Fprintf(&b, `{"type":"ADDED","object":{"metadata":{"namespace":"n","name":"it-%d","uid":"u%d","resourceVersion":"%d"}}}`+"\n", i, i, i+1)
	}
	body := io.MultiReader(&b, untilOver(r.Context().Done()))
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(body), Request: r}, nil
}

// untilOver is the rest of an answer that says nothing more.
type untilOver <-chan struct{}

func (u untilOver) Read([]byte) (int, error) {
	<-u
	return 0, io.ErrUnexpectedEOF
}
