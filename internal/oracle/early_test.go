package oracle

import (
	"testing"
	"testing/synctest"
	"time"
)

// A stream of a list that closes before its bookmark: client-go asks again as
// soon as it can, for as long as it lasts (issue 140890 of kubernetes). Ours
// reads pages instead, once, and lets the stream be for half an hour.
func TestAStreamThatClosesEarlyIsALoopToClientGoAndNotToUs(t *testing.T) {
	for _, of := range []resource{anything(), pods()} {
		t.Run(of.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := script{server: capable(of)}
				s.server.Born = 3
				b := sit(t, s, 0)
				defer b.stop()
				for _, each := range []verb{early, moment, late, settle} {
					b.play(step{do: each})
				}
				synctest.Wait()
				if wrong := b.everything(); wrong != "" {
					t.Error(wrong)
				}
				theirs, ours := b.theirs.requestsIn(time.Second), b.ours.requestsIn(time.Second)
				if theirs < 50 || ours > 3 {
					t.Errorf("in the first second client-go made %d requests and we %d", theirs, ours)
				}
			})
		})
	}
}

// requestsIn counts those that came in the first so long.
func (s *server) requestsIn(d time.Duration) (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, each := range s.asked {
		if each.Before(s.began.Add(d)) {
			n++
		}
	}
	return n
}

// Where it lasts for ever there is nobody to compare with: client-go asks on and
// on. Ours shows what the server has, whatever else goes wrong.
func TestAStreamThatNeverEndsLeavesUsWithWhatTheServerHas(t *testing.T) {
	for seed := range uint64(30) {
		s := wild(seed)
		s.server.WatchList = true
		synctest.Test(t, func(t *testing.T) {
			alone := startOurs(t, s, 0)
			defer alone.stop()
			alone.play(step{do: early})
			for _, each := range s.steps {
				if each.do != late && each.do != hold {
					alone.play(each)
				}
				time.Sleep(each.takes())
			}
			synctest.Wait()
			if wrong := alone.likeTheServer(alone.held()); wrong != "" {
				t.Errorf("seed %d: %s", seed, wrong)
			}
		})
	}
}
