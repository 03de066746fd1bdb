// Package complete knows what a word on the command line may become, where it is the name
// of something in a cluster:
//
//	millrace logs ci/bu<TAB> ──shell──▶ millrace __complete logs ci/bu ──▶ Cluster ──LIST, names only──▶ API server
//	                                                                          │
//	                            ci/build, ci/bump ◀───────────────────────────┘
//
// What it promises to somebody who has pressed a key and waits:
//
//  1. An answer within Patience. What was not listed by then is left out
//     (TestWhatTakesTooLongIsLeftOut).
//  2. No errors. Who cannot be asked, or may not be, completes to nothing
//     (TestNobodyIsToldOfTrouble).
//  3. Only metadata is asked for, in pages: a run may be large, and there may be many
//     (TestAWordBecomesWhatBeginsSo).
//
// It has no goroutine of its own.
package complete

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"

	"millrace/crds"
)

// Patience is how long anything takes at most.
const Patience = 3 * time.Second

// page is how many names are asked for at once.
const page = 500

// Cluster is asked for names. Make it with New.
type Cluster struct {
	client metadata.Interface
	own    string
}

// New is for the cluster that rc leads to; own is the namespace that is completed where
// namespaces may not be listed. It asks for nothing.
func New(rc *rest.Config, own string) (*Cluster, error) {
	rc = metadata.ConfigFor(rc)
	rc.WarningHandlerWithContext = rest.NoWarnings{} // it would be put into the command line
	client, err := metadata.NewForConfig(rc)
	if err != nil {
		return nil, fmt.Errorf("client for metadata: %w", err)
	}
	return &Cluster{client, own}, nil
}

// Namespaces are those whose names begin so, sorted.
func (c *Cluster) Namespaces(ctx context.Context, prefix string) []string {
	ctx, cancel := context.WithTimeout(ctx, Patience)
	defer cancel()
	names, ok := c.names(ctx, schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}, "", prefix)
	if !ok && strings.HasPrefix(c.own, prefix) {
		return []string{c.own}
	}
	return names
}

// Runs are the TaskRuns and PipelineRuns, as NAMESPACE/NAME, that the word may become, each
// with its kind behind a tab; sorted. A word that is only the beginning of a namespace
// becomes NAMESPACE/, and whole is false.
func (c *Cluster) Runs(ctx context.Context, word string) (words []string, whole bool) {
	namespace, prefix, within := strings.Cut(word, "/")
	if !within {
		for _, name := range c.Namespaces(ctx, namespace) {
			words = append(words, name+"/")
		}
		return words, false
	}
	ctx, cancel := context.WithTimeout(ctx, Patience)
	defer cancel()
	kinds := map[string]string{}
	for _, of := range []struct{ resource, kind string }{{crds.ResourceTaskRuns, crds.KindTaskRun}, {crds.ResourcePipelineRuns, crds.KindPipelineRun}} {
		names, _ := c.names(ctx, schema.GroupVersionResource{Group: crds.Group, Version: crds.Version, Resource: of.resource}, namespace, prefix)
		for _, name := range names {
			kinds[name] = of.kind
		}
	}
	for _, name := range slices.Sorted(maps.Keys(kinds)) {
		words = append(words, namespace+"/"+name+"\t"+kinds[name])
	}
	return words, true
}

// names are those of a resource that begin so, sorted; ok is false if the server did not
// answer at all.
func (c *Cluster) names(ctx context.Context, resource schema.GroupVersionResource, namespace, prefix string) (names []string, ok bool) {
	for from := ""; ; {
		list, err := c.client.Resource(resource).Namespace(namespace).List(ctx, metav1.ListOptions{Limit: page, Continue: from})
		if err != nil {
			return names, ok
		}
		ok = true
		for i := range list.Items {
			if name := list.Items[i].Name; strings.HasPrefix(name, prefix) {
				names = append(names, name)
			}
		}
		if from = list.Continue; from == "" {
			return names, true
		}
	}
}
