package reflector

import (
	"context"
	"maps"
	"net"
	"net/http/httptest"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/client-go/rest"
)

// A moment is something that a reflector may be in the middle of when its
// context ends.
type moment struct {
	cfg    Config
	script []answer
	deaf   bool
	// state and requests are how the moment is known: what it is doing, and how
	// many of its requests the server is answering.
	state    State
	requests int
}

var (
	noSuchThing = answer{fail(404, status(404, "NotFound", "", ""))}
	stayAway    = answer{fail(429, status(429, "TooManyRequests", "", `{"retryAfterSeconds":200}`))}
	broken      = answer{reset}
)

// moments are all that there are: every state, and every wait within one.
func moments() map[string]moment {
	pages := Config{PagedListOnly: true}
	return map[string]moment{
		"connecting":             {deaf: true, state: WatchListing},
		"probing":                {cfg: Config{ShardSelector: half}, script: []answer{{mute}}, state: Probing, requests: 1},
		"reading a probe":        {cfg: Config{ShardSelector: half}, script: []answer{{send("{"), open}}, state: Probing, requests: 1},
		"asking for a list":      {cfg: pages, script: []answer{{mute}}, state: Listing, requests: 1},
		"before a list":          {cfg: pages, script: []answer{{open}}, state: Listing, requests: 1},
		"in the middle of one":   {cfg: pages, script: []answer{{send(`{"kind":"PodList","items":[` + pod("a", "3")), open}}, state: Listing, requests: 1},
		"asking for a page":      {cfg: pages, script: []answer{{list("9", "c1")}, {mute}}, state: Listing, requests: 1},
		"asking for a stream":    {script: []answer{{mute}}, state: WatchListing, requests: 1},
		"before a stream":        {script: []answer{{open}}, state: WatchListing, requests: 1},
		"in its initial events":  {script: []answer{{event("ADDED", pod("a", "5")), open}}, state: WatchListing, requests: 1},
		"watching, handed on":    {script: []answer{synced("9", open)}, state: Watching, requests: 1},
		"asking for a watch":     {cfg: pages, script: []answer{{list("9", "")}, {mute}}, state: Watching, requests: 1},
		"watching":               {cfg: pages, script: []answer{{list("9", "")}, {open}}, state: Watching, requests: 1},
		"in the middle of event": {script: []answer{synced("9", send(`{"type":"ADDED","object":{`), open)}, state: Watching, requests: 1},
		"asking for one object":  {script: []answer{synced("9", event("ADDED", pod("bad", "10")), open), {mute}}, state: Watching, requests: 2},
		"reading one object":     {script: []answer{synced("9", event("ADDED", pod("bad", "10")), open), {send(`{"items":[`), open}}, state: Watching, requests: 2},
		"backing off":            {script: slices.Repeat([]answer{broken}, 20), state: BackingOff},
		"told to stay away":      {script: []answer{stayAway}, state: BackingOff},
		"told so in a watch":     {script: []answer{synced("9", event("ERROR", status(429, "TooManyRequests", "", `{"retryAfterSeconds":200}`)))}, state: BackingOff},
		"suspended":              {script: slices.Repeat([]answer{noSuchThing}, 20), state: Suspended},
	}
}

// Run returns in no time at all, and leaves nothing behind: at the end of a
// bubble nobody may be left in it.
func TestStopsAtOnceInEveryState(t *testing.T) {
	states := map[State]bool{}
	for name, m := range moments() {
		states[m.state] = true
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := serve(t, m.script)
				s.deaf, s.most = m.deaf, m.requests
				m.cfg.ResyncPeriod = time.Hour
				s.begin(m.cfg)
				s.pass(5 * time.Second)
				s.mu.Lock()
				requests := s.active
				s.mu.Unlock()
				if got := s.r.State(); got != m.state || requests != m.requests {
					t.Errorf("state is %v with %d requests, want %v with %d", got, requests, m.state, m.requests)
				}
				s.end()
			})
		})
	}
	for state := range Probing + 1 {
		if state != Stopped && !states[state] {
			t.Errorf("no stop is tried in state %v", state)
		}
	}
}

// The longest time from the end of the context to the return of Run, over all
// moments, with real connections.
func BenchmarkStop(b *testing.B) {
	var longest time.Duration
	all := moments()
	for b.Loop() {
		for _, name := range slices.Sorted(maps.Keys(all)) {
			longest = max(longest, stopIn(b, name, all[name]))
		}
	}
	b.ReportMetric(float64(longest)/float64(time.Millisecond), "ms-max")
	b.ReportMetric(0, "ns/op") // that of waiting for the moments
}

// stopIn waits for a moment, and measures how long the stop takes.
func stopIn(b *testing.B, name string, m moment) time.Duration {
	b.Helper()
	s := newStory(b, m.script)
	server := httptest.NewServer(s)
	defer server.Close()
	defer s.Close()
	dial := new(net.Dialer).DialContext
	if s.deaf = m.deaf; s.deaf {
		dial = s.dial
	}
	m.cfg.ResyncPeriod = time.Hour
	s.r = New(clientFor(b, &rest.Config{Host: server.URL, Dial: dial}), "pods", s, m.cfg)
	ctx, cancel := context.WithCancel(quietly(b))
	defer cancel()
	go func() { s.stopped <- s.r.Run(ctx) }()
	if !s.comes(m) {
		b.Fatalf("%s: state is %v with %d requests", name, s.r.State(), s.active)
	}
	at := time.Now()
	cancel()
	if err := <-s.stopped; err != nil {
		b.Fatal(err)
	}
	return time.Since(at)
}

// comes waits until a moment has lasted for a while.
func (s *story) comes(m moment) bool {
	const settled, patience = 20, 5000 // milliseconds
	lasts := 0
	for range patience {
		s.mu.Lock()
		requests := s.active
		s.mu.Unlock()
		if lasts++; s.r.State() != m.state || requests != m.requests {
			lasts = 0
		}
		if lasts == settled {
			return true
		}
		time.Sleep(time.Millisecond)
	}
	return false
}
