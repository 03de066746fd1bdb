package shard

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
)

// A Division says which shard has which hashes: each has one range, and together they
// have everything. Its zero value is that nobody has divided anything yet.
type Division struct {
	Version int     `json:"version"`
	Shares  []Share `json:"shares"` // in order of From; the first begins at zero
}

// A Share is a shard's: from From up to the next Share.
type Share struct {
	Shard int    `json:"shard"`
	From  uint64 `json:"-"`
	Begin string `json:"from"` // From, for people
}

// Of is a shard's range; false if it has none.
func (d Division) Of(shard int) (Range, bool) {
	at := slices.IndexFunc(d.Shares, func(s Share) bool { return s.Shard == shard })
	if at < 0 {
		return Range{}, false
	}
	r := Range{From: d.Shares[at].From}
	if at+1 < len(d.Shares) {
		r.To = d.Shares[at+1].From
	}
	return r, true
}

// shards are those that have a share, in the order of their ranges.
func (d Division) shards() []int {
	all := make([]int, len(d.Shares))
	for i, s := range d.Shares {
		all[i] = s.Shard
	}
	return all
}

// weigh is the weight of each share.
func (d Division) weigh(cells []Cell) []float64 {
	weights := make([]float64, len(d.Shares))
	at := 0
	for i, c := range cells {
		for at+1 < len(d.Shares) && d.Shares[at+1].From <= c.From {
			at++
		}
		weights[at] += weight(cells, i)
	}
	return weights
}

// String is the annotation.
func (d Division) String() string {
	for i, s := range d.Shares {
		d.Shares[i].Begin = hex(s.From)
	}
	text, err := json.Marshal(d)
	if err != nil {
		panic(err) // numbers and text can be written
	}
	return string(text)
}

// ParseDivision reads what String writes. What is no division of everything among shards
// that there can be is an error: somebody has edited it.
func ParseDivision(text string) (d Division, err error) {
	if text == "" {
		return Division{}, nil
	}
	if err := json.Unmarshal([]byte(text), &d); err != nil {
		return Division{}, fmt.Errorf("read the division: %w", err)
	}
	seen := map[int]bool{}
	for i := range d.Shares {
		s := &d.Shares[i]
		if s.From, err = parseHash(s.Begin); err != nil {
			return Division{}, fmt.Errorf("read the division: %w", err)
		}
		if s.Shard < 0 || s.Shard >= Most {
			return Division{}, fmt.Errorf("read the division: share %d of %s is of a shard that cannot be", i, text)
		}
		if seen[s.Shard] || (i == 0) != (s.From == 0) || i > 0 && s.From <= d.Shares[i-1].From {
			return Division{}, fmt.Errorf("read the division: share %d of %s is out of order, or twice there", i, text)
		}
		seen[s.Shard] = true
	}
	return d, nil
}

// weight is that of a cell, in bytes. Where nothing is, a hash more weighs more.
func weight(cells []Cell, i int) float64 {
	to := uint64(0)
	if i+1 < len(cells) {
		to = cells[i+1].From
	}
	return float64(cells[i].Bytes) + Range{cells[i].From, to}.Fraction()
}

// Divide is how the shards that have a holder should divide everything, given what
// they have now and what the cells weigh, which have to cover everything, and be as many
// as the shards at least: each line of the grid begins one, and there are as many of them
// as shards can be.
//
//   - each gets one range, which begins at a cell. The heaviest is heavier than their
//     mean by one cell at most; a cell that is heavier than that is a share by itself.
//   - those that have a range keep their order, and one that comes goes where the
//     least has to move.
//
// It is a function of what it is given, and draws no lots.
func Divide(old Division, shards []int, cells []Cell) Division {
	if len(shards) == 0 {
		return old
	}
	order := slices.DeleteFunc(old.shards(), func(s int) bool { return !slices.Contains(shards, s) })
	for _, s := range shards {
		if !slices.Contains(order, s) {
			order = insert(old, order, s, cells)
		}
	}
	d := cut(order, cells)
	d.Version = old.Version + 1
	return d
}

// insert puts a shard where the least has to move.
func insert(old Division, order []int, shard int, cells []Cell) []int {
	var best []int
	least := math.Inf(1)
	for at := range len(order) + 1 {
		with := slices.Insert(slices.Clone(order), at, shard)
		if m := moved(old, cut(with, cells), cells); m <= least {
			best, least = with, m
		}
	}
	return best
}

// cut gives each of them, in order, its part of the weight.
func cut(order []int, cells []Cell) (d Division) {
	total := 0.0
	for i := range cells {
		total += weight(cells, i)
	}
	at, before := 0, 0.0 // the next cell, and the weight of those before it
	for n, shard := range order {
		// It begins at the cell that is nearest to where it should, but leaves one to each
		// of the others.
		should, last := total*float64(n)/float64(len(order)), len(cells)-(len(order)-n)
		for n > 0 && at < last && before+weight(cells, at)/2 <= should {
			before += weight(cells, at)
			at++
		}
		d.Shares = append(d.Shares, Share{Shard: shard, From: cells[at].From})
		before += weight(cells, at)
		at++
	}
	return d
}

// moved is the weight that is another shard's in one than in the other.
func moved(a, b Division, cells []Cell) (sum float64) {
	for i, c := range cells {
		if holder(a, c.From) != holder(b, c.From) {
			sum += weight(cells, i)
		}
	}
	return sum
}

// holder is the shard that has a hash; -1 if none has.
func holder(d Division, hash uint64) int {
	for _, s := range slices.Backward(d.Shares) {
		if s.From <= hash {
			return s.Shard
		}
	}
	return -1
}

// Shares may differ by this much before everything is divided anew: it costs each
// replica its caches.
const (
	uneven      = 1.25     // times the mean
	unevenBytes = 32 << 20 // and so much more than it: what is packed takes a tenth
)

// lopsided tells whether a share is so much heavier than the others that another
// division, which is better by a tenth at least, is worth its cost.
func lopsided(d, better Division, cells []Cell) bool {
	weights := d.weigh(cells)
	mean := 0.0
	for _, w := range weights {
		mean += w / float64(len(weights))
	}
	heaviest := slices.Max(weights)
	return heaviest > mean*uneven && heaviest > mean+unevenBytes && slices.Max(better.weigh(cells)) < heaviest*0.9
}
