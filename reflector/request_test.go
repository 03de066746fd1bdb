package reflector

import (
	"net/url"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// What is asked, to the letter.
func TestRequests(t *testing.T) {
	cfg := Config{Namespace: "ci", LabelSelector: "app=x,tier in (a,b)", FieldSelector: "status.phase!=Failed", PageSize: 2}
	tell(t, cfg, []answer{
		{fail(422, noWatchList)},
		{list("10", "c1", pod("a", "3"), pod("b", "4"))},
		{list("10", "", pod("c", "5"))},
		{quiet(1, "11"), event("ERROR", expiredStatus)},
		{list("20", "c2", pod("a", "3"))},
		{list("20", "")},
	}, func(s *story) {
		s.pass(time.Minute)
		with := func(pairs ...string) url.Values {
			q := url.Values{"labelSelector": {cfg.LabelSelector}, "fieldSelector": {cfg.FieldSelector}}
			for i := 0; i < len(pairs); i += 2 {
				q.Set(pairs[i], pairs[i+1])
			}
			return q
		}
		want := []url.Values{
			with("watch", "true", "sendInitialEvents", "true", "resourceVersionMatch", "NotOlderThan", "allowWatchBookmarks", "true", "timeoutSeconds", "300"),
			with("limit", "2"),
			with("limit", "2", "continue", "c1"),
			with("watch", "true", "resourceVersion", "10", "allowWatchBookmarks", "true", "timeoutSeconds", "300"),
			with("limit", "2", "resourceVersion", "11", "resourceVersionMatch", "NotOlderThan"),
			with("limit", "2", "continue", "c2"), // beside its own resourceVersion another one would be an error
			with("watch", "true", "resourceVersion", "20", "allowWatchBookmarks", "true", "timeoutSeconds", "300"),
		}
		if diff := cmp.Diff(want, s.urls); diff != "" {
			s.t.Errorf("queries (-want +got):\n%s", diff)
		}
		for i := range s.paths {
			if s.paths[i] != "/api/v1/namespaces/ci/pods" || s.accept[i] != "application/json" {
				s.t.Errorf("request %d: path %q, Accept %q", i, s.paths[i], s.accept[i])
			}
		}
	})
}

// A relist by watch-list names the floor; without a namespace the path has
// none.
func TestRequestsOfARelistedWatchList(t *testing.T) {
	tell(t, Config{}, []answer{
		synced("9", quiet(1, "15"), event("ERROR", expiredStatus)),
		synced("20", open),
	}, func(s *story) {
		s.pass(time.Minute)
		want := url.Values{"watch": {"true"}, "sendInitialEvents": {"true"}, "resourceVersion": {"15"}, "resourceVersionMatch": {"NotOlderThan"},
			"allowWatchBookmarks": {"true"}, "timeoutSeconds": {"300"}}
		if diff := cmp.Diff(want, s.urls[1]); diff != "" || s.paths[1] != "/api/v1/pods" {
			s.t.Errorf("path %q, query (-want +got):\n%s", s.paths[1], diff)
		}
	})
}

// The timeouts of watches are spread over as long again as the shortest.
func TestWatchTimeoutsAreSpread(t *testing.T) {
	hasty := make([]answer, 200)
	for i := range hasty {
		hasty[i] = answer{headers}
	}
	hasty[0] = synced("9")
	tell(t, Config{Rand: newRand(1), WatchTimeout: 10 * time.Minute, HealthyAfter: time.Nanosecond, Backoff: Backoff{Base: time.Second, Max: 2 * time.Second}}, hasty, func(s *story) {
		s.pass(10 * time.Minute)
		low, high := 1<<30, 0
		for _, q := range s.urls[:len(hasty)] {
			seconds, err := strconv.Atoi(q.Get("timeoutSeconds"))
			if err != nil {
				s.t.Fatal(err)
			}
			low, high = min(low, seconds), max(high, seconds)
		}
		if low < 600 || low > 630 || high < 1170 || high >= 1200 {
			s.t.Errorf("%d watches ask for %d to %d seconds", len(s.urls), low, high)
		}
	})
}

// The pages of a list and the watch after it share a connection: each answer is
// read to its end.
func TestPagesShareAConnection(t *testing.T) {
	tell(t, Config{PagedListOnly: true}, []answer{
		{list("10", "c1", pod("a", "3"))}, {list("10", "c2", pod("b", "3"))}, {list("10", "")},
	}, func(s *story) {
		s.pass(time.Second)
		if s.dials != 1 || len(s.urls) != 4 {
			s.t.Errorf("%d requests over %d connections", len(s.urls), s.dials)
		}
	})
}

// A whole list has no limit, not even a negative one.
func TestNegativePageSizeAsksForTheWhole(t *testing.T) {
	tell(t, Config{PagedListOnly: true, PageSize: -1}, []answer{
		{list("10", "c1", pod("a", "3"))}, // a server may page all the same
		{list("10", "")},
	}, func(s *story) {
		s.pass(time.Second)
		want := []url.Values{{}, {"continue": {"c1"}}}
		if diff := cmp.Diff(want, s.urls[:2]); diff != "" {
			s.t.Error(diff)
		}
	})
}

// A resource that cannot be asked for ends Run: no server can mend it.
func TestImpossibleResourceEndsRun(t *testing.T) {
	s := &story{t: t}
	err := New(s.client(), "pods/status", s, Config{}).Run(t.Context())
	if err == nil {
		t.Fatal("Run returned no error")
	}
}
