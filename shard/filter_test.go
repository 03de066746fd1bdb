package shard

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"millrace/fifo"
	"millrace/reflector"
	"millrace/wire"
)

// heard is a sink that writes down what it hears.
type heard struct {
	reflector.Sink

	news []string
	err  error
}

func (h *heard) note(what string) func(*wire.Object) error {
	return func(o *wire.Object) error {
		h.news = append(h.news, what+" "+o.Key().String())
		return h.err
	}
}

func (h *heard) Item(o *wire.Object) error   { return h.note("item")(o) }
func (h *heard) Add(o *wire.Object) error    { return h.note("add")(o) }
func (h *heard) Update(o *wire.Object) error { return h.note("update")(o) }
func (h *heard) Delete(o *wire.Object) error { return h.note("delete")(o) }
func (h *heard) Found(o *wire.Object) error  { return h.note("found")(o) }
func (h *heard) Bookmark(version string)     { h.news = append(h.news, "bookmark "+version) }

func pod(t *testing.T, namespace, version string) *wire.Object {
	t.Helper()
	o, err := wire.NewScanner().Scan(wire.JSON, fmt.Appendf(nil, `{"apiVersion":"v1","kind":"Pod","metadata":{"namespace":%q,"name":"p","uid":"u","resourceVersion":%q}}`, namespace, version))
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// What is another replica's is not heard of, but that the stream has come further.
func TestAFilterPassesItsOwnRangeAndCountsTheRest(t *testing.T) {
	h, foreign := &heard{err: errors.New("full")}, 0
	at := Hash("ours")
	sink := Over(h, Range{at, at + 1}, func() { foreign++ })
	for _, tell := range []func(*wire.Object) error{sink.Item, sink.Add, sink.Update, sink.Delete, sink.Found} {
		if err := tell(pod(t, "ours", "7")); !errors.Is(err, h.err) {
			t.Errorf("what the sink says is lost: %v", err)
		}
		if err := tell(pod(t, "theirs", "8")); err != nil {
			t.Error(err)
		}
	}
	want := []string{"item ours/p", "add ours/p", "bookmark 8", "update ours/p", "bookmark 8", "delete ours/p", "found ours/p"}
	if !slices.Equal(h.news, want) || foreign != 5 {
		t.Errorf("%d foreign, and heard: %q\nwant %q", foreign, h.news, want)
	}
}

func TestWhoHasEverythingNeedsNoFilter(t *testing.T) {
	f := fifo.New(nil, fifo.Config{})
	if Over(f, Range{}, nil) != reflector.Sink(f) {
		t.Error("there is something before the FIFO")
	}
}
