package shard

import (
	"k8s.io/apimachinery/pkg/types"

	"millrace/reflector"
	"millrace/wire"
)

// A Filter keeps from a sink what is not of a range: all but the range, where the
// server does not select by shard, and else nothing.
type Filter struct {
	reflector.Sink

	// Range is what the sink hears of.
	Range Range
	// Foreign is told of each object that it does not. Default: nobody.
	Foreign func()
}

// Over is the Filter before a sink, or the sink itself if it hears of everything.
func Over(sink reflector.Sink, r Range, foreign func()) reflector.Sink {
	if r.Everything() {
		return sink
	}
	return &Filter{sink, r, foreign}
}

func (f *Filter) ours(key types.NamespacedName) bool {
	if f.Range.Holds(Hash(key.Namespace)) {
		return true
	}
	if f.Foreign != nil {
		f.Foreign()
	}
	return false
}

func (f *Filter) pass(o *wire.Object, take func(*wire.Object) error) error {
	if !f.ours(o.Key()) {
		return nil
	}
	return take(o)
}

// news is pass for a change that is told after the list: one that the sink does not
// hear of has brought the stream further, too.
func (f *Filter) news(o *wire.Object, take func(*wire.Object) error) error {
	if !f.ours(o.Key()) {
		f.Bookmark(o.ResourceVersion())
		return nil
	}
	return take(o)
}

// Item implements reflector.Sink.
func (f *Filter) Item(o *wire.Object) error { return f.pass(o, f.Sink.Item) }

// Add is Item, but of another's object the sink hears how far it has brought the stream.
func (f *Filter) Add(o *wire.Object) error { return f.news(o, f.Sink.Add) }

// Update is Add.
func (f *Filter) Update(o *wire.Object) error { return f.news(o, f.Sink.Update) }

// Delete is Item: it may come in a streaming list, where only Commit says how far the
// stream has come. What is told after the list is told of it by the next change, or by a
// bookmark.
func (f *Filter) Delete(o *wire.Object) error { return f.pass(o, f.Sink.Delete) }

// Found is Item.
func (f *Filter) Found(o *wire.Object) error { return f.pass(o, f.Sink.Found) }
