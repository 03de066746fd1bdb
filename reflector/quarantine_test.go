package reflector

import (
	"errors"
	"fmt"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"
)

// spoilt is an object whose labels cannot be read.
func spoilt(name, resourceVersion string) string {
	return fmt.Sprintf(`{"metadata":{"name":%q,"namespace":"default","resourceVersion":%q,"labels":[]}}`, name, resourceVersion)
}

// What the sink refuses is told, holds nobody up, and is asked for again, less
// and less often, until it is taken. No list is made for it.
func TestRefusedObjectIsAskedForAgain(t *testing.T) {
	tell(t, Config{}, []answer{
		{event("ADDED", pod("a", "5")), event("ADDED", pod("bad", "6")), endOfInitial("9"),
			event("MODIFIED", pod("bad", "10")), event("ADDED", pod("b", "11")), quiet(1, "12")},
		{list("11", "", pod("bad", "10"))},
		{list("11", "", pod("bad", "10"))},
		{list("11", "", pod("bad", "10"))},
		{open},
	}, func(s *story) {
		s.after(3*time.Second, `
			0s WATCHLIST
			0s begin
			0s item a@5
			0s refused ADDED bad
			0s quarantined bad
			0s commit 9
			0s refused MODIFIED bad
			0s add b@11
			1s LIST of metadata.name=bad rv=11
			1s refused bad
			3s LIST of metadata.name=bad rv=11
			3s refused bad
		`)
		want := []Quarantined{{Key: types.NamespacedName{Namespace: "default", Name: "bad"}, ResourceVersion: "10",
			Since: s.began, Attempts: 2, Next: s.began.Add(7 * time.Second)}}
		got := s.r.Quarantine()
		if len(got) != 1 || !errors.Is(got[0].Err, errRefused) {
			s.t.Fatalf("in quarantine are %+v", got)
		}
		got[0].Err = nil
		if diff := cmp.Diff(want, got); diff != "" {
			s.t.Error(diff)
		}
		if got := s.r.Status(); got.Refused != 4 || got.Quarantined != 1 || got.ResourceVersion != "11" {
			s.t.Errorf("status is %+v", got)
		}
		s.relent()
		s.after(2*time.Minute, `
			7s LIST of metadata.name=bad rv=11
			7s found bad@10
			7s released bad
			1m0s bookmark 12
			1m0s WATCH rv=12
		`)
		if got := s.r.Status(); got.Quarantined != 0 || len(s.r.Quarantine()) != 0 {
			s.t.Errorf("status is %+v", got)
		}
	})
}

// Issue 76624 of kubernetes: an event that could not be read was skipped, and a
// deletion with it for ever. The stream goes on behind it, since its key is
// taken care of.
func TestUnreadableEventIsAskedFor(t *testing.T) {
	tell(t, Config{}, []answer{
		{event("ADDED", pod("a", "5")), event("ADDED", pod("b", "6")), endOfInitial("9"),
			event("DELETED", spoilt("a", "10")), event("MODIFIED", spoilt("b", "11")), quiet(1, "12")},
		{list("11", "")},
		{list("11", "", pod("b", "11"))},
		{open},
	}, func(s *story) {
		s.after(time.Minute, `
			0s WATCHLIST
			0s begin
			0s item a@5
			0s item b@6
			0s commit 9
			0s refused a
			0s quarantined a
			0s refused b
			0s quarantined b
			1s LIST of metadata.name=a rv=11
			1s gone a
			1s released a
			2s LIST of metadata.name=b rv=11
			2s found b@11
			2s released b
			1m0s bookmark 12
			1m0s WATCH rv=12
		`)
	})
}

// Where neither key nor resourceVersion can be read there is nothing to ask for
// but everything.
func TestUnreadableEventIsFollowedByAList(t *testing.T) {
	for name, object := range map[string]string{
		"without a key":              `{"kind":"Pod","metadata":{"name":7,"resourceVersion":"10"}}`,
		"without a resourceVersion":  `{"metadata":{"name":"a","labels":[]}}`,
		"with one of another server": `{"metadata":{"name":"a","resourceVersion":"3","labels":[]}}`,
	} {
		t.Run(name, func(t *testing.T) {
			tell(t, Config{}, []answer{
				{event("ADDED", pod("a", "5")), endOfInitial("9"), event("DELETED", object), event("ADDED", pod("b", "11")), quiet(1, "12")},
				{event("ADDED", pod("b", "11")), endOfInitial("13"), open},
			}, func(s *story) {
				s.t.Helper()
				s.pass(time.Second)
				if got := s.r.Status(); got.Refused != 1 || got.Quarantined != 0 {
					s.t.Errorf("status is %+v", got)
				}
				s.after(time.Minute, `
					10s WATCHLIST rv=11
					10s begin
					10s item b@11
					10s commit 13
					10s relisted: gap
				`)
			})
		})
	}
}

// Where each list is followed by another event that cannot be read, lists become
// fewer and fewer: in the end there is one for each watch that ends by itself.
func TestEventsThatStayUnreadableCostFewLists(t *testing.T) {
	var script []answer
	for i := range 20 {
		script = append(script, answer{event("ADDED", pod("a", "5")), endOfInitial(fmt.Sprint(9 + i)), event("MODIFIED", `{"metadata":7}`), open})
	}
	tell(t, Config{SilenceTimeout: time.Hour}, script, func(s *story) {
		s.pass(30 * time.Minute)
		s.mu.Lock()
		defer s.mu.Unlock()
		// After 10, 20, 40, 80, 160, 320 and 640 s.
		if got := len(s.urls); got != 8 {
			s.t.Errorf("%d requests in half an hour", got)
		}
	})
}

// An item that could not be read is there all the same. Where its key is known,
// the sink is told, or it would take it for deleted; where it is not, another
// list must say. A complete list that does not show a key any more releases it.
func TestUnreadableItemIsNotGone(t *testing.T) {
	bad := `{"metadata":{"name":"odd","namespace":"default","resourceVersion":"6","labels":[]}}`
	same := answer{list("9", "", bad)}
	tell(t, Config{}, []answer{
		{event("ADDED", pod("a", "5")), event("ADDED", bad), endOfInitial("9"), quiet(1, "10"), event("ERROR", expiredStatus)},
		same, same, same, same, same,
		{fail(422, noWatchList)},
		{list("20", "", pod("a", "5"), bad, `{"metadata":7}`, pod("c", "11"))},
		{pause(500 * time.Millisecond)},
		{list("30", "", pod("a", "5"), pod("c", "11"))},
	}, func(s *story) {
		s.after(2*time.Second, `
			0s WATCHLIST
			0s begin
			0s item a@5
			0s refused odd
			0s quarantined odd
			0s keep odd
			0s commit 9
			1s LIST of metadata.name=odd rv=9
			1s refused odd
		`)
		s.pass(57 * time.Second)
		s.after(2*time.Second, `
			1m0s bookmark 10
			1m0s WATCHLIST rv=10
			1m0s LIST rv=10
			1m0s begin
			1m0s item a@5
			1m0s refused odd
			1m0s keep odd
			1m0s refused
			1m0s item c@11
			1m0s commit 20
			1m0s relisted: expired
			1m0s WATCH rv=20
			1m0.5s failed 1, wait 800ms
		`)
		s.after(time.Second, `
			1m1.3s LIST rv=20
			1m1.3s begin
			1m1.3s item a@5
			1m1.3s item c@11
			1m1.3s commit 30
			1m1.3s released odd
			1m1.3s relisted: gap
			1m1.3s WATCH rv=30
		`)
	})
}

// A later event that is taken in releases its key; the answer that is on its way
// then is dropped, for it may be older.
func TestAnswerOlderThanAnEventIsDropped(t *testing.T) {
	late := answer{pause(2 * time.Second), list("10", "", pod("bad", "10"))}
	tell(t, Config{}, []answer{
		{endOfInitial("9"), event("ADDED", pod("bad", "10")), pause(2 * time.Second), event("MODIFIED", pod("bad", "12")), open},
		late,
	}, func(s *story) {
		s.pass(1500 * time.Millisecond)
		s.relent()
		s.after(10*time.Second, `
			2s update bad@12
			2s released bad
		`)
	})
	// The same, if nothing is left of the object.
	tell(t, Config{}, []answer{
		{endOfInitial("9"), event("ADDED", pod("bad", "10")), pause(2 * time.Second), event("MODIFIED", pod("bad", "12")), open},
		{pause(2 * time.Second), list("10", "")},
	}, func(s *story) {
		s.pass(1500 * time.Millisecond)
		s.relent()
		s.after(10*time.Second, `
			2s update bad@12
			2s released bad
		`)
	})
}

// A later event that is refused as well makes the answer on its way worthless
// too: it is asked for anew, at the resourceVersion that the stream has now.
func TestAnswerOlderThanARefusalIsDropped(t *testing.T) {
	tell(t, Config{}, []answer{
		{endOfInitial("9"), event("ADDED", pod("bad", "10")), pause(2 * time.Second), event("MODIFIED", pod("bad", "12")), open},
		{pause(2 * time.Second), list("10", "", pod("bad", "10"))},
		{list("12", "", pod("bad", "12"))},
	}, func(s *story) {
		s.pass(2500 * time.Millisecond)
		s.relent()
		s.after(10*time.Second, `
			4s LIST of metadata.name=bad rv=12
			4s found bad@12
			4s released bad
		`)
	})
}

// The stream does not wait for an answer, and a server that gives none costs
// its own key's time only.
func TestStreamGoesOnWhileAnObjectIsAskedFor(t *testing.T) {
	tell(t, Config{}, []answer{
		{endOfInitial("9"), event("ADDED", pod("bad", "10")), pause(30 * time.Second), event("ADDED", pod("b", "11")), quiet(2, "12"), open},
		{mute},
		{fail(429, status(429, "TooManyRequests", "", `{"retryAfterSeconds":20}`))},
		{list("12", "", pod("bad", "10"))},
	}, func(s *story) {
		s.pass(time.Second)
		s.relent()
		s.after(3*time.Minute, `
			30s add b@11
			1m30s bookmark 12
			1m33s LIST of metadata.name=bad rv=12
			1m53s LIST of metadata.name=bad rv=12
			1m53s found bad@10
			1m53s released bad
			2m30s bookmark 12
		`)
	})
}

// A server that does not answer such a question is asked for a list, once the
// watch ends; that list puts an end to it.
func TestListFollowsWhereOneObjectCannotBeAskedFor(t *testing.T) {
	for name, no := range map[string]act{
		"expired":   fail(410, expiredStatus),
		"not known": fail(400, status(400, "BadRequest", "field label not supported", "")),
		"too large": fail(504, tooLargeNow),
		"ignored":   list("10", "", pod("other", "7"), pod("bad", "10")),
	} {
		t.Run(name, func(t *testing.T) {
			no := answer{no}
			tell(t, Config{}, []answer{
				{endOfInitial("9"), event("ADDED", pod("bad", "10")), quiet(1, "12")},
				no, no, no, no, no,
				{event("ADDED", pod("bad", "10")), endOfInitial("13"), open},
			}, func(s *story) {
				s.pass(40 * time.Second)
				s.relent()
				s.after(30*time.Second, `
					1m0s bookmark 12
					1m0s WATCHLIST rv=12
					1m0s begin
					1m0s item bad@10
					1m0s released bad
					1m0s commit 13
					1m0s relisted: gap
				`)
			})
		})
	}
}

// What is asked, to the letter: the verb is list, the selectors are those of
// the watch, and the time is where the stream stands.
func TestRequestForOneObject(t *testing.T) {
	cfg := Config{LabelSelector: "app=x", FieldSelector: "status.phase!=Failed", ShardSelector: half}
	tell(t, cfg, []answer{
		oneOf(shardInfo, ""),
		{endOfInitial("9"), event("ADDED", pod("bad", "10")), open},
		{list("10", "")},
	}, func(s *story) {
		s.pass(5 * time.Second)
		want := url.Values{"labelSelector": {"app=x"}, "fieldSelector": {"status.phase!=Failed,metadata.name=bad"}, "shardSelector": {half},
			"resourceVersion": {"10"}, "resourceVersionMatch": {"Exact"}}
		if diff := cmp.Diff(want, s.urls[2]); diff != "" || s.paths[2] != "/api/v1/namespaces/default/pods" {
			s.t.Errorf("path %q, query (-want +got):\n%s", s.paths[2], diff)
		}
	})
}

// Somebody else's object is no answer.
func TestAnswerWithAnotherObjectIsNone(t *testing.T) {
	tell(t, Config{}, []answer{
		{endOfInitial("9"), event("ADDED", pod("bad", "10")), open},
		{list("10", "", pod("other", "7"), pod("bad", "10"))},
		{list("10", "")},
	}, func(s *story) {
		s.pass(2 * time.Second)
		if got := s.r.Quarantine(); len(got) != 1 || !errors.Is(got[0].Err, errStranger) {
			s.t.Errorf("in quarantine are %+v", got)
		}
		s.after(2*time.Second, `
			3s LIST of metadata.name=bad rv=10
			3s gone bad
			3s released bad
		`)
	})
}

// An answer that shows another moment than the one asked about, or a part of one,
// says nothing about the stream: an object may be missing there that is here, and
// one that is there may be older than what an event has brought. A server that
// does not know resourceVersionMatch gives such answers.
func TestAnswerOfAnotherMomentIsNone(t *testing.T) {
	for name, no := range map[string]act{
		"nothing, in the past":          list("8", ""),
		"nothing, in the future":        list("15", ""),
		"nothing, on the first page":    list("10", "c1"),
		"nothing, at no moment":         list("", ""),
		"the object, as it was":         list("8", "", pod("bad", "7")),
		"the object, as it will be":     list("15", "", pod("bad", "14")),
		"the object, before the moment": send(`{"kind":"PodList","items":[` + pod("bad", "7") + `],"metadata":{"resourceVersion":"8"}}`),
	} {
		t.Run(name, func(t *testing.T) {
			tell(t, Config{}, []answer{
				{event("ADDED", pod("bad", "5")), endOfInitial("9"), event("MODIFIED", pod("bad", "10")), quiet(1, "12")},
				{no}, {no}, {no}, {no}, {no},
				{event("ADDED", pod("bad", "10")), endOfInitial("13"), open},
			}, func(s *story) {
				s.pass(500 * time.Millisecond)
				s.relent()
				s.pass(30 * time.Second)
				if got := s.r.Quarantine(); len(got) != 1 || !errors.Is(got[0].Err, errElsewhen) {
					s.t.Errorf("in quarantine are %+v", got)
				}
				s.pass(29 * time.Second)
				s.after(time.Second, `
					1m0s bookmark 12
					1m0s WATCHLIST rv=12
					1m0s begin
					1m0s item bad@10
					1m0s released bad
					1m0s commit 13
					1m0s relisted: gap
				`)
			})
		})
	}
}

// The pace is one over all watches: where they are short, nothing is asked for
// more often.
func TestRefetchesKeepTheirPaceOverWatches(t *testing.T) {
	tell(t, Config{HealthyAfter: time.Millisecond}, []answer{
		synced("9", event("ADDED", spoilt("a", "10")), event("ADDED", spoilt("b", "11")), pause(1100*time.Millisecond)),
		{list("11", "")},
		{open},
		{list("11", "")},
	}, func(s *story) {
		s.pass(500 * time.Millisecond)
		s.after(2*time.Second, `
			1s LIST of metadata.name=a rv=11
			1s gone a
			1s released a
			1.1s WATCH rv=11
			2s LIST of metadata.name=b rv=11
			2s gone b
			2s released b
		`)
	})
}

// Nothing is asked for while there is no watch: an outage sees no more requests
// for it.
func TestNothingIsAskedForInAnOutage(t *testing.T) {
	tell(t, Config{}, []answer{{endOfInitial("9"), event("ADDED", pod("bad", "10")), pause(500 * time.Millisecond), reset}}, func(s *story) {
		s.pass(0)
		s.setDown(true)
		s.after(2*time.Second, `
			500ms failed 1, wait 800ms
			1.3s connection refused
			1.3s failed 2, wait 1.6s
		`)
	})
}

// However many are bad, they are asked for one at a time and one in a second,
// and there is a bound to how many are; the rest comes with a list.
func TestQuarantineIsBounded(t *testing.T) {
	many := answer{endOfInitial("9")}
	for i := range quarantineSize + 5 {
		many = append(many, event("ADDED", spoilt(fmt.Sprintf("bad-%04d", i), fmt.Sprint(i+10))))
	}
	script := []answer{append(many, pause(300*time.Millisecond), quiet(1, "3000"))}
	for i := range 60 {
		script = append(script, answer{list(fmt.Sprint(quarantineSize+14), "", spoilt(fmt.Sprintf("bad-%04d", i), "10"))})
	}
	tell(t, Config{}, append(script, synced("4000", open)), func(s *story) {
		s.pass(59500 * time.Millisecond)
		if got := s.r.Status(); got.Quarantined != quarantineSize || got.Refused != uint64(quarantineSize+5+59) {
			s.t.Errorf("status is %+v", got)
		}
		s.mu.Lock()
		if got := len(s.urls); got != 60 {
			s.t.Errorf("%d requests in a minute", got)
		}
		s.mu.Unlock()
		time.Sleep(time.Minute)
		synctest.Wait()
		s.mu.Lock()
		log := strings.Join(s.lines, "\n")
		s.mu.Unlock()
		if !strings.Contains(log, "relisted: gap") || strings.Count(log, "released") != quarantineSize {
			s.t.Errorf("the log is\n%.2000s", log)
		}
	})
}

// The pauses between two requests for one object.
func TestRefetchesBackOff(t *testing.T) {
	var q quarantine
	noon := time.Unix(0, 0)
	key := types.NamespacedName{Name: "a"}
	q.put(Refusal{Key: key}, noon)
	var pauses []time.Duration
	for range 11 {
		c, _ := q.first()
		pauses = append(pauses, c.Next.Sub(noon))
		q.failed(key, errRefused, false, 0, noon)
	}
	want := []time.Duration{}
	for _, seconds := range []int{1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300} {
		want = append(want, time.Duration(seconds)*time.Second)
	}
	if diff := cmp.Diff(want, pauses); diff != "" {
		t.Error(diff)
	}
	q.failed(key, errRefused, false, time.Hour, noon)
	if c, _ := q.first(); c.Next.Sub(noon) != time.Hour {
		t.Errorf("with a Retry-After of an hour: %v", c.Next.Sub(noon))
	}
	q.failed(types.NamespacedName{Name: "unknown"}, nil, false, 0, noon)
	if len(q.keys) != 1 {
		t.Error("what is not in quarantine was put there")
	}
}

// A key keeps its pace when it is refused again, or an object that changes every
// second would be asked for every second.
func TestAnotherRefusalKeepsThePace(t *testing.T) {
	var q quarantine
	noon := time.Unix(0, 0)
	f := Refusal{Key: types.NamespacedName{Name: "a"}, ResourceVersion: "1"}
	if fresh, ok := q.put(f, noon); !fresh || !ok {
		t.Fatal("not put")
	}
	was, _ := q.first()
	q.failed(f.Key, errRefused, true, 0, noon)
	f.ResourceVersion = "2"
	if fresh, ok := q.put(f, noon.Add(time.Minute)); fresh || !ok {
		t.Fatal("not kept")
	}
	c, _ := q.first()
	if c.Next != noon.Add(2*time.Second) || c.Since != noon || c.Attempts != 1 || c.ResourceVersion != "2" || q.still(was) || !q.still(c) {
		t.Errorf("got %+v", c)
	}
	if _, ok := q.put(Refusal{}, noon); ok {
		t.Error("no key, and in quarantine")
	}
}

// Something that stands between may answer with another object in the place of one:
// it has the name, and all that it says would be taken for the object's.
func TestObjectOfAnotherKindIsAskedForAgain(t *testing.T) {
	stranger := strings.Replace(pod("a", "10"), `"Pod"`, `"ConfigMap"`, 1)
	tell(t, Config{Kind: "Pod"}, []answer{
		{event("ADDED", pod("a", "5")), endOfInitial("9"), event("MODIFIED", stranger), quiet(1, "12")},
		{list("10", "", pod("a", "10"))},
		{open},
	}, func(s *story) {
		s.after(time.Minute, `
			0s WATCHLIST
			0s begin
			0s item a@5
			0s commit 9
			0s refused a
			0s quarantined a
			1s LIST of metadata.name=a rv=10
			1s found a@10
			1s released a
			1m0s bookmark 12
			1m0s WATCH rv=12
		`)
	})
}
