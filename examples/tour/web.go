package main

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	"k8s.io/klog/v2"

	"millrace/internal/chaintest"
	"millrace/internal/inspect"
)

//go:embed page/tour.html
var pageHTML []byte

//go:embed page/tour.css
var pageCSS []byte

//go:embed page/tour.js
var pageJS []byte

// A show is the tour as a page: the story on one side, scene by scene, and beside it
// the live page of the chain that the story goes through. There is one story, and
// whoever looks at it sees the same of it.
type show struct {
	world  *chaintest.World
	scenes []scene
	live   http.Handler

	mu     sync.Mutex
	played []shownScene
}

// shownScene is one that was played, for the page.
type shownScene struct {
	Sentences []string `json:"sentences"`
	Command   string   `json:"command"`
	Said      []string `json:"said"`
}

// shownStory is what was played, of how many scenes.
type shownStory struct {
	Of     int          `json:"of"`
	Played []shownScene `json:"played"`
}

// web serves the tour on loopback until ctx ends, and says where.
func web(ctx context.Context, listener net.Listener, story string) error {
	scenes, err := read(story)
	if err != nil {
		return err
	}
	ctx = klog.NewContext(ctx, klog.Logger{})
	inspector := inspect.New("tour", func() bool { return true })
	s := &show{scenes: scenes, live: inspector.Handler()}
	s.world = chaintest.NewShown(func() { wait(ctx, s.world.CaughtUp) }, inspector)
	server := &http.Server{Handler: s.handler(ctx), ReadHeaderTimeout: 10 * time.Second}
	parts, ctx := errgroup.WithContext(ctx)
	parts.Go(func() error { return s.world.Run(ctx) })
	parts.Go(func() error {
		if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			return fmt.Errorf("serve the tour: %w", err)
		}
		return nil
	})
	parts.Go(func() error {
		<-ctx.Done()
		return server.Close() // whoever looks at the live page would never go
	})
	return parts.Wait()
}

func (s *show) handler(story context.Context) http.Handler {
	mux := http.NewServeMux()
	for path, file := range map[string]struct {
		kind    string
		content []byte
	}{
		"GET /{$}":      {"text/html", pageHTML},
		"GET /tour.css": {"text/css", pageCSS},
		"GET /tour.js":  {"text/javascript", pageJS},
	} {
		mux.HandleFunc(path, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", file.kind+"; charset=utf-8")
			_, _ = w.Write(file.content)
		})
	}
	mux.HandleFunc("GET /scenes", func(w http.ResponseWriter, _ *http.Request) { s.tell(w) })
	mux.HandleFunc("POST /next", func(w http.ResponseWriter, _ *http.Request) {
		if err := s.next(story); err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		s.tell(w)
	})
	mux.Handle("GET /debug/", framed(s.live))
	return mux
}

// next plays a scene, if there is one left, and goes on while the server is away.
func (s *show) next(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for len(s.played) < len(s.scenes) {
		scene := s.scenes[len(s.played)]
		said, err := s.world.Do(ctx, scene.command)
		if err != nil {
			return err
		}
		s.played = append(s.played, shownScene{scene.sentences, scene.line, strings.FieldsFunc(said, func(r rune) bool { return r == '\n' })})
		if !s.world.Away() {
			break
		}
	}
	return nil
}

// tell is what was played, and how much there is.
func (s *show) tell(w http.ResponseWriter) {
	s.mu.Lock()
	defer s.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	if err := json.NewEncoder(w).Encode(shownStory{len(s.scenes), s.played}); err != nil {
		panic(http.ErrAbortHandler) // whoever asked has gone
	}
}

// framed lets the tour's own page show the live page in itself.
func framed(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h.ServeHTTP(&framing{ResponseWriter: w}, r)
	})
}

type framing struct{ http.ResponseWriter }

func (f *framing) WriteHeader(code int) {
	const policy = "Content-Security-Policy"
	f.Header().Set(policy, strings.Replace(f.Header().Get(policy), "frame-ancestors 'none'", "frame-ancestors 'self'", 1))
	f.ResponseWriter.WriteHeader(code)
}

// Unwrap is for http.ResponseController, which the live page's stream needs.
func (f *framing) Unwrap() http.ResponseWriter { return f.ResponseWriter }
