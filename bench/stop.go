package main

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"sync/atomic"
	"time"

	"millrace/bench/ours"
	"millrace/bench/peer"
	"millrace/bench/server"
	"millrace/fifo"
	"millrace/indexer"
	"millrace/reflector"
)

// moment is something that a server does to a reflector, and that the reflector
// waits in.
type moment struct {
	name string
	// watchList and list answer the requests of that kind; a list is asked for
	// where the watch-list was refused.
	watchList, list http.HandlerFunc
	state           reflector.State
}

const (
	pod      = `{"kind":"Pod","apiVersion":"v1","metadata":{"name":"a","namespace":"b","uid":"c","resourceVersion":"7"}}`
	bookmark = `{"type":"BOOKMARK","object":{"kind":"Pod","apiVersion":"v1","metadata":{"resourceVersion":"9","annotations":{"k8s.io/initial-events-end":"true"}}}}`
)

func moments() []moment {
	unknown := fail(http.StatusUnprocessableEntity, "Invalid")
	return []moment{
		{name: "asking for a watch-list", watchList: mute, state: reflector.WatchListing},
		{name: "before its first object", watchList: say(""), state: reflector.WatchListing},
		{name: "in the middle of it", watchList: say(`{"type":"ADDED","object":` + pod + "}\n"), state: reflector.WatchListing},
		{name: "asking for a list", watchList: unknown, list: mute, state: reflector.Listing},
		{name: "in the middle of a page", watchList: unknown, list: say(`{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"9"},"items":[` + pod), state: reflector.Listing},
		{name: "watching", watchList: say(bookmark + "\n"), state: reflector.Watching},
		{name: "in the middle of an event", watchList: say(bookmark + "\n" + `{"type":"ADDED","object":{`), state: reflector.Watching},
		{name: "backing off after 503", watchList: fail(http.StatusServiceUnavailable, "ServiceUnavailable"), state: reflector.BackingOff},
		{name: "backing off after 429", watchList: fail(http.StatusTooManyRequests, "TooManyRequests"), state: reflector.BackingOff},
		{name: "after 404", watchList: fail(http.StatusNotFound, "NotFound"), state: reflector.Suspended},
	}
}

// mute never answers.
func mute(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }

// say says something, and then no more.
func say(text string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = fmt.Fprint(w, text)
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	}
}

func fail(code int, reason string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(code)
		_, _ = fmt.Fprintf(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":%q,"code":%d,"message":"not now"}`, reason, code)
	}
}

// stopping measures the longest time from the end of the context to the return
// of the reflector's Run, over all moments.
func stopping() experiment {
	return experiment{
		name: "stop", rounds: 2,
		metrics: []metric{{id: "stop", unit: "ms", target: 50, absolute: true}},
		prepare: func(context.Context) (*bench, error) {
			return &bench{run: func(ctx context.Context, who side) ([]float64, error) {
				var longest time.Duration
				for _, m := range moments() {
					took, err := stopIn(ctx, who, m)
					if err != nil {
						return nil, fmt.Errorf("%s: %w", m.name, err)
					}
					longest = max(longest, took)
				}
				return []float64{float64(longest) / float64(time.Millisecond)}, nil
			}}, nil
		},
	}
}

func stopIn(ctx context.Context, who side, m moment) (time.Duration, error) {
	requests := atomic.Int64{}
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	s := &http.Server{ReadHeaderTimeout: time.Minute, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		answer := m.watchList
		if m.list != nil && !r.URL.Query().Has("sendInitialEvents") {
			answer = m.list
		}
		requests.Add(1)
		answer(w, r)
	})}
	go func() { _ = s.Serve(l) }()
	defer s.Close()

	run, in, err := reflect(who, "http://"+l.Addr().String(), m)
	if err != nil {
		return 0, err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	done := make(chan struct{})
	go func() {
		defer close(done)
		run(ctx)
	}()
	if err := lasts(in, &requests); err != nil {
		return 0, err
	}
	from := time.Now()
	cancel()
	<-done
	return time.Since(from), nil
}

// lasts waits until a moment has been there for a while.
func lasts(in func() bool, requests *atomic.Int64) error {
	const tick, settled, patience = 5 * time.Millisecond, 20, 1000
	last, n := int64(0), 0
	for range patience {
		rest(tick)
		now := requests.Load()
		if n++; now == 0 || now != last || !in() {
			last, n = now, 0
		}
		if n == settled {
			return nil
		}
	}
	return fmt.Errorf("after %d requests it has not come", requests.Load())
}

// reflect makes a reflector of either side; in tells whether it waits where it
// should, as far as it can be seen from outside.
func reflect(who side, url string, m moment) (run func(context.Context), in func() bool, err error) {
	if who == them {
		run, err := peer.Reflector(url)
		return run, func() bool { return true }, err
	}
	client, err := ours.Client(url, server.Pods)
	if err != nil {
		return nil, nil, err
	}
	f := fifo.New(indexer.New("pods"), fifo.Config{})
	r := reflector.New(client, "pods", f, reflector.Config{})
	return func(ctx context.Context) { _ = r.Run(ctx) }, func() bool { return r.State() == m.state }, nil
}
