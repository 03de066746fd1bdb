package oracle

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
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

// packAfter is soon enough that all is packed between two steps that are a moment
// apart.
const packAfter = 400 * time.Millisecond

// startOurs runs our chain.
func startOurs(t *testing.T, told script, resync time.Duration) *side {
	t.Helper()
	s := &side{server: serve(t, told.server), ear: newEar()}
	r := s.Resource
	x := indexer.New(r.Resource)
	label := indexer.AddIndex(x, "label", indexer.Label(r.label))
	owner := indexer.AddIndex(x, "owner", indexer.OwnerUID)
	f := fifo.New(x, fifo.Config{Crowd: 2, Transform: transform.Chain(s.refuseOnce, transform.Default())})
	cfg := reflector.Config{Format: wire.JSON, ResyncPeriod: resync, Rand: rand.NewPCG(1, 1)}
	if r.typed {
		cfg.Format = wire.Protobuf
	}
	if told.ours.Facets {
		cfg.Facets = r.facets
	}
	cfg.Room = f.Room
	handlers := []func(indexer.Change){s.weChange}
	var packer *indexer.Packer
	if told.ours.Packed {
		packer = indexer.NewPacker(x, indexer.PackConfig{After: packAfter, Every: packAfter / 4, Crowd: 2})
		handlers = append(handlers, packer.Handle)
	}
	stages := []func(context.Context) error{
		reflector.New(s.ourClient(t), r.Resource, f, cfg).Run,
		func(ctx context.Context) error { return x.Run(ctx, f, handlers...) },
	}
	if packer != nil {
		stages = append(stages, packer.Run)
	}
	s.held = func() held { return r.weHold(t, x, label, owner, told.ours) }
	stop := runAll(t, stages)
	s.stop = func() {
		stop()
		s.answers["packed"] += int(x.Stats().Packs)
		s.answers["unpacked"] += int(x.Stats().Unpacks)
	}
	return s
}

// runAll runs stages, until the function that it returns is called.
func runAll(t *testing.T, stages []func(context.Context) error) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(quietly(t))
	done := make(chan error, len(stages))
	for _, run := range stages {
		go func() { done <- run(ctx) }()
	}
	return func() {
		cancel()
		for range stages {
			must(t, <-done)
		}
	}
}

func (s *side) refuseOnce(o *wire.Object) (*wire.Object, error) {
	if s.refuses(o.ResourceVersion()) {
		return nil, errRefused
	}
	return o, nil
}

func (s *side) ourClient(t *testing.T) rest.Interface {
	t.Helper()
	gv := s.Resource.GroupVersion()
	scheme := runtime.NewScheme()
	metav1.AddToGroupVersion(scheme, gv)
	metav1.AddToGroupVersion(scheme, schema.GroupVersion{Version: "v1"})
	cfg := s.Resource.restConfig()
	cfg.APIPath = "/apis"
	if gv.Group == "" {
		cfg.APIPath = "/api"
	}
	cfg.GroupVersion = &gv
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

func (r resource) weHold(t *testing.T, x *indexer.Indexer, label *indexer.Index[string], owner *indexer.Index[types.UID], with extras) held {
	t.Helper()
	h := holding()
	for _, o := range x.Objects("") {
		h.Objects[o.Key()] = r.weDecode(t, o)
		for _, f := range r.facets {
			h.Facets[o.Key()] = append(h.Facets[o.Key()], f.String()+": "+ourFacet(o, f, h.Objects[o.Key()], with))
		}
	}
	for _, value := range r.values {
		h.Found["label "+value] = texts(label.Keys(value))
	}
	for _, uid := range r.owners() {
		h.Found["owner "+string(uid)] = texts(owner.Keys(uid))
	}
	return h
}

func texts(keys []types.NamespacedName) []string {
	all := []string{}
	for _, key := range keys {
		all = append(all, key.String())
	}
	slices.Sort(all) // the slash of a key does not sort as the two parts do
	return all
}

// weDecode decodes as whoever reads such a resource would.
func (r resource) weDecode(t *testing.T, o *wire.Object) map[string]any {
	t.Helper()
	if r.typed {
		pod, err := wire.Decode[*corev1.Pod](o)
		must(t, err)
		return fieldsOf(t, pod)
	}
	fields, err := wire.Decode[map[string]any](o)
	must(t, err)
	return fields
}

// ourFacet is what the scan took out, if it was asked to, or else what a
// decoded object says.
func ourFacet(o *wire.Object, f wire.Facet, fields map[string]any, with extras) string {
	values, known := o.FacetValues(f)
	switch {
	case known != with.Facets:
		return fmt.Sprintf("known: %t", known)
	case known:
		return strings.Join(values, ", ")
	}
	return theirFacet(fields, f.String())
}
