package oracle

import (
	"context"
	"math/rand/v2"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"millrace/fifo"
	"millrace/indexer"
	"millrace/reflector"
	"millrace/transform"
	"millrace/wire"
)

// startOurs runs our chain.
func startOurs(t *testing.T, k kind, resync time.Duration) *side {
	t.Helper()
	s := &side{server: serve(t, k), ear: newEar()}
	x := indexer.New("pods")
	byColour := indexer.AddIndex(x, "colour", indexer.Label("colour"))
	f := fifo.New(x, fifo.Config{Transform: transform.Default()})
	r := reflector.New(s.ourClient(t), "pods", f, reflector.Config{ResyncPeriod: resync, Rand: rand.NewPCG(1, 1)})
	s.held = func() held { return weHold(t, x, byColour) }

	ctx, cancel := context.WithCancel(quietly(t))
	done := make(chan error, 2)
	go func() { done <- r.Run(ctx) }()
	go func() { done <- x.Run(ctx, f, s.weChange) }()
	s.stop = func() {
		cancel()
		must(t, <-done)
		must(t, <-done)
	}
	return s
}

func (s *server) ourClient(t *testing.T) rest.Interface {
	t.Helper()
	scheme := runtime.NewScheme()
	metav1.AddToGroupVersion(scheme, schema.GroupVersion{Version: "v1"})
	cfg := s.restConfig()
	cfg.GroupVersion = &schema.GroupVersion{Version: "v1"}
	cfg.NegotiatedSerializer = serializer.NewCodecFactory(scheme).WithoutConversion()
	client, err := rest.RESTClientForConfigAndClient(cfg, s.client(t))
	must(t, err)
	return client
}

func (s *side) weChange(c indexer.Change) {
	if c.Resync || c.Old != nil && c.New != nil && c.Old.ResourceVersion() == c.New.ResourceVersion() {
		s.hearAgain(c.Key)
		return
	}
	o := c.Object()
	s.hear(c.Key, told{
		What: map[indexer.ChangeType]string{indexer.Created: "added", indexer.Updated: "updated", indexer.Deleted: "deleted"}[c.Type],
		UID:  o.UID(), Version: o.ResourceVersion(), Unknown: c.FinalStateUnknown, Merged: c.Merged > 0,
	})
}

func weHold(t *testing.T, x *indexer.Indexer, byColour *indexer.Index[string]) held {
	t.Helper()
	h := held{map[types.NamespacedName]map[string]any{}, map[string][]string{}}
	for _, o := range x.Objects("") {
		fields, err := wire.Decode[map[string]any](o)
		must(t, err)
		h.Objects[o.Key()] = fields
	}
	for _, colour := range colours {
		h.Colours[colour] = []string{}
		for _, key := range byColour.Keys(colour) {
			h.Colours[colour] = append(h.Colours[colour], key.String())
		}
	}
	return h
}
