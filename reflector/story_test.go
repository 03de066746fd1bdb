package reflector

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// quiet is some minutes of a server with nothing to tell but a bookmark each.
func quiet(minutes int, resourceVersion string) act {
	return func(w http.ResponseWriter, r *http.Request) {
		headers(w, r)
		for range minutes {
			pause(time.Minute)(w, r)
			event("BOOKMARK", bookmark(resourceVersion))(w, r)
		}
	}
}

// synced is a watch-list of nothing.
func synced(resourceVersion string, then ...act) answer {
	return append(answer{endOfInitial(resourceVersion)}, then...)
}

// One request streams what is there, and goes on with what happens.
func TestColdStartIsOneConsistentStream(t *testing.T) {
	tell(t, Config{}, []answer{
		{event("ADDED", pod("a", "5")), event("ADDED", pod("b", "7")), endOfInitial("9"), pause(time.Minute),
			event("ADDED", pod("c", "11")), event("MODIFIED", pod("a", "12")), event("DELETED", pod("b", "13")), event("BOOKMARK", bookmark("20")), open},
	}, func(s *story) {
		s.after(0, `
			0s WATCHLIST
			0s begin
			0s item a@5
			0s item b@7
			0s commit 9
		`)
		s.after(time.Minute, `
			1m0s add c@11
			1m0s update a@12
			1m0s delete b@13
			1m0s bookmark 20
		`)
		got := s.r.Status()
		if got.State != Watching || got.ResourceVersion != "20" || got.Err != nil || !got.LastEvent.Equal(s.began.Add(time.Minute)) {
			s.t.Errorf("status is %+v", got)
		}
	})
}

// Changes that happen while the initial events flow are part of the list.
func TestChangesDuringTheInitialEvents(t *testing.T) {
	tell(t, Config{}, []answer{
		{event("ADDED", pod("a", "5")), event("ADDED", pod("b", "7")), event("MODIFIED", pod("a", "8")), event("DELETED", pod("b", "9")),
			event("BOOKMARK", bookmark("9")), endOfInitial("9"), open},
	}, func(s *story) {
		s.after(0, `
			0s WATCHLIST
			0s begin
			0s item a@5
			0s item b@7
			0s item a@8
			0s delete b@9
			0s commit 9
		`)
	})
}

// The end that the server makes every few minutes is followed by another watch
// at once, and by no list.
func TestCleanCloseWatchesOnFromTheLastVersion(t *testing.T) {
	tell(t, Config{}, []answer{
		synced("9", quiet(2, "15")),
		{event("ADDED", pod("a", "16")), pause(time.Minute), event("MODIFIED", pod("a", "17"))},
		{open},
	}, func(s *story) {
		s.after(3*time.Minute, `
			0s WATCHLIST
			0s begin
			0s commit 9
			1m0s bookmark 15
			2m0s bookmark 15
			2m0s WATCH rv=15
			2m0s add a@16
			3m0s update a@17
			3m0s WATCH rv=17
		`)
	})
}

// A list comes in pages and reaches the sink as one.
func TestPagesAreOneList(t *testing.T) {
	tell(t, Config{PagedListOnly: true}, []answer{
		{list("10", "c1", pod("a", "3"), pod("b", "4"))},
		{list("10", "c2", pod("c", "5"))},
		{list("10", "", pod("d", "6"))},
		{event("ADDED", pod("e", "11")), open},
	}, func(s *story) {
		s.after(0, `
			0s LIST
			0s begin
			0s item a@3
			0s item b@4
			0s LIST continue=c1
			0s item c@5
			0s LIST continue=c2
			0s item d@6
			0s commit 10
			0s WATCH rv=10
			0s add e@11
		`)
	})
}

// A sink that has no room is waited for with each object of a list, as long as it takes,
// and that is not taken for the server's silence.
func TestAListWaitsForRoom(t *testing.T) {
	patience := Config{SilenceTimeout: 5 * time.Second, Room: func(context.Context) { time.Sleep(20 * time.Second) }}
	tell(t, patience, []answer{
		{event("ADDED", pod("a", "5")), event("ADDED", pod("b", "7")), endOfInitial("9"), event("ADDED", pod("c", "11")), open},
	}, func(s *story) {
		s.after(44*time.Second, `
			0s WATCHLIST
			0s begin
			20s item a@5
			40s item b@7
			40s commit 9
			40s add c@11
		`)
	})
	var long []act
	for i := range 7 { // 140 s
		long = append(long, event("ADDED", pod(fmt.Sprint("a", i), fmt.Sprint(i+1))))
	}
	tell(t, patience, []answer{append(long, endOfInitial("9"), open)}, func(s *story) {
		s.after(144*time.Second, `
			0s WATCHLIST
			0s begin
			20s item a0@1
			40s item a1@2
			1m0s item a2@3
			1m20s item a3@4
			1m40s item a4@5
			2m0s item a5@6
			2m20s item a6@7
			2m20s commit 9
		`)
	})
	patience.PagedListOnly = true
	tell(t, patience, []answer{{list("10", "c1", pod("a", "3"))}, {list("10", "", pod("b", "4"))}, {open}}, func(s *story) {
		s.after(44*time.Second, `
			0s LIST
			0s begin
			20s item a@3
			20s LIST continue=c1
			40s item b@4
			40s commit 10
			40s WATCH rv=10
		`)
	})
	patience.Room = func(ctx context.Context) { <-ctx.Done() }
	tell(t, patience, []answer{{list("10", "", pod("a", "3"))}}, func(s *story) { // and told to stop, it stops
		s.after(time.Hour, `
			0s LIST
			0s begin
		`)
	})
}

// How long a server takes to accept a watch-list is not taken from the time that the list
// has; one that does not end by then is asked for pages, which may take as long as they do.
func TestASlowServerIsNotCutOffEverAgain(t *testing.T) {
	slow := func(items int, every time.Duration, then ...act) (all answer) {
		all = answer{pause(30 * time.Second)}
		for i := range items {
			all = append(all, event("ADDED", pod(fmt.Sprint("a", i), fmt.Sprint(i+1))), pause(every))
		}
		return append(all, then...)
	}
	room := Config{Room: func(context.Context) {}}
	tell(t, room, []answer{slow(12, 9*time.Second, endOfInitial("20"), open)}, func(s *story) {
		s.pass(119 * time.Second)
		s.after(20*time.Second, `
			2m0s item a10@11
			2m9s item a11@12
			2m18s commit 20
		`)
	})
	page := func(then act) answer { return answer{pause(30 * time.Second), then} }
	tell(t, room, []answer{
		slow(20, 9*time.Second, endOfInitial("20"), open),
		page(list("20", "c1", pod("a0", "1"))), page(list("20", "c2", pod("a1", "2"))), page(list("20", "c3", pod("a2", "3"))),
		page(list("20", "c4", pod("a3", "4"))), page(list("20", "", pod("a4", "5"))),
	}, func(s *story) {
		s.pass(2*time.Minute + 28*time.Second)
		s.after(3*time.Minute, `
			2m30s abort
			2m30s LIST
			3m0s begin
			3m0s item a0@1
			3m0s LIST continue=c1
			3m30s item a1@2
			3m30s LIST continue=c2
			4m0s item a2@3
			4m0s LIST continue=c3
			4m30s item a3@4
			4m30s LIST continue=c4
			5m0s item a4@5
			5m0s commit 20
			5m0s WATCH rv=20
		`)
	})
}

// The last page knows best how far the list goes.
func TestVersionOfTheListComesFromItsLastPage(t *testing.T) {
	tell(t, Config{PagedListOnly: true}, []answer{
		{list("10", "c1", pod("a", "3"))},
		{list("12", "", pod("b", "11"))},
	}, func(s *story) {
		s.after(0, `
			0s LIST
			0s begin
			0s item a@3
			0s LIST continue=c1
			0s item b@11
			0s commit 12
			0s WATCH rv=12
		`)
	})
}

// A server without watch-lists is asked once, and again after half an hour.
func TestWithoutWatchListsPagesAreRemembered(t *testing.T) {
	gone := event("ERROR", expiredStatus)
	tell(t, Config{}, []answer{
		{fail(422, noWatchList)},
		{list("10", "", pod("a", "3"))},
		{quiet(1, "20"), gone},
		{list("21", "", pod("a", "3"))},
		{quiet(30, "40"), gone},
		synced("41", open),
	}, func(s *story) {
		s.after(time.Minute, `
			0s WATCHLIST
			0s LIST
			0s begin
			0s item a@3
			0s commit 10
			0s WATCH rv=10
			1m0s bookmark 20
			1m0s LIST rv=20
			1m0s begin
			1m0s item a@3
			1m0s commit 21
			1m0s relisted: expired
			1m0s WATCH rv=21
		`)
		s.pass(29*time.Minute + 30*time.Second)
		s.after(30*time.Second, `
			31m0s bookmark 40
			31m0s WATCHLIST rv=40
			31m0s begin
			31m0s commit 41
			31m0s relisted: expired
		`)
	})
}

// Issue 140890 of kubernetes: streams that close before their initial events
// have ended made 230,226 requests in a second. Three are enough, though here
// the watch after the list closes too.
func TestInitialEventsWithoutEndFallBack(t *testing.T) {
	hasty := answer{event("ADDED", pod("a", "5"))}
	tell(t, Config{}, []answer{
		hasty,
		{list("10", "", pod("a", "5"))},
		{headers}, {headers}, {headers}, {open},
	}, func(s *story) {
		s.after(10*time.Second, `
			0s WATCHLIST
			0s begin
			0s item a@5
			0s abort
			0s LIST
			0s begin
			0s item a@5
			0s commit 10
			0s WATCH rv=10
			0s failed 2, wait 1.6s
			1.6s WATCH rv=10
			1.6s failed 3, wait 3.2s
			4.8s WATCH rv=10
			4.8s failed 4, wait 6.4s
		`)
	})
}

// Issue 135895 of kubernetes: a proxy or an aggregated API that never sends
// the bookmark, first on a quiet resource, then on a busy one.
func TestInitialEventsWithoutBookmarkFallBack(t *testing.T) {
	t.Run("silence", func(t *testing.T) {
		tell(t, Config{}, []answer{
			{event("ADDED", pod("a", "5")), open},
			{list("10", "", pod("a", "5"))},
		}, func(s *story) {
			s.after(11*time.Second, `
				0s WATCHLIST
				0s begin
				0s item a@5
				10s abort
				10s LIST
				10s begin
				10s item a@5
				10s commit 10
				10s WATCH rv=10
			`)
		})
	})
	t.Run("deadline", func(t *testing.T) {
		busy := answer{}
		for range 60 {
			busy = append(busy, event("MODIFIED", pod("a", "6")), pause(7*time.Second))
		}
		tell(t, Config{}, []answer{busy, {list("10", "", pod("a", "6"))}}, func(s *story) {
			s.pass(118 * time.Second)
			s.after(3*time.Second, `
				1m59s item a@6
				2m0s abort
				2m0s LIST
				2m0s begin
				2m0s item a@6
				2m0s commit 10
				2m0s WATCH rv=10
			`)
		})
	})
}

// Expired, the first place: an event of a watch.
func TestExpiredAsEventListsAgainAtOnce(t *testing.T) {
	tell(t, Config{}, []answer{
		synced("9", quiet(1, "15"), event("ERROR", expiredStatus)),
		{event("ADDED", pod("b", "17")), endOfInitial("20"), event("ADDED", pod("c", "21")), open},
	}, func(s *story) {
		s.after(time.Minute, `
			0s WATCHLIST
			0s begin
			0s commit 9
			1m0s bookmark 15
			1m0s WATCHLIST rv=15
			1m0s begin
			1m0s item b@17
			1m0s commit 20
			1m0s relisted: expired
			1m0s add c@21
		`)
	})
}

// Expired, the second place: the answer to a watch request.
func TestExpiredAsAnswerListsAgainAtOnce(t *testing.T) {
	tell(t, Config{}, []answer{
		synced("9", quiet(1, "15")),
		{fail(410, expiredStatus)},
		synced("20", open),
	}, func(s *story) {
		s.after(time.Minute, `
			0s WATCHLIST
			0s begin
			0s commit 9
			1m0s bookmark 15
			1m0s WATCH rv=15
			1m0s WATCHLIST rv=15
			1m0s begin
			1m0s commit 20
			1m0s relisted: expired
		`)
	})
}

// Expired, the third place: a continuation. One piece has none.
func TestExpiredContinuationListsAfreshInOnePiece(t *testing.T) {
	tell(t, Config{PagedListOnly: true}, []answer{
		{list("10", "c1", pod("a", "3"))},
		{fail(410, status(410, "Expired", "The provided continue parameter is too old", ""))},
		{list("30", "", pod("b", "25"))},
		{quiet(1, "31"), event("ERROR", expiredStatus)},
		{list("40", "", pod("b", "25"))},
	}, func(s *story) {
		s.after(time.Minute, `
			0s LIST
			0s begin
			0s item a@3
			0s LIST continue=c1
			0s abort
			0s LIST whole
			0s begin
			0s item b@25
			0s commit 30
			0s WATCH rv=30
			1m0s bookmark 31
			1m0s LIST rv=31
			1m0s begin
			1m0s item b@25
			1m0s commit 40
			1m0s relisted: expired
			1m0s WATCH rv=40
		`)
	})
}

// Issue 102718 of kubernetes: a list slower than the server forgets.
func TestListThatIsExpiredWhenItEndsChangesItsWay(t *testing.T) {
	gone := answer{fail(410, expiredStatus)}
	tell(t, Config{PagedListOnly: true}, []answer{
		{list("10", "")}, gone,
		{list("20", "")}, gone,
		{list("30", "")}, gone,
		{list("40", "")}, {open},
	}, func(s *story) {
		s.after(time.Minute, `
			0s LIST
			0s begin
			0s commit 10
			0s WATCH rv=10
			0s failed 1, wait 800ms
			800ms LIST whole
			800ms begin
			800ms commit 20
			800ms relisted: expired
			800ms WATCH rv=20
			800ms failed 2, wait 1.6s
			2.4s LIST whole
			2.4s begin
			2.4s commit 30
			2.4s relisted: expired
			2.4s WATCH rv=30
			2.4s failed 3, wait 3.2s
			5.6s LIST whole
			5.6s begin
			5.6s commit 40
			5.6s relisted: expired
			5.6s WATCH rv=40
		`)
	})
}

// A server that does not reach our resourceVersion has a newest state still.
func TestRefusedFloorAsksForTheNewest(t *testing.T) {
	older := func(name string, code int, text string) {
		t.Run(name, func(t *testing.T) {
			tell(t, Config{}, []answer{
				synced("9", quiet(1, "15"), event("ERROR", expiredStatus)),
				{fail(code, text)},
				synced("7", open),
			}, func(s *story) {
				s.after(time.Minute, `
					0s WATCHLIST
					0s begin
					0s commit 9
					1m0s bookmark 15
					1m0s WATCHLIST rv=15
					1m0s WATCHLIST
					1m0s begin
					1m0s commit 7
					1m0s relisted: expired
				`)
			})
		})
	}
	t.Run("too large, as an event", func(t *testing.T) {
		tell(t, Config{}, []answer{
			synced("9", quiet(1, "15"), event("ERROR", expiredStatus)),
			{event("ERROR", tooLargeNow)},
			synced("7", open),
		}, func(s *story) {
			s.pass(59 * time.Second)
			s.after(time.Second, `
				1m0s bookmark 15
				1m0s WATCHLIST rv=15
				1m0s begin
				1m0s abort
				1m0s WATCHLIST
				1m0s begin
				1m0s commit 7
				1m0s relisted: expired
			`)
		})
	})
	older("expired", 410, expiredStatus)
	older("too large, as a cause", 504, tooLargeNow)
	older("too large, as a cause's message (1.17)", 504, status(504, "Timeout", "Timeout: Too large", `{"causes":[{"message":"Too large resource version"}]}`))
	older("too large, as a message (1.16)", 504, status(504, "Timeout", "Timeout: Too large resource version: 15, current: 7", `{"retryAfterSeconds":1}`))
}

// An outage: pauses grow to their limit, the watch goes on where it was, and
// health starts the pauses over.
func TestOutage(t *testing.T) {
	tell(t, Config{}, []answer{
		synced("9", quiet(1, "15"), reset),
		{event("ADDED", pod("a", "16")), quiet(1, "17"), reset},
	}, func(s *story) {
		time.Sleep(59 * time.Second)
		s.setDown(true)
		s.after(time.Minute, `
			0s WATCHLIST
			0s begin
			0s commit 9
			1m0s bookmark 15
			1m0s connection refused
			1m0s failed 1, wait 800ms
			1m0.8s connection refused
			1m0.8s failed 2, wait 1.6s
			1m2.4s connection refused
			1m2.4s failed 3, wait 3.2s
			1m5.6s connection refused
			1m5.6s failed 4, wait 6.4s
			1m12s connection refused
			1m12s failed 5, wait 12.8s
			1m24.8s connection refused
			1m24.8s failed 6, wait 15s
			1m39.8s connection refused
			1m39.8s failed 7, wait 15s
			1m54.8s connection refused
			1m54.8s failed 8, wait 15s
		`)
		if err := s.r.LastError(); err == nil {
			s.t.Error("during the outage there is no LastError")
		}
		s.setDown(false)
		time.Sleep(30 * time.Second)
		if err := s.r.LastError(); err != nil {
			s.t.Errorf("after the outage LastError is %v", err)
		}
		s.setDown(true)
		s.after(42*time.Second, `
			2m9.8s WATCH rv=15
			2m9.8s add a@16
			3m9.8s bookmark 17
			3m9.8s connection refused
			3m9.8s failed 1, wait 800ms
			3m10.6s connection refused
			3m10.6s failed 2, wait 1.6s
		`)
	})
}

// Upstream's clock starts its delays over two minutes into an outage, and every
// two minutes again; ours go on as they were.
func TestBackoffDoesNotStartOverInAnOutage(t *testing.T) {
	var waits []time.Duration
	cfg := Config{Trace: Trace{Failed: func(f Failure) { waits = append(waits, f.Wait) }}}
	tell(t, cfg, []answer{synced("9", quiet(1, "15"), reset), {open}}, func(s *story) {
		s.pass(59 * time.Second)
		s.setDown(true)
		s.pass(30 * time.Minute)
		s.setDown(false)
		s.pass(time.Minute)
		if len(waits) < 100 {
			s.t.Fatalf("%d attempts in half an hour", len(waits))
		}
		for i, wait := range waits[5:] {
			if wait != 15*time.Second {
				s.t.Fatalf("pause %d is %v", i+6, wait)
			}
		}
	})
}

// Retry-After is honoured wherever it stands.
func TestRetryAfter(t *testing.T) {
	busy := func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Retry-After", "7")
		http.Error(w, "Too many requests, please try again later.", http.StatusTooManyRequests)
	}
	tell(t, Config{}, []answer{
		{busy},
		synced("9", quiet(1, "15"), event("ERROR", status(429, "TooManyRequests", "storage is (re)initializing", `{"retryAfterSeconds":20}`))),
		{busy},
		{fail(429, status(429, "TooManyRequests", "no", `{"retryAfterSeconds":3600}`))},
		{open},
	}, func(s *story) {
		s.after(7*time.Minute, `
			0s WATCHLIST
			0s failed 1, wait 7s
			7s WATCHLIST
			7s begin
			7s commit 9
			1m7s bookmark 15
			1m7s failed 1, wait 20s
			1m27s WATCH rv=15
			1m27s failed 2, wait 7s
			1m34s WATCH rv=15
			1m34s failed 3, wait 5m0s
			6m34s WATCH rv=15
		`)
	})
}

// Trouble of the server is no reason to list; but where a watch fails from one
// version again and again, a list may pass.
func TestServerErrorsWatchOnAndThenList(t *testing.T) {
	trouble := answer{event("ERROR", status(500, "InternalError", "etcdserver: leader changed", "")), open}
	tell(t, Config{}, []answer{
		synced("9", quiet(1, "15"), event("ERROR", status(500, "InternalError", "unable to decode", ""))),
		trouble, trouble, {fail(503, "upstream connect error")}, trouble, trouble,
		synced("20", open),
	}, func(s *story) {
		s.after(2*time.Minute, `
			0s WATCHLIST
			0s begin
			0s commit 9
			1m0s bookmark 15
			1m0s failed 1, wait 800ms
			1m0.8s WATCH rv=15
			1m0.8s failed 2, wait 1.6s
			1m2.4s WATCH rv=15
			1m2.4s failed 3, wait 3.2s
			1m5.6s WATCH rv=15
			1m5.6s failed 4, wait 6.4s
			1m12s WATCH rv=15
			1m12s failed 5, wait 12.8s
			1m24.8s WATCH rv=15
			1m24.8s failed 6, wait 15s
			1m39.8s WATCHLIST rv=15
			1m39.8s begin
			1m39.8s commit 20
			1m39.8s relisted: stuck
		`)
	})
}

// A frame that is too long for anybody ends its stream. It comes again from
// the same version, so in the end a list goes around it.
func TestFrameWithoutEnd(t *testing.T) {
	huge := answer{func(w http.ResponseWriter, r *http.Request) {
		send(`{"type":"ADDED","object":{"metadata":{"name":"`)(w, r)
		for block := strings.Repeat("x", 1<<20); r.Context().Err() == nil; {
			send(block)(w, r)
		}
	}}
	tell(t, Config{PagedListOnly: true}, []answer{
		{list("10", "")}, huge, huge, huge, huge, huge,
		{list("20", "")},
	}, func(s *story) {
		s.after(time.Minute, `
			0s LIST
			0s begin
			0s commit 10
			0s WATCH rv=10
			0s failed 1, wait 800ms
			800ms WATCH rv=10
			800ms failed 2, wait 1.6s
			2.4s WATCH rv=10
			2.4s failed 3, wait 3.2s
			5.6s WATCH rv=10
			5.6s failed 4, wait 6.4s
			12s WATCH rv=10
			12s failed 5, wait 12.8s
			24.8s LIST rv=10
			24.8s begin
			24.8s commit 20
			24.8s relisted: stuck
			24.8s WATCH rv=20
		`)
	})
}

// An error among the initial events: pages may do better, after a pause.
func TestErrorInTheInitialEvents(t *testing.T) {
	tell(t, Config{}, []answer{
		{event("ADDED", pod("a", "5")), event("ERROR", status(500, "InternalError", "", "")), open},
		{list("10", "", pod("a", "5"))},
	}, func(s *story) {
		s.after(time.Second, `
			0s WATCHLIST
			0s begin
			0s item a@5
			0s abort
			0s failed 1, wait 800ms
			800ms LIST
			800ms begin
			800ms item a@5
			800ms commit 10
			800ms WATCH rv=10
		`)
	})
}

// A CRD that is not there yet, comes, is removed, and comes again.
func TestMissingResourceSuspends(t *testing.T) {
	notHere := func(w http.ResponseWriter, r *http.Request) { http.NotFound(w, r) }
	tell(t, Config{}, []answer{
		{notHere}, {notHere},
		synced("9", quiet(1, "15")),
		{notHere}, {notHere},
		{event("ADDED", pod("a", "30")), endOfInitial("31"), open},
	}, func(s *story) {
		s.after(time.Second, `
			0s WATCHLIST
			0s suspended
			0s failed 1, wait 800ms
			800ms WATCHLIST
			800ms suspended
			800ms failed 2, wait 1.6s
		`)
		if got := s.r.State(); got != Suspended {
			s.t.Errorf("state is %v", got)
		}
		if err := s.r.LastError(); classify(err) != missing {
			s.t.Errorf("LastError is %v", err)
		}
		s.after(2*time.Minute, `
			2.4s WATCHLIST
			2.4s begin
			2.4s commit 9
			1m2.4s bookmark 15
			1m2.4s WATCH rv=15
			1m2.4s suspended
			1m2.4s failed 1, wait 800ms
			1m3.2s WATCHLIST
			1m3.2s suspended
			1m3.2s failed 2, wait 1.6s
			1m4.8s WATCHLIST
			1m4.8s begin
			1m4.8s item a@30
			1m4.8s commit 31
			1m4.8s relisted: missing
		`)
	})
}

// A grant that is missing shows, and is noticed when it comes.
func TestDeniedShowsInLastError(t *testing.T) {
	const text = `pods is forbidden: User "millrace" cannot list resource "pods"`
	no := answer{fail(403, status(403, "Forbidden", text, ""))}
	tell(t, Config{}, []answer{no, no, synced("9", open)}, func(s *story) {
		s.after(time.Second, `
			0s WATCHLIST
			0s failed 1, wait 800ms
			800ms WATCHLIST
			800ms failed 2, wait 1.6s
		`)
		if err := s.r.LastError(); err == nil || err.Error() != "watch-list pods: "+text {
			s.t.Errorf("LastError is %v", err)
		}
		s.after(10*time.Second, `
			2.4s WATCHLIST
			2.4s begin
			2.4s commit 9
		`)
		if err := s.r.LastError(); err != nil {
			s.t.Errorf("LastError is %v", err)
		}
	})
}

// A connection whose peer is gone says nothing, as one with nothing to say
// does; but for a minute only.
func TestSilenceIsCut(t *testing.T) {
	tell(t, Config{}, []answer{
		synced("9", quiet(1, "15"), open),
		{event("ADDED", pod("a", "16")), open},
		{mute},
		{open},
		synced("7", open),
	}, func(s *story) {
		s.after(4*time.Minute+time.Second, `
			0s WATCHLIST
			0s begin
			0s commit 9
			1m0s bookmark 15
			2m30s WATCH rv=15
			2m30s add a@16
			4m0s WATCH rv=16
		`)
		// A watch that is accepted and mute, at a server that is known to send
		// bookmarks: its numbers may have gone back.
		s.after(4*time.Minute, `
			5m30s failed 1, wait 800ms
			5m30.8s WATCH rv=16
			7m0.8s WATCHLIST rv=16
			7m0.8s begin
			7m0.8s commit 7
			7m0.8s relisted: silent
		`)
	})
}

// A list that stops in the middle is cut as well.
func TestSilentListIsCut(t *testing.T) {
	var reasons []error
	trace := Trace{Failed: func(f Failure) { reasons = append(reasons, f.Err) }}
	tell(t, Config{PagedListOnly: true, Trace: trace}, []answer{
		{send(`{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"10"},"items":[` + pod("a", "3")), open},
		{list("11", "", pod("a", "3"))},
	}, func(s *story) {
		s.after(2*time.Minute, `
			0s LIST
			0s begin
			0s item a@3
			1m30s abort
			1m30s failed 1, wait 800ms
			1m30.8s LIST
			1m30.8s begin
			1m30.8s item a@3
			1m30.8s commit 11
			1m30.8s WATCH rv=11
		`)
		if len(reasons) != 1 || !errors.Is(reasons[0], errSilent) {
			s.t.Errorf("reasons are %v", reasons)
		}
	})
}

// After the restore of a backup the numbers go back. To go on would be blind.
func TestVersionsThatGoBackListAgain(t *testing.T) {
	tell(t, Config{}, []answer{
		synced("99", quiet(1, "100"), event("MODIFIED", pod("a", "50"))),
		synced("51", event("MODIFIED", pod("a", "52")), open),
	}, func(s *story) {
		s.after(time.Minute, `
			0s WATCHLIST
			0s begin
			0s commit 99
			1m0s bookmark 100
			1m0s WATCHLIST
			1m0s begin
			1m0s commit 51
			1m0s relisted: rewound
			1m0s update a@52
		`)
	})
}

// A frame that was cut is not half an event.
func TestCutInTheMiddleOfAFrame(t *testing.T) {
	for name, cut := range map[string]act{"reset": reset, "closed": func(http.ResponseWriter, *http.Request) {}} {
		t.Run(name, func(t *testing.T) {
			tell(t, Config{}, []answer{
				synced("9", quiet(1, "15"), event("ADDED", pod("a", "16")), send(`{"type":"ADDED","object":{"kind":"Pod","metadata":{"name":"b"`), cut),
				{event("ADDED", pod("b", "17")), open},
			}, func(s *story) {
				s.after(time.Minute, `
					0s WATCHLIST
					0s begin
					0s commit 9
					1m0s bookmark 15
					1m0s add a@16
					1m0s WATCH rv=16
					1m0s add b@17
				`)
			})
		})
	}
}

// A list that was cut deletes nothing.
func TestCutListIsAborted(t *testing.T) {
	tell(t, Config{PagedListOnly: true}, []answer{
		{list("10", "c1", pod("a", "3"))},
		{send(`{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"10"},"items":[` + pod("b", "4") + `,{"meta`), reset},
		{list("12", "", pod("a", "3"), pod("b", "4"))},
	}, func(s *story) {
		s.after(time.Second, `
			0s LIST
			0s begin
			0s item a@3
			0s LIST continue=c1
			0s item b@4
			0s abort
			0s failed 1, wait 800ms
			800ms LIST
			800ms begin
			800ms item a@3
			800ms item b@4
			800ms commit 12
			800ms WATCH rv=12
		`)
	})
}

// Watches that end at once are not asked for in a loop; those that bring
// something keep to the shortest pause.
func TestHastyWatchesBackOff(t *testing.T) {
	tell(t, Config{}, []answer{
		synced("9"), {headers}, {headers},
		{event("ADDED", pod("a", "10"))},
		{event("MODIFIED", pod("a", "11"))},
		{event("MODIFIED", pod("a", "11"))}, // nothing new: the server ignores where we are
		{open},
	}, func(s *story) {
		s.after(20*time.Second, `
			0s WATCHLIST
			0s begin
			0s commit 9
			0s failed 1, wait 800ms
			800ms WATCH rv=9
			800ms failed 2, wait 1.6s
			2.4s WATCH rv=9
			2.4s failed 3, wait 3.2s
			5.6s WATCH rv=9
			5.6s add a@10
			5.6s failed 1, wait 800ms
			6.4s WATCH rv=10
			6.4s update a@11
			6.4s failed 1, wait 800ms
			7.2s WATCH rv=11
			7.2s update a@11
			7.2s failed 2, wait 1.6s
			8.8s WATCH rv=11
		`)
	})
}

// Resyncs begin when there is something to replay.
func TestResync(t *testing.T) {
	tell(t, Config{ResyncPeriod: time.Hour, SilenceTimeout: 10 * time.Hour}, []answer{
		{mute},
	}, func(s *story) {
		s.after(90*time.Minute, `0s WATCHLIST`)
	})
	tell(t, Config{ResyncPeriod: time.Hour, SilenceTimeout: 10 * time.Hour}, []answer{
		synced("9", open),
	}, func(s *story) {
		s.after(150*time.Minute, `
			0s WATCHLIST
			0s begin
			0s commit 9
			1h0m0s resync
			2h0m0s resync
		`)
	})
	tell(t, Config{SilenceTimeout: 1000 * time.Hour}, []answer{synced("9", open)}, func(s *story) {
		s.after(100*time.Hour, `
			0s WATCHLIST
			0s begin
			0s commit 9
		`)
	})
}

// A stop between a streaming list and the watch that goes on with its stream.
func TestStopBetweenListAndWatch(t *testing.T) {
	tell(t, Config{}, []answer{{pause(time.Second), endOfInitial("9"), open}}, func(s *story) {
		s.mu.Lock()
		s.commit = s.stop
		s.mu.Unlock()
		s.after(time.Second, `
			0s WATCHLIST
			1s begin
			1s commit 9
		`)
		if got := s.r.State(); got != Stopped {
			s.t.Errorf("state is %v", got)
		}
	})
}

// slow is a sink that takes a while to replay.
type slow struct {
	view

	replayed bool
}

func (s *slow) Resync() {
	time.Sleep(time.Second)
	s.replayed = true
}

// Run waits for what it started: after it has returned, the sink is left alone.
func TestRunWaitsForAResync(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := serve(t, []answer{synced("9", open)})
		sink := &slow{}
		r := New(s.client(), "pods", sink, Config{ResyncPeriod: time.Minute})
		ctx, cancel := context.WithCancel(quietly(t))
		done := make(chan error)
		go func() { done <- r.Run(ctx) }()
		time.Sleep(time.Minute + time.Millisecond)
		cancel()
		if err := <-done; err != nil || !sink.replayed {
			t.Errorf("Run returned %v, replayed is %v", err, sink.replayed)
		}
	})
}

// lagging is a server behind another one that the program has talked to before:
// what it shows from memory is old, and it takes a question to its quorum to see
// the newest (issue 59848 of kubernetes).
func lagging(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	rv, objects := "90", []string{pod("a", "85"), pod("new", "90")}
	if q.Has("resourceVersion") {
		rv, objects = "50", []string{pod("a", "40"), pod("deleted-since", "45")}
	}
	if !q.Has("sendInitialEvents") {
		list(rv, "", objects...)(w, r)
		return
	}
	for _, o := range objects {
		event("ADDED", o)(w, r)
	}
	endOfInitial(rv)(w, r)
	open(w, r)
}

// After a start, nobody is shown what an earlier process has seen the end of.
func TestFirstReadIsConsistent(t *testing.T) {
	tell(t, Config{}, []answer{{lagging}}, func(s *story) {
		s.after(0, `
			0s WATCHLIST
			0s begin
			0s item a@85
			0s item new@90
			0s commit 90
		`)
	})
	tell(t, Config{PagedListOnly: true}, []answer{{fail(500, "no")}, {lagging}}, func(s *story) {
		s.after(time.Second, `
			0s LIST
			0s failed 1, wait 800ms
			800ms LIST
			800ms begin
			800ms item a@85
			800ms item new@90
			800ms commit 90
			800ms WATCH rv=90
		`)
	})
}

// A server that was away for long enough to forget where we were: one attempt to
// go on, one list.
func TestCompactionDuringAnOutage(t *testing.T) {
	tell(t, Config{}, []answer{
		synced("9", quiet(1, "15"), reset),
		{event("ERROR", expiredStatus)},
		{event("ADDED", pod("a", "800")), endOfInitial("900"), open},
	}, func(s *story) {
		s.pass(59 * time.Second)
		s.setDown(true)
		s.pass(10 * time.Minute)
		s.setDown(false)
		s.after(time.Minute, `
			11m9.8s WATCH rv=15
			11m9.8s WATCHLIST rv=15
			11m9.8s begin
			11m9.8s item a@800
			11m9.8s commit 900
			11m9.8s relisted: expired
		`)
	})
}
