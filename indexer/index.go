package indexer

import (
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"millrace/wire"
)

// Index finds objects by a value that is computed from them. It is made by
// AddIndex, and is the only way to ask it: there is no name to misspell and no
// value of a wrong type to pass.
//
// It answers by what an object has, as of its newest state. That is less than a
// label query: no operators, no absence.
type Index[V comparable] struct {
	x      *Indexer
	name   string
	values func(o *wire.Object, add func(V))

	sets map[V]members
	most int // that sets has had since it was made

	// failed is the objects that values has panicked over: they are under no
	// value at all.
	failed map[place]error

	// was and now are room for the values of one object before and after, used
	// again for the next; into is the one that collect, the add of values, adds
	// to. So an object that keeps its values costs no allocation.
	was, now []V
	into     *[]V
	collect  func(V)
}

// AddIndex adds an index over what x holds and will hold. values adds every
// value under which an object is to be found; none is fine, and one twice counts
// once. It must depend on nothing but the object, since it is asked again when
// the object goes; it is called with x locked, so it must be quick and not call
// x. The index keeps a value for as long as any object has it: clone a string that
// is a part of something large.
//
// It may be called at any time, also while x runs; the store is locked until
// the index has seen every object, and packed ones have to be unpacked. Two
// indices of one name are a mistake in the program, and panic.
//
// If values panics over an object, the index does without that object until
// there is a new state of it; the object is in the store, and in the other
// indices. See Failures.
func AddIndex[V comparable](x *Indexer, name string, values func(o *wire.Object, add func(V))) *Index[V] {
	i := &Index[V]{x: x, name: name, values: values, sets: map[V]members{}, failed: map[place]error{}}
	i.collect = func(v V) { *i.into = append(*i.into, v) }
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.names[name] != nil {
		panic("indexer " + x.name + ": index " + name + " exists already")
	}
	x.names[name] = &indexState{}
	x.indices = append(x.indices, i)
	for _, r := range x.order.runs {
		for _, p := range r.places {
			i.add(p, open(x.cells.at(p)))
		}
	}
	return i
}

// Keys is the keys of all objects with that value, sorted.
func (i *Index[V]) Keys(v V) []types.NamespacedName {
	m := i.moment(v)
	keys := make([]types.NamespacedName, 0, m.size())
	for f := range m.each {
		keys = append(keys, f.cell.key())
	}
	return keys
}

// Objects is all objects with that value, in the order of their keys, as of one
// moment.
func (i *Index[V]) Objects(v V) []*wire.Object {
	m := i.moment(v)
	return m.objects(i.x)
}

func (i *Index[V]) moment(v V) moment {
	i.x.mu.Lock()
	defer i.x.mu.Unlock()
	set, ok := i.sets[v]
	switch {
	case !ok:
		return moment{}
	case set.many == nil:
		var m moment
		m.put(&i.x.cells, set.one)
		return m
	}
	return i.x.cells.momentLocked(set.many)
}

// Len is how many objects have that value.
func (i *Index[V]) Len(v V) int {
	i.x.mu.Lock()
	defer i.x.mu.Unlock()
	set, ok := i.sets[v]
	switch {
	case !ok:
		return 0
	case set.many == nil:
		return 1
	}
	return set.many.n
}

// Values is how many different values there are.
func (i *Index[V]) Values() int {
	i.x.mu.Lock()
	defer i.x.mu.Unlock()
	return len(i.sets)
}

// index is what the store needs of an Index of any type. All of it is called
// under the store's lock.
type index interface {
	// add takes in an object that is in its cell already.
	add(p place, o *wire.Object)
	// drop takes out an object that is in its cell still.
	drop(p place, o *wire.Object)
	// move takes an object from where it was to where it is now.
	move(p place, was, now *wire.Object)
	renumber(to []place)
	failures() []IndexFailure
}

func (i *Index[V]) add(p place, o *wire.Object) {
	values, err := i.ask(o, &i.now)
	if err != nil {
		i.fail(p, o, err)
		return
	}
	for _, v := range values {
		i.put(v, p)
	}
}

func (i *Index[V]) drop(p place, o *wire.Object) {
	for _, v := range i.held(p, o) {
		i.take(v, p)
	}
	delete(i.failed, p)
}

func (i *Index[V]) move(p place, was, now *wire.Object) {
	before := i.held(p, was)
	after, err := i.ask(now, &i.now)
	if err == nil && i.failed[p] == nil && slices.Equal(before, after) {
		return
	}
	for _, v := range before {
		i.take(v, p)
	}
	delete(i.failed, p)
	if err != nil {
		i.fail(p, now, err)
		return
	}
	for _, v := range after {
		i.put(v, p)
	}
}

// ask collects the values of an object in room. A panic is an error, and leaves
// no value.
func (i *Index[V]) ask(o *wire.Object, room *[]V) (values []V, err error) {
	*room = (*room)[:0]
	defer func() {
		if r := recover(); r != nil {
			values, err = nil, fmt.Errorf("panic: %v", r)
		}
	}()
	i.into = room
	i.values(o, i.collect)
	return *room, nil
}

// held is the values under which a place stands, which the object in it has. If
// values panics where it did not before, it is a function of something else,
// and the place is looked for under every value.
func (i *Index[V]) held(p place, o *wire.Object) []V {
	if i.failed[p] != nil {
		return nil
	}
	values, err := i.ask(o, &i.was)
	if err != nil {
		i.x.failLocked(IndexFailure{Index: i.name, Key: o.Key(), Err: err})
		for v := range i.sets {
			i.take(v, p)
		}
	}
	return values
}

func (i *Index[V]) fail(p place, o *wire.Object, err error) {
	i.failed[p] = err
	i.x.failLocked(IndexFailure{Index: i.name, Key: o.Key(), Err: err})
}

func (i *Index[V]) put(v V, p place) {
	set, ok := i.sets[v]
	if !ok {
		i.sets[v] = members{one: p}
		i.most = max(i.most, len(i.sets))
		return
	}
	if now := set.with(p, &i.x.cells); now != set {
		i.sets[v] = now
	}
}

func (i *Index[V]) take(v V, p place) {
	set, ok := i.sets[v]
	if !ok {
		return
	}
	left, some := set.without(p, &i.x.cells)
	if some && left != set {
		i.sets[v] = left
	}
	if some {
		return
	}
	delete(i.sets, v)
	if farBelow(len(i.sets), i.most) {
		i.sets, i.most = maps.Collect(maps.All(i.sets)), len(i.sets)
	}
}

// farBelow says whether something that has shrunk should be made anew, because
// it keeps the size of its best day: it would be a quarter of it, and is not
// small anyway. Between two such days the size has to change by three quarters,
// so what that costs is divided among many.
func farBelow(now, most int) bool { return most > 4096 && now < most/4 }

func (i *Index[V]) renumber(to []place) {
	for v, set := range i.sets {
		i.sets[v] = set.renumber(to, i.x.cells.moments)
	}
	failed := make(map[place]error, len(i.failed))
	for p, err := range i.failed {
		failed[to[p]] = err
	}
	i.failed = failed
}

func (i *Index[V]) failures() []IndexFailure {
	all := make([]IndexFailure, 0, len(i.failed))
	for p, err := range i.failed {
		all = append(all, IndexFailure{Index: i.name, Key: i.x.cells.key(p), Err: err})
	}
	slices.SortFunc(all, func(a, b IndexFailure) int { return compare(a.Key, b.Key) })
	return all
}

// OwnerUID is the values of an index by owner: the UID of every owner, not of
// the controller or of the first one only.
func OwnerUID(o *wire.Object, add func(types.UID)) {
	for _, owner := range o.Owners() {
		add(owner.UID)
	}
}

// Label is the values of an index by one label: its value, or none where it is
// not set.
func Label(key string) func(o *wire.Object, add func(string)) {
	return func(o *wire.Object, add func(string)) {
		if value, ok := o.Label(key); ok {
			add(value)
		}
	}
}
