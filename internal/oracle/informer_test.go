package oracle

import (
	"fmt"
	"maps"
	"math/rand"
	"reflect"
	"slices"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
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
		b := sit(t, s, 0)
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

// caches compares what both hold, and ours with what the server has.
func (b *bench) caches() string {
	ours, theirs := b.ours.held(), b.theirs.held()
	return b.ours.likeTheServer(ours) + b.forgetKinds(ours) + b.forgetUntaken(ours, theirs) + diff("the caches", theirs, ours)
}

// likeTheServer compares what a side holds with what its server has.
func (s *side) likeTheServer(h held) (wrong string) {
	s.server.mu.Lock()
	defer s.server.mu.Unlock()
	for _, key := range keys(s.objects) {
		has, uid, version := s.objects[key], "", ""
		if meta, ok := h.Objects[key]["metadata"].(map[string]any); ok {
			uid, version = meta["uid"].(string), meta["resourceVersion"].(string)
		}
		if uid != string(has.uid) || version != strconv.Itoa(has.version) {
			wrong += fmt.Sprintf("the server has %s as %s@%d, we have %s@%s\n", key, has.uid, has.version, uid, version)
		}
	}
	if len(h.Objects) != len(s.objects) {
		wrong += fmt.Sprintf("the server has %d objects, we have %d\n", len(s.objects), len(h.Objects))
	}
	return wrong
}

// forgetKinds takes away what client-go does not say of objects that have a type.
func (b *bench) forgetKinds(ours held) (wrong string) {
	r := b.ours.Resource
	if !r.typed {
		return ""
	}
	for key, fields := range ours.Objects {
		if fields["kind"] != r.kind || fields["apiVersion"] != r.apiVersion() {
			wrong += fmt.Sprintf("%s is a %v of %v\n", key, fields["kind"], fields["apiVersion"])
		}
		delete(fields, "kind")
		delete(fields, "apiVersion")
		b.used[knowsWhatItIs]++
	}
	return wrong
}

// forgetUntaken takes away the objects whose newest state could not be taken in,
// once, where client-go has made something else of it.
func (b *bench) forgetUntaken(ours, theirs held) string {
	for key := range b.ours.untaken {
		if b.ours.untakenOf(key) != "" && diff("", theirs.Objects[key], ours.Objects[key]) != "" {
			b.used[askedForAgain]++
			ours.forget(key)
			theirs.forget(key)
		}
	}
	return ""
}

func diff(what string, theirs, ours any) string {
	if reflect.DeepEqual(theirs, ours) { // cmp takes its time
		return ""
	}
	return what + " (-client-go +ours):\n" + cmp.Diff(theirs, ours)
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
		x, excused := excuse(o, th, known{b.ours.toldOf(key), b.theirs.toldOf(key), b.ours.untakenOf(key)})
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
// the answers that a server can give, or if ours has not done what only it does.
func (r *record) wentEverywhere(t *testing.T) {
	t.Helper()
	if !enough {
		return
	}
	for _, want := range []string{
		"a page", "410 on a page", "a watch-list", "no watch-list", "410 on a watch",
		"no end of a watch-list", "spoilt", "refused by the transform",
		"refused", "reset", "429", "500", "503", string(end), string(tear), string(expire), string(down),
	} {
		for side, answers := range r.answers {
			if answers[want] == 0 {
				t.Errorf("%s was never answered with: %s", side, want)
			}
		}
	}
	for _, want := range []string{"a list of one", "packed", "unpacked"} {
		if r.answers["ours"][want] == 0 {
			t.Errorf("ours has never come by: %s", want)
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

func TestRecordedTrafficLeavesTheSameCache(t *testing.T) {
	for _, of := range []resource{recordedPods(t), recordedPodsInJSON(t), recordedRuns(t)} {
		t.Run(of.name, func(t *testing.T) {
			r := newRecord()
			for seed := range uint64(tapedSeeds) {
				ask(t, taped(seed, of), (*bench).everything, r)
			}
			if enough && r.answers["ours"]["packed"]*r.answers["ours"]["unpacked"] == 0 {
				t.Errorf("nothing was packed, or nothing unpacked: %v", r.answers["ours"])
			}
		})
	}
}

func TestAResyncShowsEveryObjectOnBothSides(t *testing.T) {
	const period = 10 * time.Minute
	synctest.Test(t, func(t *testing.T) {
		b := sit(t, script{server: capable(anything())}, period)
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
	for _, each := range []struct {
		needs exception
		of    resource
		story string
	}{
		{relistIsSilent, anything(), "put a/x, settle, down 503, compact, up, settle"},
		{newLifeIsNoUpdate, anything(), "put a/x, settle, down 503, recreate a/x, compact, up, settle"},
		{ownMoments, anything(), "put a/x, settle, down 503, remove a/x, up, settle"},
		{mergedWhileWaiting, anything(), "put a/x, settle, hold, put a/y, recreate a/x, remove a/x, release, settle"},
		{askedForAgain, anything(), "put a/x, settle, refuse a/x, settle"},
		{askedForAgain, pods(), "put a/x, settle, refuse a/y, settle"},
		{askedForAgain, anything(), "put a/x, settle, spoil a/x, settle"},
		{knowsWhatItIs, pods(), "put a/x, settle"},
		{knowsWhatItIs, podsInJSON(), "put a/x, settle"},
	} {
		t.Run(string(each.needs), func(t *testing.T) {
			r := newRecord()
			ask(t, read(each.of, each.story), (*bench).everything, r)
			if r.used[each.needs] == 0 {
				t.Errorf("%s is equal without it", each.story)
			}
		})
	}
}
