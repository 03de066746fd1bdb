package server_test

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net/http"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"

	"millrace/bench/objects"
	"millrace/bench/server"
	"millrace/wire"
)

func TestMain(m *testing.M) {
	server.Main()
	os.Exit(m.Run())
}

func start(t *testing.T, spec server.Spec) *server.Server {
	t.Helper()
	s, err := server.Start(t.Context(), spec)
	must(t, err)
	t.Cleanup(s.Close)
	return s
}

var transport = &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, ForceAttemptHTTP2: true}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func get(t *testing.T, s *server.Server, f wire.Format, query string) io.Reader {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(cancel)
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, s.URL+s.Resource.Path()+"?"+query, nil)
	must(t, err)
	if f == wire.Protobuf {
		r.Header.Set("Accept", "application/vnd.kubernetes.protobuf")
	}
	answer, err := transport.RoundTrip(r)
	must(t, err)
	t.Cleanup(func() { _ = answer.Body.Close() })
	return answer.Body
}

var specs = []server.Spec{
	{Resource: server.Pods, Formats: []wire.Format{wire.JSON, wire.Protobuf}, Objects: 25, Events: 60, Seed: 3},
	{Resource: server.TaskRuns, Formats: []wire.Format{wire.JSON}, Objects: 25, Events: 60, Seed: 3, Plain: true},
	{Resource: server.PipelineRuns, Formats: []wire.Format{wire.JSON}, Objects: 25, Events: 60, Seed: 3},
}

// listed are the objects that a list in pages shows.
func listed(t *testing.T, s *server.Server, f wire.Format, limit string) (all []string, version string) {
	t.Helper()
	var scanner wire.Scanner
	for token := ""; ; {
		meta, err := scanner.List(f, get(t, s, f, "limit="+limit+"&continue="+token), func(o *wire.Object, err error) error {
			must(t, err)
			all = append(all, string(o.Bytes()))
			return nil
		})
		must(t, err)
		if token = meta.Continue; token == "" {
			return all, meta.ResourceVersion
		}
	}
}

// watched are the objects of a watch up to an event of that type.
func watched(t *testing.T, events *wire.EventReader, until wire.EventType) (all []string, last string) {
	t.Helper()
	for {
		event, err := events.Next()
		must(t, err)
		if event.Type == until {
			return all, last
		}
		all = append(all, string(event.Object.Bytes()))
		last = event.Object.ResourceVersion()
	}
}

func TestAllWaysToListShowTheSame(t *testing.T) {
	for _, spec := range specs {
		s := start(t, spec)
		for _, f := range spec.Formats {
			whole, version := listed(t, s, f, "")
			pages, _ := listed(t, s, f, "7")
			var scanner wire.Scanner
			streamed, _ := watched(t, scanner.Events(f, get(t, s, f, "watch=true&sendInitialEvents=true")), wire.Bookmark)
			if len(whole) != spec.Objects || version != spec.Listed() {
				t.Errorf("%s, %v: %d objects at %s", spec.Resource, f, len(whole), version)
			}
			if f == wire.Protobuf || spec.Resource != server.Pods { // a JSON item of a list has its kind last
				if difference := cmp.Diff(whole, streamed); difference != "" {
					t.Errorf("a list and a watch-list differ: %s", difference)
				}
			}
			if difference := cmp.Diff(whole, pages); difference != "" {
				t.Errorf("a list and its pages differ: %s", difference)
			}
		}
	}
}

func TestEventsComeWhenTheyAreAskedFor(t *testing.T) {
	s := start(t, specs[0])
	for range 2 { // each client sees them anew
		var scanner wire.Scanner
		body := get(t, s, wire.Protobuf, "watch=true&sendInitialEvents=true")
		events := scanner.Events(wire.Protobuf, body)
		watched(t, events, wire.Bookmark)
		must(t, s.Begin(t.Context()))
		n, version := 0, ""
		for version != s.Last() {
			event, err := events.Next()
			must(t, err)
			n, version = n+1, event.Object.ResourceVersion()
		}
		if n != s.Events {
			t.Errorf("%d events, not %d", n, s.Events)
		}
	}
}

func TestExpireEndsAWatchAndChangesNothing(t *testing.T) {
	for _, spec := range specs {
		s := start(t, spec)
		for _, f := range spec.Formats {
			var before []string
			for range 2 {
				var scanner wire.Scanner
				events := scanner.Events(f, get(t, s, f, "watch=true&sendInitialEvents=true"))
				all, _ := watched(t, events, wire.Bookmark)
				if before != nil && !cmp.Equal(before, all) {
					t.Error("the next list shows other objects")
				}
				before = all
				must(t, s.Expire(t.Context()))
				event, err := events.Next()
				must(t, err)
				if event.Type != wire.Error || event.Status.Code != http.StatusGone {
					t.Errorf("a watch ends with %v", event)
				}
				if _, err := events.Next(); !errors.Is(err, io.EOF) {
					t.Errorf("after the end: %v", err)
				}
			}
		}
		if n, err := s.Count(t.Context()); err != nil || n.WatchLists != 2*len(spec.Formats) {
			t.Errorf("counted %+v, %v", n, err)
		}
	}
}

// What the server says is what the generator made.
func TestItServesWhatTheGeneratorMakes(t *testing.T) {
	s := start(t, specs[0])
	m, err := objects.New(specs[0].Seed, objects.Measured)
	must(t, err)
	want, err := specs[0].Scanned(wire.Protobuf, m)
	must(t, err)
	got, _ := listed(t, s, wire.Protobuf, "")
	for i, o := range want {
		if got[i] != string(o.Bytes()) {
			t.Fatalf("object %d is another", i)
		}
	}
}
