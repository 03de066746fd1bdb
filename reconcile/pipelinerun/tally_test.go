package pipelinerun

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"millrace/crds"
)

// Whatever children come, change and go, and whatever is written down of them, what is
// brought up to date is what would be found by a look at all.
func TestATallyKnowsWhatHasChangedSince(t *testing.T) {
	const seeds, rounds = 60, 120
	amended := 0
	for seed := range uint64(seeds) {
		random := rand.New(rand.NewPCG(seed, 3))
		graph, r := draw(&crds.PipelineSpec{Tasks: tasksOf(12, func(i int) int { return i - 1 })})
		if r != nil {
			t.Fatal(r)
		}
		var refs []crds.ChildStatusReference
		var children []*child
		var kept *tally
		for round := range rounds {
			for range random.IntN(3) {
				refs, children = mutate(random, refs, children)
			}
			before := kept
			kept = kept.upToDate(graph, refs, children)
			if before == kept {
				amended++
			}
			if diff := cmp.Diff(seen(tie(graph, refs, children)), seen(kept)); diff != "" {
				t.Fatalf("seed %d, round %d: by a look at all (-), by what has changed (+):\n%s", seed, round, diff)
			}
			kept.copied()
		}
	}
	if amended < seeds*rounds/2 {
		t.Errorf("only %d of %d were brought up to date", amended, seeds*rounds)
	}
}

// mutate changes something, as a cache or the status would: never in place.
func mutate(random *rand.Rand, refs []crds.ChildStatusReference, children []*child) ([]crds.ChildStatusReference, []*child) {
	children = slices.Clone(children)
	at := random.IntN(len(children) + 1)
	switch {
	case at == len(children) || random.IntN(5) == 0: // another
		c := &child{Name: fmt.Sprintf("run-%d", random.IntN(1000)), Kind: []string{crds.KindTaskRun, crds.KindCustomRun}[random.IntN(2)]}
		if !slices.ContainsFunc(children, func(o *child) bool { return o.called() == c.called() }) {
			children = slices.Insert(children, at, c)
		}
		if task := random.IntN(14); random.IntN(3) > 0 { // 12 and 13 are none of the pipeline
			if len(refs) == cap(refs) {
				refs = slices.Grow(refs, 100)
			}
			refs = append(refs, crds.ChildStatusReference{Kind: c.Kind, Name: c.Name, PipelineTaskName: fmt.Sprintf("task-%d", task)})
		}
	case random.IntN(6) == 0: // it goes
		children = slices.Delete(children, at, at+1)
	case random.IntN(4) == 0: // it is seen at another place, by another kind of look
		c := *children[at]
		children = append(slices.Delete(children, at, at+1), &c)
	default: // it ends, or not yet
		c := *children[at]
		c.Status, c.Version = []corev1.ConditionStatus{"Unknown", "True", "False"}[random.IntN(3)], fmt.Sprint(random.Int())
		children[at] = &c
	}
	return refs, children
}

// seen is what a plan sees of a tally.
func seen(t *tally) any {
	type oneTask struct {
		Name     string
		Recorded bool
		State    state
		Runs     []string
	}
	var tasks []oneTask
	for i := range t.tasks {
		one := oneTask{t.tasks[i].Name, t.tasks[i].recorded, t.tasks[i].state, nil}
		for _, r := range t.tasks[i].runs {
			one.Runs = append(one.Runs, fmt.Sprintf("%s %s %p %v", r.Kind, r.Name, r.child, r.told))
		}
		tasks = append(tasks, one)
	}
	ties := make([]string, len(t.ties))
	for i, c := range t.ties {
		ties[i] = fmt.Sprintf("%p", c)
	}
	return map[string]any{"tasks": tasks, "ties": ties, "refOf": t.refOf}
}
