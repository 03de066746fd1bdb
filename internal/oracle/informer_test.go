package oracle

import (
	"fmt"
	"maps"
	"math/rand"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

const (
	orderlySeeds = 300
	wildSeeds    = 100
)

// record is what stories were good for.
type record struct {
	used    map[exception]int
	answers map[string]map[string]int // by side
	failed  bool
}

func newRecord() *record {
	return &record{used: map[exception]int{}, answers: map[string]map[string]int{"client-go": {}, "ours": {}}}
}

func (r *record) take(b *bench) {
	add(r.used, b.used)
	add(r.used, b.theirs.used)
	add(r.answers["client-go"], b.theirs.answers)
	add(r.answers["ours"], b.ours.answers)
}

func add[K comparable](sum, counts map[K]int) {
	for k, n := range counts {
		sum[k] += n
	}
}

// tellStory plays a script to both sides, and returns what is not equal when
// all has settled, or "".
func tellStory(t *testing.T, s script, compare func(*bench) string, r *record) (wrong string) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		t.Helper()
		rand.Seed(1) //nolint:staticcheck // client-go's jitter comes from the global source.
		b := sit(t, s.server, 0)
		for i, each := range s.steps {
			b.play(each)
			if each.do != settle {
				continue
			}
			synctest.Wait()
			if wrong = compare(b); wrong != "" {
				wrong = fmt.Sprintf("after step %d:\n%s", i+1, wrong)
				break
			}
		}
		b.stop()
		synctest.Wait()
		r.take(b)
	})
	return wrong
}

// caches compares what both hold, and with what the server has.
func (b *bench) caches() string {
	ours, theirs := b.ours.held(), b.theirs.held()
	wrong := diff("the caches", theirs, ours)
	if n := len(b.ours.objects); len(ours.Objects) != n {
		wrong += fmt.Sprintf("the server has %d objects, we hold %d\n", n, len(ours.Objects))
	}
	return wrong
}

func diff(what string, theirs, ours any) string {
	if d := cmp.Diff(theirs, ours); d != "" {
		return what + " (-client-go +ours):\n" + d
	}
	return ""
}

// everything compares the caches, and what was heard since it last did.
func (b *bench) everything() string { return b.caches() + b.events() }

func (b *bench) events() (wrong string) {
	ours, again := b.ours.heard()
	theirs, theirAgain := b.theirs.heard()
	if len(again) > 0 {
		wrong += fmt.Sprintf("we told %v again, as they were\n", again)
	}
	if len(theirAgain) > 0 {
		b.used[relistIsSilent]++
	}
	for _, key := range keys(ours, theirs) {
		o, th := ours[key], theirs[key]
		if o.same(th) {
			continue
		}
		x, excused := excuse(o, th, struct{ ours, theirs bool }{b.ours.toldOf(key), b.theirs.toldOf(key)})
		if !excused {
			wrong += fmt.Sprintf("the last event about %s: client-go's is %v, ours %v\n", key, th, o)
			continue
		}
		b.used[x]++
	}
	return wrong
}

// same leaves out how many it stands for.
func (t told) same(o told) bool {
	t.Merged, o.Merged = false, false
	return t == o
}

// likeTheCache says whether the last event about each key was about what the
// cache has now.
func (s *side) likeTheCache() (wrong string) {
	h := s.held()
	last, _ := s.heard()
	for _, key := range keys(last) {
		meta, there := h.Objects[key]["metadata"].(map[string]any)
		switch t := last[key]; {
		case !there && t.What != "deleted",
			there && (t.What == "deleted" || meta["resourceVersion"] != t.Version || meta["uid"] != string(t.UID)):
			wrong += fmt.Sprintf("the last event about %s was %v, and the cache has %v\n", key, t, meta)
		}
	}
	for _, key := range keys(h.Objects) {
		if _, said := last[key]; !said {
			wrong += fmt.Sprintf("nothing was said of %s\n", key)
		}
	}
	return wrong
}

// shorten leaves out steps for as long as the rest still fails.
func shorten(s script, fails func(script) bool) script {
	for i := range slices.Backward(s.steps) {
		if slices.Contains([]verb{settle, up, release}, s.steps[i].do) {
			continue
		}
		less := s
		less.steps = append(append([]step{}, s.steps[:i]...), s.steps[i+1:]...)
		if fails(less) {
			s = less
		}
	}
	return s
}

// ask tells a story, and if it goes wrong makes it as short as can be, unless
// others of the record did before: one is enough to begin with.
func ask(t *testing.T, s script, compare func(*bench) string, r *record) {
	t.Helper()
	wrong := tellStory(t, s, compare, r)
	if wrong == "" {
		return
	}
	if !r.failed {
		s = shorten(s, func(s script) bool { return tellStory(t, s, compare, newRecord()) != "" })
		wrong = tellStory(t, s, compare, newRecord())
	}
	r.failed = true
	t.Errorf("%s\nThe story:\n%v", wrong, s)
}

func TestAnyStoryLeavesTheSameCache(t *testing.T) {
	r := newRecord()
	for seed := range uint64(orderlySeeds) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			ask(t, orderly(seed), (*bench).everything, r)
		})
	}
	r.wentEverywhere(t)
}

// wentEverywhere fails if the stories of all seeds together did not meet one of
// the answers that a server can give.
func (r *record) wentEverywhere(t *testing.T) {
	t.Helper()
	for side, answers := range r.answers {
		for _, want := range []string{
			"a page", "410 on a page", "a watch-list", "no watch-list", "410 on a watch",
			"refused", "reset", "429", "500", "503", string(end), string(tear), string(expire), string(down),
		} {
			if answers[want] == 0 {
				t.Errorf("%s was never answered with: %s", side, want)
			}
		}
	}
}

func TestAServerThatNeverSettlesLeavesTheSameCacheInTheEnd(t *testing.T) {
	r := newRecord()
	for seed := range uint64(wildSeeds) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			ask(t, wild(seed), (*bench).cachesAndTheirOwnEvents, r)
		})
	}
	r.wentEverywhere(t)
}

// cachesAndTheirOwnEvents compares the caches, and each with what it said.
func (b *bench) cachesAndTheirOwnEvents() string {
	return b.caches() + prefix("client-go: ", b.theirs.likeTheCache()) + prefix("ours: ", b.ours.likeTheCache())
}

func prefix(with, text string) string {
	if text == "" {
		return ""
	}
	return with + text
}

func TestAResyncShowsEveryObjectOnBothSides(t *testing.T) {
	const period = 10 * time.Minute
	synctest.Test(t, func(t *testing.T) {
		b := sit(t, kind{WatchList: true, Bookmarks: true}, period)
		defer b.stop()
		for _, each := range orderly(1).steps {
			b.play(each)
		}
		b.ours.heard()
		b.theirs.heard()
		time.Sleep(period)
		synctest.Wait()
		_, ours := b.ours.heard()
		_, theirs := b.theirs.heard()
		if len(ours) == 0 || !maps.Equal(ours, theirs) {
			t.Errorf("in one period client-go showed again %v, we %v", theirs, ours)
		}
	})
}

// An exception that no story needs would hide a bug, some day.
func TestEveryExceptionIsNeeded(t *testing.T) {
	for x, story := range map[exception]string{
		relistIsSilent:     "put a/x, settle, down 503, compact, up, settle",
		newLifeIsNoUpdate:  "put a/x, settle, down 503, recreate a/x, compact, up, settle",
		ownMoments:         "put a/x, settle, down 503, remove a/x, up, settle",
		mergedWhileWaiting: "put a/x, settle, hold, put a/y, recreate a/x, remove a/x, release, settle",
	} {
		t.Run(string(x), func(t *testing.T) {
			r := newRecord()
			ask(t, read(story), (*bench).everything, r)
			if r.used[x] == 0 {
				t.Errorf("%s is equal without it", story)
			}
		})
	}
}
