package shard

import (
	"fmt"
	"hash/fnv"
	"io"
	"math"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/sharding"
)

// field is what is hashed. A run, its children and their pods are of one namespace, so
// nothing that belongs together is split.
const field = "object.metadata.namespace"

// Hash is where a namespace stands: FNV-1a, as KEP-5866 says and its library does
// (sharding.HashField). It mixes little: names that differ in their last characters
// stand close together.
func Hash(namespace string) uint64 {
	h := fnv.New64a()
	_, _ = io.WriteString(h, namespace) // a hash takes everything
	return h.Sum64()
}

// A Range is a part of the hashes: from From on, and below To, where To 0 stands for
// the end. So the zero Range is everything, and no Range is empty.
type Range struct{ From, To uint64 }

// Everything tells whether all hashes are in it.
func (r Range) Everything() bool { return r == Range{} }

// Holds tells whether a hash is in it.
func (r Range) Holds(hash uint64) bool { return hash >= r.From && (r.To == 0 || hash < r.To) }

// Overlaps tells whether a hash is in both.
func (r Range) Overlaps(o Range) bool {
	return (o.To == 0 || r.From < o.To) && (r.To == 0 || o.From < r.To)
}

// Within tells whether all of it is in the other one.
func (r Range) Within(o Range) bool {
	return r.From >= o.From && (o.To == 0 || r.To != 0 && r.To <= o.To)
}

// Fraction is how much of all hashes it has.
func (r Range) Fraction() float64 {
	if r.Everything() {
		return 1
	}
	return float64(r.To-r.From) / (math.MaxUint64 + 1.0) // at the end the difference wraps to what it is
}

// Selector is what a server is asked with, as ListOptions.ShardSelector; "" for
// everything.
func (r Range) Selector() string {
	if r.Everything() {
		return ""
	}
	return sharding.NewSelector(sharding.ShardRangeRequirement{Key: field, Start: hex(r.From), End: r.end()}).String()
}

// String is the ends: 0x4000000000000000-0x8000000000000000.
func (r Range) String() string { return hex(r.From) + "-" + r.end() }

func (r Range) end() string {
	if r.To == 0 {
		return "0x10000000000000000"
	}
	return hex(r.To)
}

func hex(hash uint64) string { return fmt.Sprintf("0x%016x", hash) }

// ParseRange reads what String writes.
func ParseRange(text string) (r Range, err error) {
	from, to, _ := strings.Cut(text, "-")
	if r.From, err = parseHash(from); err != nil {
		return Range{}, err
	}
	if to == (Range{}).end() {
		return r, nil
	}
	if r.To, err = parseHash(to); err != nil {
		return Range{}, err
	}
	if r.To <= r.From {
		return Range{}, fmt.Errorf("range %q: nothing is in it", text)
	}
	return r, nil
}

func parseHash(text string) (hash uint64, err error) {
	digits, prefixed := strings.CutPrefix(text, "0x")
	if hash, err = strconv.ParseUint(digits, 16, 64); err != nil || !prefixed || len(digits) != 16 || strings.ToLower(digits) != digits {
		return 0, fmt.Errorf("hash %q: want 0x and sixteen digits", text)
	}
	return hash, nil
}
