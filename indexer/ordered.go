package indexer

import (
	"cmp"
	"slices"

	"k8s.io/apimachinery/pkg/types"
)

// runSize is the most that a run has. It bounds what is moved to make room for
// one more, and what is copied after a reader has taken a moment.
const runSize = 256

// run is some places in the order of their keys. Like a chunk, it is the
// writer's alone as long as there are no more moments than epoch.
type run struct {
	places []place // never empty
	epoch  uint64
}

// ordered is a set of places in the order of their keys: runs that follow one
// another. Keys are compared where they are, in the cells.
type ordered struct {
	runs  []run
	n     int
	epoch uint64 // of the slice of runs, as a run has one
}

func compare(a, b types.NamespacedName) int {
	return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
}

// position is a place between two members: before the at-th one of a run.
type position struct{ run, at int }

// find is where a key is, or would be.
func find(runs []run, key types.NamespacedName, v *view) (pos position, found bool) {
	// The last run that does not begin behind the key.
	i, found := slices.BinarySearchFunc(runs, key, func(r run, key types.NamespacedName) int {
		return compare(v.key(r.places[0]), key)
	})
	if found {
		return position{run: i}, true
	}
	if i == 0 {
		return position{}, false
	}
	i--
	at, found := slices.BinarySearchFunc(runs[i].places, key, func(p place, key types.NamespacedName) int {
		return compare(v.key(p), key)
	})
	return position{i, at}, found
}

// own makes the slice of runs the writer's alone, and one of the runs.
func (o *ordered) own(moments uint64, run int) {
	if o.epoch < moments {
		o.runs, o.epoch = slices.Clone(o.runs), moments
	}
	if run == len(o.runs) {
		return
	}
	if r := &o.runs[run]; r.epoch < moments {
		r.places, r.epoch = slices.Clone(r.places), moments
	}
}

// add takes in a place whose cell has its key already. One that is in it stays.
func (o *ordered) add(p place, s *cells) {
	pos, found := find(o.runs, s.key(p), &s.view)
	if found {
		return
	}
	o.n++
	o.own(s.moments, pos.run)
	if pos.run < len(o.runs) && len(o.runs[pos.run].places) == runSize {
		pos = o.split(pos)
	}
	if pos.run == len(o.runs) {
		o.runs = append(o.runs, run{places: []place{p}, epoch: s.moments})
		return
	}
	r := &o.runs[pos.run]
	r.places = slices.Insert(r.places, pos.at, p)
}

// split makes room in a full run, and returns where the position is then. What
// comes in order, as a list does, fills one run after the other: at the very
// end, nothing is split.
func (o *ordered) split(pos position) position {
	if pos.run == len(o.runs)-1 && pos.at == runSize {
		return position{run: len(o.runs)}
	}
	r := o.runs[pos.run]
	const half = runSize / 2
	o.runs = slices.Insert(o.runs, pos.run+1, run{places: slices.Clone(r.places[half:]), epoch: r.epoch})
	o.runs[pos.run].places = slices.Clone(r.places[:half])
	if pos.at > half {
		return position{pos.run + 1, pos.at - half}
	}
	return pos
}

// drop takes out a place whose cell still has its key.
func (o *ordered) drop(p place, s *cells) {
	pos, found := find(o.runs, s.key(p), &s.view)
	if !found || o.runs[pos.run].places[pos.at] != p {
		return
	}
	o.n--
	o.own(s.moments, pos.run)
	r := &o.runs[pos.run]
	if len(r.places) == 1 {
		o.runs = slices.Delete(o.runs, pos.run, pos.run+1)
		return
	}
	r.places = slices.Delete(r.places, pos.at, pos.at+1)
	o.join(pos.run, s.moments)
}

// join makes one run of two neighbours that are half empty together, so that
// after many drops there are not many small ones.
func (o *ordered) join(i int, moments uint64) {
	if i > 0 && len(o.runs[i-1].places)+len(o.runs[i].places) <= runSize/2 {
		i--
	}
	if i+1 == len(o.runs) || len(o.runs[i].places)+len(o.runs[i+1].places) > runSize/2 {
		return
	}
	o.runs[i] = run{places: slices.Concat(o.runs[i].places, o.runs[i+1].places), epoch: moments}
	o.runs = slices.Delete(o.runs, i+1, i+2)
}

// renumber gives every member another number.
func (o *ordered) renumber(to []place, moments uint64) {
	for i := range o.runs {
		o.own(moments, i)
		for j, p := range o.runs[i].places {
			o.runs[i].places[j] = to[p]
		}
	}
}
