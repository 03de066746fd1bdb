package wire_test

import (
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"millrace/wire"
)

// A tree is a JSON value that remembers its spelling, so that a test can make of
// one object another that differs in little: in content, in spelling, or both.
type tree struct {
	scalar  string // as it is spelled; empty for objects and lists
	list    bool
	names   []string // of an object's children, as they are spelled
	entries []tree
}

// gardener grows trees and changes them.
type gardener struct{ *rand.Rand }

func (g gardener) pick(from ...string) string { return from[g.IntN(len(from))] }

func (g gardener) name() string {
	return g.pick(`"a"`, `"a"`, `"b"`, `"b"`, `"c"`, `"status"`, `""`, `"é"`, `"\u0061"`)
}

func (g gardener) leaf() tree {
	return tree{scalar: g.pick(
		`1`, `12`, `1.0`, `1e0`, `10E-1`, `-1`, `-12`, `0`, `true`, `false`, `null`,
		`""`, `"a"`, `"ab"`, `"1"`, `"é"`, `"\u00e9"`, `"a\"b"`, `"\u0061"`, `"{"`, `"]"`,
	)}
}

func (g gardener) grow(depth int) tree {
	kind := g.IntN(3)
	if depth > 3 || kind == 0 {
		return g.leaf()
	}
	t := tree{list: kind == 1}
	for range g.IntN(4) {
		t.entries = append(t.entries, g.grow(depth+1))
		if !t.list {
			t.names = append(t.names, g.name())
		}
	}
	return t
}

// object is what the API server might send, more or less.
func (g gardener) object() tree {
	metadata := tree{
		names:   []string{`"name"`, `"resourceVersion"`, `"annotations"`, `"managedFields"`},
		entries: []tree{{scalar: `"x"`}, {scalar: `"1"`}, {names: []string{`"a"`, `"b"`}, entries: []tree{{scalar: `"1"`}, {scalar: `"2"`}}}, {list: true}},
	}
	return tree{
		names:   []string{`"kind"`, `"metadata"`, `"spec"`, `"status"`, `"a"`},
		entries: []tree{{scalar: `"Pod"`}, metadata, g.grow(0), g.grow(0), g.grow(0)},
	}
}

// changed is a copy of a tree with some changes: about one in so many nodes.
func (g gardener) changed(t tree, one int) tree {
	t.names, t.entries = slices.Clone(t.names), slices.Clone(t.entries)
	for i := range t.entries {
		t.entries[i] = g.changed(t.entries[i], one)
	}
	if g.IntN(one) > 0 {
		return t
	}
	n := len(t.entries)
	if t.scalar != "" {
		return g.leaf()
	}
	if n == 0 {
		return g.grow(3)
	}
	i, j := g.IntN(n), g.IntN(n)
	switch g.IntN(4) {
	case 0: // another order
		t.entries[i], t.entries[j] = t.entries[j], t.entries[i]
		if !t.list {
			t.names[i], t.names[j] = t.names[j], t.names[i]
		}
	case 1: // one less
		t.entries = slices.Delete(t.entries, i, i+1)
		if !t.list {
			t.names = slices.Delete(t.names, i, i+1)
		}
	case 2: // one more
		t.entries = slices.Insert(t.entries, i, g.grow(3))
		if !t.list {
			t.names = slices.Insert(t.names, i, g.name())
		}
	case 3: // one twice, perhaps with another value
		t.entries = slices.Insert(t.entries, i, g.changed(t.entries[j], 3))
		if !t.list {
			t.names = slices.Insert(t.names, i, t.names[j])
		}
	}
	return t
}

func (g gardener) write(b *strings.Builder, t tree, space int) {
	pause := func() {
		if space > 0 && g.IntN(space) == 0 {
			b.WriteString(g.pick(" ", "\n", " \t\r\n  "))
		}
	}
	if t.scalar != "" {
		b.WriteString(t.scalar)
		return
	}
	brackets := "{}"
	if t.list {
		brackets = "[]"
	}
	b.WriteByte(brackets[0])
	for i, entry := range t.entries {
		if i > 0 {
			b.WriteByte(',')
		}
		pause()
		if !t.list {
			b.WriteString(t.names[i])
			pause()
			b.WriteByte(':')
			pause()
		}
		g.write(b, entry, space)
		pause()
	}
	pause()
	b.WriteByte(brackets[1])
}

func (g gardener) spelled(t tree, space int) string {
	var b strings.Builder
	g.write(&b, t, space)
	return b.String()
}

func (g gardener) paths() []wire.Path {
	all := []wire.Path{{"status"}, {"a"}, {"a", "b"}, {"spec", "a"}, {"metadata", "annotations", "a"}, {"spec", ""}, {}, {"é"}}
	g.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	return all[:g.IntN(4)]
}

// Claim 5: the walk in lockstep says nothing that taking both objects apart does
// not say, for objects that differ in little, whatever it is: values, order,
// names that come twice, escapes, forms of numbers, white space. About half of
// the answers are that nothing has changed, a seventh that something has, and a
// third is left.
func TestChangedInLockstepAgreesWithTakingApart(t *testing.T) {
	var unchanged, changed, left, scanned int
	for seed := range uint64(5_000) {
		g := gardener{rand.New(rand.NewPCG(seed, 6))}
		tree := g.object()
		first := g.spelled(tree, 0)
		second := g.spelled(g.changed(tree, 1+g.IntN(60)), g.IntN(2)*(1+g.IntN(50)))
		x, err := wire.Scan(wire.JSON, []byte(first))
		if err != nil {
			t.Fatalf("seed %d: %v: %s", seed, err, first)
		}
		y, err := wire.Scan(wire.JSON, []byte(second))
		if err != nil {
			continue // the metadata is of no use any more
		}
		scanned++
		except := g.paths()
		for range 2 {
			want := wire.ChangedCanonically(x, y, except...)
			got, sure := wire.ChangedInLockstep(x, y, except...)
			switch {
			case sure && got != want:
				t.Fatalf("seed %d: in lockstep changed is %v, taken apart %v, except %q\n%s\n%s", seed, got, want, except, x.Bytes(), y.Bytes())
			case !sure:
				left++
			case got:
				changed++
			default:
				unchanged++
			}
			if got := wire.Changed(x, y, except...); got != want {
				t.Fatalf("seed %d: changed is %v, taken apart %v", seed, got, want)
			}
			x, y = y, x
		}
	}
	t.Logf("of %d pairs in both directions: unchanged %d, changed %d, left to be taken apart %d", scanned, unchanged, changed, left)
	if min(unchanged, changed, left) < 700 {
		t.Error("the test has lost its point")
	}
}

// What comes from a server all the time has to be decided by the walk alone, and
// costs no memory.
func TestAnUpdateOfTheStatusIsDecidedInOnePassWithoutAllocation(t *testing.T) {
	old := scan(t, `{"kind":"Pod","metadata":{"name":"x","resourceVersion":"1","labels":{"a":"b"}},"spec":{"l":[1,{"m":"n"}]},"status":{"phase":"Pending"}}`)
	for name, test := range map[string]struct {
		now  string
		want bool
	}{
		"another status":     {`{"kind":"Pod","metadata":{"name":"x","resourceVersion":"2","labels":{"a":"b"}},"spec":{"l":[1,{"m":"n"}]},"status":{"phase":"Running","ip":"1.2.3.4"}}`, false},
		"no status":          {`{"kind":"Pod","metadata":{"name":"x","resourceVersion":"2","labels":{"a":"b"}},"spec":{"l":[1,{"m":"n"}]}}`, false},
		"managed fields too": {`{"kind":"Pod","metadata":{"managedFields":[{"manager":"m"}],"name":"x","resourceVersion":"2","labels":{"a":"b"}},"spec":{"l":[1,{"m":"n"}]}}`, false},
		"another spec":       {`{"kind":"Pod","metadata":{"name":"x","resourceVersion":"2","labels":{"a":"b"}},"spec":{"l":[1,{"m":"o"}]},"status":{"phase":"Pending"}}`, true},
		"a longer list":      {`{"kind":"Pod","metadata":{"name":"x","resourceVersion":"2","labels":{"a":"b"}},"spec":{"l":[1,{"m":"n"},2]},"status":{"phase":"Pending"}}`, true},
	} {
		t.Run(name, func(t *testing.T) {
			now := scan(t, test.now)
			if got, sure := wire.ChangedInLockstep(old, now, wire.Path{"status"}); got != test.want || !sure {
				t.Errorf("changed: %v, sure: %v; want %v and sure", got, sure, test.want)
			}
			if n := testing.AllocsPerRun(100, func() { wire.Changed(old, now, wire.Path{"status"}) }); n != 0 {
				t.Errorf("%v allocations", n)
			}
		})
	}
}

// More exceptions than the walk can follow at once are followed all the same.
func TestAnyNumberOfFieldsMayBeExcepted(t *testing.T) {
	var except []wire.Path
	var a, b []string
	for i := range 100 {
		name := "f" + strconv.Itoa(i)
		except = append(except, wire.Path{"spec", name})
		a, b = append(a, `"`+name+`":1`), append(b, `"`+name+`":2`)
	}
	x, y := scan(t, `{"spec":{`+strings.Join(a, ",")+`}}`), scan(t, `{"spec":{`+strings.Join(b, ",")+`}}`)
	for n := range len(except) + 1 {
		if got, want := wire.Changed(x, y, except[:n]...), n < len(except); got != want {
			t.Errorf("changed with %d of %d fields excepted: %v", n, len(except), got)
		}
	}
}
