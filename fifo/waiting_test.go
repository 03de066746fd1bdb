package fifo_test

import (
	"fmt"
	"testing"

	"millrace/fifo"
)

// Whoever looks sees what waits, in its order, and takes nothing.
func TestWhatWaitsCanBeLookedAt(t *testing.T) {
	q := fifo.New(store{}, fifo.Config{})
	if got := q.Waiting(10); got != nil {
		t.Errorf("an empty queue shows %v", got)
	}
	for i := range 3 {
		if err := q.Add(obj(t, fmt.Sprintf("pod-%d", i), "u", fmt.Sprint(i+1))); err != nil {
			t.Fatal(err)
		}
	}
	for range 2 { // looking changes nothing
		got := q.Waiting(2)
		if len(got) != 2 || got[0].Key.Name != "pod-0" || got[1].Key.Name != "pod-1" || got[0].Deltas[0].Type != fifo.Added {
			t.Errorf("it shows %v", got)
		}
	}
	if q.Len() != 3 {
		t.Errorf("%d wait", q.Len())
	}
}
