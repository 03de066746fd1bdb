package main

import (
	"strings"
	"testing"

	"millrace/fifo"
	"millrace/indexer"
	"millrace/wire"
)

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
	_, err := wire.NewScanner(succeeded).List(wire.JSON, strings.NewReader(list), func(o *wire.Object, err error) error {
		taskRuns.Apply(fifo.Entry{Key: o.Key(), Deltas: []fifo.Delta{{Type: fifo.Added, Object: o.Own(), UID: o.UID()}}})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
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
