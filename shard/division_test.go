package shard

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/sharding"
)

func TestTheHashIsTheLibrarys(t *testing.T) {
	for _, name := range []string{"", "default", "team-1", "tekton-pipelines"} {
		if got, want := hex(Hash(name)), "0x"+sharding.HashField(name); got != want {
			t.Errorf("%q: %s, want %s", name, got, want)
		}
	}
}

func TestASelectorIsTheOneThatServersKnow(t *testing.T) {
	for r, want := range map[Range]string{
		{}:              "",
		{To: 1 << 62}:   "shardRange(object.metadata.namespace, '0x0000000000000000', '0x4000000000000000')",
		{From: 3 << 62}: "shardRange(object.metadata.namespace, '0xc000000000000000', '0x10000000000000000')",
	} {
		if got := r.Selector(); got != want {
			t.Errorf("%v: %s, want %s", r, got, want)
		}
		if again, err := ParseRange(r.String()); err != nil || again != r {
			t.Errorf("%v is read as %v: %v", r, again, err)
		}
	}
	for _, wrong := range []string{"", "0x0", "0x4000000000000000-0x4000000000000000", "0x4000000000000000-0x10000000000000001"} {
		if r, err := ParseRange(wrong); err == nil {
			t.Errorf("%q is read as %v", wrong, r)
		}
	}
}

// Names as people give them stand so close together that equal ranges would leave
// most shards without any: the reason why boundaries follow the weight.
func TestNamesThatAreCountedStandCloseTogether(t *testing.T) {
	filled := map[uint64]bool{}
	for i := range 200 {
		filled[Hash(fmt.Sprintf("bench-%03d", i))>>60] = true
	}
	if len(filled) != 1 {
		t.Errorf("200 namespaces are in %d of 16 equal ranges: was 1", len(filled))
	}
}

// a world is some namespaces, and the division of them so far.
type world struct {
	*rand.Rand

	weights Weights
	d       Division
	shards  []int
}

func newWorld(seed uint64) *world {
	w := &world{Rand: rand.New(rand.NewPCG(seed, 0)), weights: Weights{}}
	name := []string{"ns-%03d", "team-%d", "%x-of-somebody"}[w.IntN(3)]
	for i := range w.IntN(400) {
		w.weights[Hash(fmt.Sprintf(name, i))] = w.Int64N(100_000)
	}
	return w
}

// cells are as the holders tell of them.
func (w *world) cells() []Cell {
	var told []Cell
	for _, s := range w.d.shards() {
		r, _ := w.d.Of(s)
		mine := Weights{}
		for hash, bytes := range w.weights {
			if r.Holds(hash) {
				mine[hash] = bytes
			}
		}
		told = append(told, mine.Summarize()...)
	}
	if len(w.d.Shares) == 0 {
		told = w.weights.Summarize()
	}
	return fill(told)
}

// change lets a replica come or go.
func (w *world) change() {
	if len(w.shards) > 1 && w.IntN(2) == 0 {
		at := w.IntN(len(w.shards))
		w.shards = slices.Delete(w.shards, at, at+1)
		return
	}
	for s := range 16 {
		if !slices.Contains(w.shards, s) {
			w.shards = append(w.shards, s)
			return
		}
	}
}

func each(t *testing.T, check func(w *world, was Division, cells []Cell) error) {
	t.Helper()
	for seed := range uint64(100) {
		w := newWorld(seed)
		for step := range 12 {
			w.change()
			was, cells := w.d, w.cells()
			w.d = Divide(w.d, w.shards, cells)
			if err := check(w, was, cells); err != nil {
				t.Fatalf("seed %d, step %d: %v", seed, step, err)
			}
		}
	}
}

func TestEveryNamespaceIsInOneShareOfAShardThatIsThere(t *testing.T) {
	each(t, func(w *world, _ Division, _ []Cell) error {
		for hash := range w.weights {
			var holders []int
			for _, s := range w.d.shards() {
				if r, ok := w.d.Of(s); ok && r.Holds(hash) {
					holders = append(holders, s)
				}
			}
			if len(holders) != 1 || !slices.Contains(w.shards, holders[0]) {
				return fmt.Errorf("%x is held by %v of %v", hash, holders, w.shards)
			}
		}
		if again, err := ParseDivision(w.d.String()); err != nil || again.String() != w.d.String() {
			return fmt.Errorf("%v is read as %v: %w", w.d, again, err)
		}
		return nil
	})
}

func TestNoShareIsHeavierThanTheMeanByMoreThanACell(t *testing.T) {
	each(t, func(w *world, _ Division, cells []Cell) error {
		if len(w.d.Shares) != len(w.shards) {
			return fmt.Errorf("%d shares for %d shards", len(w.d.Shares), len(w.shards))
		}
		largest, total := 0.0, 0.0
		for i := range cells {
			largest, total = max(largest, weight(cells, i)), total+weight(cells, i)
		}
		for i, got := range w.d.weigh(cells) {
			if most := total/float64(len(w.shards)) + largest; got > most*1.000001 {
				return fmt.Errorf("share %d of %d weighs %.0f, of %.0f in all; the largest cell %.0f", i, len(w.shards), got, total, largest)
			}
		}
		return nil
	})
}

// Somebody has edited it. Whoever has no Lease to hold would never work on a share.
func TestWhatIsNoDivisionOfEverythingIsRefused(t *testing.T) {
	share := func(shard int, from string) string { return fmt.Sprintf(`{"shard":%d,"from":%q}`, shard, from) }
	begin, half := "0x0000000000000000", "0x8000000000000000"
	for what, shares := range map[string]string{
		"no number":         share(0, "half"),
		"begins late":       share(0, half),
		"out of order":      share(0, begin) + "," + share(1, half) + "," + share(2, half),
		"twice":             share(0, begin) + "," + share(0, half),
		"below the first":   share(-1, begin),
		"as many as can be": share(0, begin) + "," + share(Most, half),
	} {
		if d, err := ParseDivision(`{"version":1,"shares":[` + shares + `]}`); err == nil {
			t.Errorf("%s: read as %v", what, d)
		}
	}
	last := `{"version":1,"shares":[` + share(0, begin) + "," + share(Most-1, half) + `]}`
	if d, err := ParseDivision(last); err != nil || len(d.Shares) != 2 {
		t.Errorf("%s is read as %v: %v", last, d, err)
	}
}

// One range each costs more moves than sets of ranges would: of what lies between a
// shard that goes and the ends. At most half of it moves that did not have to.
func TestWhoComesOrGoesMovesHalfOfItAtMost(t *testing.T) {
	each(t, func(w *world, was Division, cells []Cell) error {
		if len(was.Shares) == 0 {
			return nil
		}
		total, orphaned, largest := 0.0, 0.0, 0.0
		for i, c := range cells {
			total, largest = total+weight(cells, i), max(largest, weight(cells, i))
			if !slices.Contains(w.shards, holder(was, c.From)) {
				orphaned += weight(cells, i)
			}
		}
		if m := moved(was, w.d, cells); m > total/2+orphaned+largest*float64(len(w.shards)) {
			return fmt.Errorf("%.0f of %.0f have moved, %.0f of them had to", m, total, orphaned)
		}
		return nil
	})
}

func TestWhatNobodyChangedIsDividedTheSameAgain(t *testing.T) {
	each(t, func(w *world, _ Division, cells []Cell) error {
		if m := moved(w.d, Divide(w.d, w.shards, cells), cells); m != 0 {
			return fmt.Errorf("%.0f have moved", m)
		}
		return nil
	})
}

func TestAShareThatHasGrownIsDividedAnew(t *testing.T) {
	even := Division{Version: 1, Shares: []Share{{Shard: 0}, {Shard: 1, From: 1 << 63}}}
	for _, story := range []struct {
		what  string
		bytes [2]int64 // of four namespaces in each half
		want  bool
	}{
		{"alike", [2]int64{500 << 20, 500 << 20}, false},
		{"a fifth more", [2]int64{600 << 20, 500 << 20}, false},
		{"twice as much", [2]int64{600 << 20, 300 << 20}, true},
		{"twice as much of little", [2]int64{60 << 20, 30 << 20}, false},
	} {
		w := Weights{}
		for i := range uint64(8) {
			w[i<<61] = story.bytes[i/4] / 4
		}
		cells := fill(w.Summarize())
		if got := lopsided(even, Divide(even, []int{0, 1}, cells), cells); got != story.want {
			t.Errorf("%s: %v, want %v", story.what, got, story.want)
		}
	}
	one := fill([]Cell{{1, 1 << 30}, {1 << 63, 1}}) // one namespace has it all: nothing helps
	if lopsided(even, Divide(even, []int{0, 1}, one), one) {
		t.Error("one namespace is heavy, and everything is divided anew for it")
	}
}

func TestCellsAreReadAsTheyWereWritten(t *testing.T) {
	for seed := range uint64(100) {
		cells := newWorld(seed).weights.Summarize()
		if len(cells) > mostCells+grid+mostCells {
			t.Errorf("seed %d: %d cells", seed, len(cells))
		}
		again, err := parseCells(formatCells(cells))
		if err != nil || !slices.Equal(again, cells) {
			t.Errorf("seed %d: %v: %v", seed, again, err)
		}
	}
}
