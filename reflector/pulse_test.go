package reflector

import (
	"testing"
	"testing/synctest"
	"time"
)

// After an outage the first reflector that is answered wakes the others; none
// waits out its own pause.
func TestPulseEndsAnOutageForAll(t *testing.T) {
	pulse := &Pulse{}
	tell(t, Config{Pulse: pulse}, []answer{synced("9", quiet(1, "15"), reset), {open}}, func(s *story) {
		s.pass(30 * time.Second)
		s.setDown(true)
		s.pass(60 * time.Second)
		s.after(9*time.Second+800*time.Millisecond, `
			1m39.8s connection refused
			1m39.8s failed 7, wait 15s
		`)
		s.setDown(false)
		s.pass(3 * time.Second)
		heard := pulse.beat()
		pulse.Beat() // by another one
		s.after(0, `1m42.8s WATCH rv=15`)
		<-heard
		if err := s.r.LastError(); err != nil {
			s.t.Errorf("LastError is %v", err)
		}
	})
}

// Whoever is answered says so.
func TestReflectorBeatsWhenItIsAnswered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pulse := &Pulse{}
		s := serve(t, []answer{broken, {fail(403, status(403, "Forbidden", "no", ""))}, synced("9", open)})
		s.begin(Config{Pulse: pulse})
		heard := pulse.beat()
		s.pass(time.Second)
		select {
		case <-heard:
			t.Error("a beat without an answer")
		default:
		}
		s.pass(10 * time.Second)
		<-heard
		s.end()
	})
}

// Beats that do not help are no reason to ask more often: where the server
// answers others and not us, the pauses grow as ever.
func TestPulseWakesOnceInTheLongestPause(t *testing.T) {
	pulse := &Pulse{}
	tell(t, Config{Pulse: pulse}, []answer{{mute}}, func(s *story) {
		s.setDown(true)
		dials := func() int {
			s.mu.Lock()
			defer s.mu.Unlock()
			return s.dials
		}
		for range 3000 {
			time.Sleep(100 * time.Millisecond)
			pulse.Beat()
		}
		s.forget()
		// One in 15 s, after the first six; and one early in each 30 s.
		if got := dials(); got < 20 || got > 6+20+11 {
			s.t.Errorf("%d attempts in five minutes", got)
		}
		s.setDown(false)
		s.pass(time.Minute)
	})
}

// A pause that the server asked for, or that has another reason, is not cut
// short.
func TestPulseDoesNotEndOtherPauses(t *testing.T) {
	for name, first := range map[string]answer{
		"Retry-After": {fail(503, status(503, "ServiceUnavailable", "", `{"retryAfterSeconds":5}`))},
		"denied":      {fail(403, status(403, "Forbidden", "no", ""))},
		"missing":     noSuchThing,
	} {
		t.Run(name, func(t *testing.T) {
			pulse := &Pulse{}
			tell(t, Config{Pulse: pulse, Backoff: Backoff{Base: 5 * time.Second}}, []answer{first, {open}}, func(s *story) {
				s.pass(time.Second)
				pulse.Beat()
				s.pass(3999 * time.Millisecond)
				s.mu.Lock()
				if len(s.urls) != 1 {
					s.t.Errorf("%d requests", len(s.urls))
				}
				s.mu.Unlock()
				s.pass(time.Second)
			})
		})
	}
}
