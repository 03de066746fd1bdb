package indexer_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"millrace/indexer"
	"millrace/wire"
)

// finished is n runs of one pipeline, as a list brings them.
func finished(t *testing.T, scanner *wire.Scanner, n int) (runs []*wire.Object) {
	t.Helper()
	var items []string
	for i := range n {
		items = append(items, fmt.Sprintf(`{"metadata":{"namespace":"ci","name":"run-%d","uid":"uid-%d","resourceVersion":"%d",
			"ownerReferences":[{"kind":"PipelineRun","name":"p","uid":"pipeline"}]},
			"spec":{"taskSpec":{"steps":[{"name":"build","image":"registry.example.com/ci/go:1","script":"go build ./..."}]}},
			"status":{"conditions":[{"type":"Succeeded","status":"True","message":"All Steps have completed executing"}]}}`, 100+i, i, i+1))
	}
	list := strings.NewReader(`{"kind":"TaskRunList","apiVersion":"tekton.dev/v1","metadata":{"resourceVersion":"1000"},"items":[` + strings.Join(items, ",") + `]}`)
	_, err := scanner.List(wire.JSON, list, func(o *wire.Object, err error) error {
		runs = append(runs, o.Own())
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return runs
}

// A glance sees the same in both tiers, and leaves a packed object packed.
func TestAGlanceUnpacksNothing(t *testing.T) {
	succeeded := wire.NewFacet("status.conditions[type=Succeeded].status")
	scanner := wire.NewScanner(succeeded)
	runs := indexer.New("taskruns")
	byOwner := indexer.AddIndex(runs, "owner", indexer.OwnerUID)
	put(runs, finished(t, scanner, 100)...)
	packer := indexer.NewPacker(runs, indexer.PackConfig{After: time.Minute})
	look := func() (states []string) {
		for _, g := range byOwner.Glances("pipeline") {
			state, _ := g.Facet(succeeded)
			states = append(states, g.Key().Name+"@"+g.ResourceVersion()+"/"+string(g.UID())+"="+state)
		}
		return states
	}
	plain := look()
	for range 3 {
		if err := packer.Sweep(context.Background()); err != nil {
			t.Fatal(err)
		}
		look()
	}
	if s := runs.Stats(); s.Packed.Objects != 100 {
		t.Fatalf("glances kept objects from being packed: %+v", s)
	}
	packed := look()
	if len(plain) != 100 || plain[7] != "run-107@8/uid-7=True" {
		t.Fatalf("glances see %v", plain)
	}
	for i := range plain {
		if packed[i] != plain[i] {
			t.Errorf("packed, %s looks like %s", plain[i], packed[i])
		}
	}
	one, ok := runs.Glance(types.NamespacedName{Namespace: "ci", Name: "run-107"})
	if state, known := one.Facet(succeeded); !ok || !known || state != "True" {
		t.Errorf("run-107 is %q, %t, %t", state, known, ok)
	}
	if size, isPacked := one.Size(); !isPacked || int64(size) > runs.Stats().Bytes/50 {
		t.Errorf("run-107 takes %d bytes, packed: %t", size, isPacked)
	}
	if s := runs.Stats(); s.Unpacks != 0 {
		t.Errorf("glances unpacked %d objects", s.Unpacks)
	}
}
