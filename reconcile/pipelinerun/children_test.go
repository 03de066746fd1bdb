package pipelinerun

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"millrace/crds"
	"millrace/fifo"
	"millrace/indexer"
	"millrace/wire"
)

// states of a child, as the server spells them.
func states() map[string]string {
	return map[string]string{
		"made":      `"spec":{}`,
		"running":   `"spec":{},"status":{"startTime":"2026-01-02T03:04:05Z","conditions":[{"type":"Succeeded","status":"Unknown","reason":"Running"}]}`,
		"done":      `"spec":{},"status":{"startTime":"2026-01-02T03:04:05Z","conditions":[{"type":"Other","status":"False"},{"type":"Succeeded","status":"True","reason":"Succeeded"}]}`,
		"failed":    `"status":{"conditions":[{"type":"Succeeded","status":"False","reason":"StepFailed"}],"retriesStatus":[{}]}`,
		"cancelled": `"spec":{"status":"TaskRunCancelled","statusMessage":"TaskRun cancelled as somebody said so."}`,
		"late":      `"spec":{"status":"TaskRunCancelled","statusMessage":"TaskRun cancelled ` + timedOutSuffix + `"}`,
		"custom":    `"spec":{"status":"RunCancelled","statusMessage":"CustomRun cancelled ` + timedOutSuffix + `"}`,
		"ending":    `"spec":{"status":"CancelledRunFinally"}`,
		"ended":     `"spec":{"status":"Cancelled"},"status":{"conditions":[{"type":"Succeeded","status":"False","reason":"Cancelled"}]}`,
		"wordy":     `"spec":{"statusMessage":"` + strings.Repeat("why ", 400) + `"},"status":{"conditions":[{"type":"Succeeded","status":"True","reason":"Succeeded"}]}`,
	}
}

func childObject(t *testing.T, facets Facets, state, more string) *wire.Object {
	t.Helper()
	raw := fmt.Sprintf(`{"metadata":{"namespace":"n","name":"c","uid":"u-c","resourceVersion":"1","labels":{"tekton.dev/pipelineTask":"build"}%s,
		"ownerReferences":[{"apiVersion":"tekton.dev/v1","kind":"PipelineRun","name":"run","uid":"u-run","controller":true}]},%s}`, more, state)
	o, err := wire.NewScanner(facets.List()...).Scan(wire.JSON, []byte(raw))
	if err != nil {
		t.Fatal(err)
	}
	return o.Own()
}

// What the cache tells of a child without decoding it is what decoding would tell,
// whatever state the child is in; where it cannot tell, the child is decoded.
func TestASummaryIsWhatDecodingTells(t *testing.T) {
	for name, state := range states() {
		for _, more := range []string{"", `,"deletionTimestamp":"2026-01-02T03:04:05Z"`, `,"annotations":{"` + annotationMessage + `":"PipelineRun cancelled ` + timedOutSuffix + `"}`} {
			for kind, facets := range map[string]Facets{crds.KindTaskRun: TaskRunFacets(), crds.KindCustomRun: CustomRunFacets(), crds.KindPipelineRun: InnerFacets()} {
				o := childObject(t, facets, state, more)
				cache := indexer.New("children")
				of, want := TaskRunsOf, func() child { return ofTaskRun(decodeTo[crds.TaskRun](t, o)) }
				switch kind {
				case crds.KindCustomRun:
					of, want = CustomRunsOf, func() child { return ofCustomRun(decodeTo[crds.CustomRun](t, o)) }
				case crds.KindPipelineRun:
					of, want = PipelineRunsOf, func() child { return ofPipelineRun(decodeTo[crds.PipelineRun](t, o)) }
				}
				children := of(cache, facets)
				cache.Apply(fifo.Entry{Key: o.Key(), Deltas: []fifo.Delta{{Type: fifo.Added, Object: o, UID: o.UID()}}})
				seen, err := children.of("u-run", sight{})
				got := seen.children
				if err != nil || len(got) != 1 {
					t.Fatalf("%s: %+v %v", name, got, err)
				}
				wanted := want()
				if wanted.Status == "Unknown" && got[0].Status == "" {
					wanted.Status = "" // two words for the same: it has no condition
				}
				if diff := cmp.Diff(wanted, *got[0]); diff != "" {
					t.Errorf("%s %s: decoded (-), at a glance (+):\n%s", kind, name, diff)
				}
			}
		}
	}
}

func decodeTo[T any](t *testing.T, o *wire.Object) *T {
	t.Helper()
	into := new(T)
	if err := json.Unmarshal(o.Bytes(), into); err != nil {
		t.Fatal(err)
	}
	return into
}

// Another owner's runs are not a PipelineRun's children, nor is one that has it as an
// owner that does not control it.
func TestChildrenAreThoseThatItControls(t *testing.T) {
	cache := indexer.New("children")
	children := TaskRunsOf(cache, TaskRunFacets())
	for name, owner := range map[string]string{
		"mine":     `{"kind":"PipelineRun","name":"run","uid":"u-run","controller":true}`,
		"beside":   `{"kind":"PipelineRun","name":"run","uid":"u-run"}`,
		"theirs":   `{"kind":"PipelineRun","name":"run","uid":"u-before","controller":true}`,
		"stranger": `{"kind":"CronJob","name":"run","uid":"u-run","controller":true}`,
	} {
		o := must(wire.NewScanner(TaskRunFacets().List()...).Scan(wire.JSON, fmt.Appendf(nil, `{"metadata":{"namespace":"n","name":%q,"uid":%q,"ownerReferences":[%s]}}`, name, name, owner))).Own()
		cache.Apply(fifo.Entry{Key: o.Key(), Deltas: []fifo.Delta{{Type: fifo.Added, Object: o, UID: o.UID()}}})
	}
	got := must(children.of("u-run", sight{})).children
	if len(got) != 1 || got[0].Name != "mine" {
		t.Errorf("%+v", got)
	}
}

// A PipelineRun is woken when a child ends, is to go or is gone, and not by what the
// child does meanwhile.
func TestNewsOfAChildIsItsEnd(t *testing.T) {
	taskRun, custom := TaskRunFacets(), CustomRunFacets()
	object := func(f Facets, state string) *wire.Object {
		if state == "" {
			return nil
		}
		if state == "deleting" {
			return childObject(t, f, states()["running"], `,"deletionTimestamp":"2026-01-02T03:04:05Z"`)
		}
		return childObject(t, f, states()[state], "")
	}
	for _, c := range []struct {
		facets   Facets
		from, to string
		news     bool
	}{
		{taskRun, "", "made", false},
		{taskRun, "", "done", true}, // made and done between two looks
		{taskRun, "made", "running", false},
		{taskRun, "running", "running", false},
		{taskRun, "running", "cancelled", false},
		{taskRun, "running", "done", true},
		{taskRun, "running", "failed", true},
		{taskRun, "done", "done", false},
		{taskRun, "running", "deleting", true},
		{taskRun, "running", "", true},
		{custom, "made", "running", true}, // its time begins, and nobody else keeps it
		{custom, "running", "running", false},
		{custom, "running", "done", true},
	} {
		change := indexer.Change{Old: object(c.facets, c.from), New: object(c.facets, c.to)}
		if got := c.facets.IsNews(change); got != c.news {
			t.Errorf("from %q to %q is news: %t", c.from, c.to, got)
		}
	}
}

// A hundred children of one task share what is kept of their facets: nothing in them is
// a child's own. (A CustomRun's start is; there are few of those.)
func TestFacetsOfTaskRunsAreFew(t *testing.T) {
	for _, facet := range TaskRunFacets().List() {
		if strings.Contains(facet.String(), "Time") && !strings.Contains(facet.String(), "deletion") {
			t.Errorf("%s is another for each TaskRun", facet)
		}
	}
}
