package main

import (
	"context"
	"errors"
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
	waits := fifo.New(taskRuns, fifo.Config{})
	waits.Begin()
	_, err := wire.NewScanner(succeeded).List(wire.JSON, strings.NewReader(list), func(o *wire.Object, err error) error {
		return errors.Join(err, waits.Item(o))
	})
	if err != nil {
		t.Fatal(err)
	}
	waits.Commit("9")
	// A run that is not known may be among those that are still to come.
	stranger, err := wire.Scan(wire.JSON, []byte(`{"metadata":{"namespace":"ci","name":"p","ownerReferences":[{"name":"unheard","uid":"unheard"}]}}`))
	if err != nil || !working.owner(stranger) {
		t.Errorf("while runs are being listed, nobody is at work for the pod of one that is not known; %v", err)
	}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	done := make(chan error, 1)
	go func() { done <- taskRuns.Run(ctx, waits) }()
	<-taskRuns.Synced()
	if stop(); <-done != nil {
		t.Fatal("the cache has failed")
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
