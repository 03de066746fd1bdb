package workqueue

import (
	"math/rand/v2"
	"testing"
)

// The table is a map, whatever is put in and taken out; and it gets smaller.
func TestTheTableAgreesWithAMap(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	table, model := newTable[int](), map[int]*entry[int]{}
	largest := 0
	for step := range 200_000 {
		key := r.IntN(3000)
		if step%50_000 > 25_000 {
			key = r.IntN(30) // a time in which it empties
		}
		hash := table.hash(key)
		got, want := table.find(key, hash), model[key]
		if got != want {
			t.Fatalf("step %d: find(%d) = %v, want %v", step, key, got, want)
		}
		remove := want != nil
		if !remove && step%50_000 > 25_000 {
			for key, want = range model {
				remove = true
				break
			}
		}
		switch {
		case remove:
			table.remove(want)
			delete(model, key)
		default:
			e := &entry[int]{key: key, hash: hash}
			table.put(e)
			model[key] = e
		}
		largest = max(largest, len(table.entries))
	}
	for key, want := range model {
		if got := table.find(key, want.hash); got != want {
			t.Errorf("find(%d) = %v, want %v", key, got, want)
		}
		table.remove(want)
	}
	if table.n != 0 || len(table.entries) > 8*fewest || largest < 2048 {
		t.Errorf("%d keys in %d slots are left; the table had %d slots", table.n, len(table.entries), largest)
	}
}

// Keys whose hashes are all alike lie in one row, and are found.
func TestTheTableBearsCollisions(t *testing.T) {
	table := newTable[int]()
	var entries []*entry[int]
	for key := range 200 {
		e := &entry[int]{key: key, hash: uint32(key%3) - 2} // around the end of the table
		entries = append(entries, e)
		table.put(e)
	}
	for i, e := range entries {
		if i%2 == 0 {
			table.remove(e)
		}
	}
	for i, e := range entries {
		got := table.find(e.key, e.hash)
		if i%2 == 0 && got != nil || i%2 == 1 && got != e {
			t.Errorf("find(%d) = %v", e.key, got)
		}
	}
}
