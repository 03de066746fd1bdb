package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"millrace/crds"
	"millrace/fifo"
	"millrace/indexer"
	"millrace/reconcile/pipelinerun"
	"millrace/wire"
)

// firstList is a FIFO with all of a list of runs.
func firstList(t *testing.T, store *indexer.Indexer, facet wire.Facet, list string) *fifo.FIFO {
	t.Helper()
	waits := fifo.New(store, fifo.Config{})
	waits.Begin()
	_, err := wire.NewScanner(facet).List(wire.JSON, strings.NewReader(list), func(o *wire.Object, err error) error {
		return errors.Join(err, waits.Item(o))
	})
	if err != nil {
		t.Fatal(err)
	}
	waits.Commit("9")
	return waits
}

// takeIn has the store take everything in, and the handlers hear of it.
func takeIn(t *testing.T, store *indexer.Indexer, waits *fifo.FIFO, handlers ...func(indexer.Change)) {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	done := make(chan error, 1)
	go func() { done <- store.Run(ctx, waits, handlers...) }()
	<-store.Synced()
	if stop(); <-done != nil {
		t.Fatal("the cache has failed")
	}
}

// Pods stay plain while their run is at work, whatever else they own or are
// owned by; a run whose condition says True or False has ended.
func TestAtWorkIsWhatHasNotEnded(t *testing.T) {
	succeeded := wire.NewFacet("status.conditions[type=Succeeded].status")
	taskRuns := indexer.New("taskruns")
	working := newAtWork(taskRuns, succeeded)
	list := `{"kind":"TaskRunList","apiVersion":"tekton.dev/v1","metadata":{"resourceVersion":"9"},"items":[
		{"metadata":{"namespace":"ci","name":"new","uid":"new","resourceVersion":"1"}},
		{"metadata":{"namespace":"ci","name":"running","uid":"running","resourceVersion":"2"},"status":{"conditions":[{"type":"Succeeded","status":"Unknown"}]}},
		{"metadata":{"namespace":"ci","name":"good","uid":"good","resourceVersion":"3"},"status":{"conditions":[{"type":"Succeeded","status":"True"}]}},
		{"metadata":{"namespace":"ci","name":"bad","uid":"bad","resourceVersion":"4"},"status":{"conditions":[{"type":"Other","status":"Unknown"},{"type":"Succeeded","status":"False"}]}}]}`
	waits := firstList(t, taskRuns, succeeded, list)
	// What a run owns that is still to come is packed until then.
	stranger, err := wire.Scan(wire.JSON, []byte(`{"metadata":{"namespace":"ci","name":"p","ownerReferences":[{"name":"unheard","uid":"unheard"}]}}`))
	if err != nil || working.owner(stranger) {
		t.Errorf("while runs are being listed, somebody is at work for the pod of one that is not known; %v", err)
	}
	takeIn(t, taskRuns, waits)
	if n := working.count(); n != 2 {
		t.Errorf("%d runs are at work, want 2", n)
	}
	for owners, live := range map[string]bool{
		``:                                   false,
		`{"name":"new","uid":"new"}`:         true,
		`{"name":"running","uid":"running"}`: true,
		`{"name":"running","uid":"before"}`:  false,
		`{"name":"good","uid":"good"}`:       false,
		`{"name":"bad","uid":"bad"}`:         false,
		`{"name":"unheard","uid":"unheard"}`: false,
		`{"name":"good","uid":"good"},{"name":"running","uid":"running"}`: true,
	} {
		pod, err := wire.Scan(wire.JSON, []byte(`{"metadata":{"namespace":"ci","name":"p","ownerReferences":[`+owners+`]}}`))
		if err != nil {
			t.Fatal(err)
		}
		if got := working.owner(pod); got != live {
			t.Errorf("somebody is at work for the pod of [%s]: %t, want %t", owners, got, live)
		}
	}
}

// Whoever cancels a run may say why at any length, and name it as he likes: a run that has
// ended with more of that than is kept of an object has ended all the same. Else it would
// be at work for good, as the metrics count it, stay plain in the cache, and go before
// those that wait, after each restart.
func TestARunWithMuchToSayHasEndedAllTheSame(t *testing.T) {
	const run = `{"metadata":{"namespace":"ci","name":"%[1]s","uid":"%[1]s","resourceVersion":"1",
			"annotations":{"millrace.dev/status-message":"%[3]s"},"labels":{"tekton.dev/pipelineTask":"%[3]s"}},
		"spec":{"status":"Cancelled","statusMessage":"%[3]s"},
		"status":{"conditions":[{"type":"Succeeded","status":"%[2]s","reason":"%[3]s"}]}}`
	for what, facets := range map[string]pipelinerun.Facets{"TaskRuns": pipelinerun.TaskRunFacets(), "PipelineRuns": pipelinerun.InnerFacets()} {
		store := indexer.New(what)
		w := newAtWork(store, wire.NewFacet("status.conditions[type=Succeeded].status"))
		for name, status := range map[string]string{"good": "True", "bad": "False", "goes-on": "Unknown"} {
			o, err := wire.NewScanner(facets.List()...).Scan(wire.JSON, fmt.Appendf(nil, run, name, status, strings.Repeat("x", 2048)))
			if err != nil {
				t.Fatal(err)
			}
			if ended := status != "Unknown"; w.run(o) == ended {
				t.Errorf("%s: %s is at work: %t", what, name, ended)
			}
			keep(store, o)
		}
		if n := w.count(); n != 1 {
			t.Errorf("%d %s are at work, want 1", n, what)
		}
	}
}

// A PipelineRun that has ended is woken by a run that was made for it and comes only now,
// and by its own end, if one has come that this did not see; by nothing else that is new.
func TestWhoComesAfterTheEndIsNews(t *testing.T) {
	facets := pipelinerun.TaskRunFacets()
	scan := func(name, madeBy, succeeded string) *wire.Object { return runOf(t, facets, name, succeeded, madeBy) }
	pipelineRuns, taskRuns := indexer.New(crds.ResourcePipelineRuns), indexer.New(crds.ResourceTaskRuns)
	s := &share{running: newAtWork(pipelineRuns, wire.NewFacet("status.conditions[type=Succeeded].status"))}
	s.pipelineRunWorkers = pipelinerun.New(pipelinerun.Config{}, pipelinerun.Parts{Caches: pipelinerun.Caches{
		Children: []pipelinerun.Children{pipelinerun.TaskRunsOf(taskRuns, facets)},
	}})
	for name, status := range map[string]string{"ended": "False", "goes-on": "Unknown"} {
		keep(pipelineRuns, scan(name, "", status))
		keep(taskRuns, scan("goes-on-of-"+name, name, "Unknown"))
	}
	for _, name := range []string{"alone", "with-what-ended"} {
		keep(pipelineRuns, scan(name, "", "True"))
	}
	keep(taskRuns, scan("ended-of-it", "with-what-ended", "True"))

	for name, c := range map[string]struct {
		change indexer.Change
		late   bool
	}{
		"made for one that has ended":    {indexer.Change{New: scan("a", "ended", "Unknown")}, true},
		"and has ended itself":           {indexer.Change{New: scan("a", "ended", "True")}, false},
		"and is known":                   {indexer.Change{Old: scan("a", "ended", ""), New: scan("a", "ended", "Unknown")}, false},
		"and is gone":                    {indexer.Change{Old: scan("a", "ended", "")}, false},
		"made for one that goes on":      {indexer.Change{New: scan("a", "goes-on", "Unknown")}, false},
		"made for one that is not known": {indexer.Change{New: scan("a", "unheard", "Unknown")}, false},
		"a user's":                       {indexer.Change{New: scan("a", "", "Unknown")}, false},
	} {
		if got := s.running.comesLate(c.change); got != c.late {
			t.Errorf("%s: it comes late: %t", name, got)
		}
	}
	for name, amid := range map[string]bool{"ended": true, "alone": false, "with-what-ended": false} {
		before, after := scan(name, "", "Unknown"), scan(name, "", "True")
		if got := s.endsAmid(indexer.Change{Old: before, New: after}); got != amid {
			t.Errorf("%s: it ends amid its children: %t", name, got)
		}
		for _, c := range []indexer.Change{{Old: after, New: after}, {New: after}, {Old: after}} {
			if s.endsAmid(c) {
				t.Errorf("%s: that is no end: %+v", name, c)
			}
		}
	}
}
