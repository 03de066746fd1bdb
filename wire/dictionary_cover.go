package wire

import "encoding/binary"

const (
	// gramSize is the length of what two objects must have in common for it to
	// count: less than that does not pay for the reference to it.
	gramSize = 8
	// gramShare is how many of an object's grams are looked at, one in so many,
	// the same in all objects. Those at hand are alike enough to be told by it.
	gramShare = 8
)

// cover chooses objects that have much in common with the others, and little
// with each other: again and again the one that has most of what is in several
// of them and in no chosen one, for its length. It returns their places in the
// order in which they were chosen; where nothing is left that two of them have,
// it ends.
//
// Against as many taken evenly from the smallest to the largest, packed pods are
// a fifth smaller, TaskRuns a tenth (of some thirty kinds of runs; where kinds
// are as many as objects, a few percent).
func cover(objects [][]byte, size int) []int {
	grams, count := countGrams(objects)
	var chosen []int
	for size > 0 {
		best, most := -1, 0.0
		for i := range grams {
			if worth := worthOf(grams[i], count) / float64(len(objects[i])); worth > most {
				best, most = i, worth
			}
		}
		if best < 0 {
			return chosen
		}
		for _, g := range grams[best] {
			count[g] = 0
		}
		chosen, size = append(chosen, best), size-len(objects[best])
	}
	return chosen
}

// worthOf sums up in how many objects each of the grams is that more than one
// has.
func worthOf(grams []int32, count []int32) float64 {
	var worth int64
	for _, g := range grams {
		if n := count[g]; n > 1 {
			worth += int64(n)
		}
	}
	return float64(worth)
}

// countGrams numbers the grams of all objects, and counts in how many of them
// each is. Two grams of one hash are one: they are few.
func countGrams(objects [][]byte) (grams [][]int32, count []int32) {
	numbers := map[uint64]int32{}
	grams = make([][]int32, len(objects))
	var last []int32 // object in which each was seen last, plus one
	for i, b := range objects {
		for ; len(b) >= gramSize; b = b[1:] {
			hash := binary.LittleEndian.Uint64(b) * 0x9e3779b185ebca87
			if hash>>32%gramShare != 0 {
				continue
			}
			n, known := numbers[hash]
			if !known {
				n = int32(len(count))
				numbers[hash] = n
				count, last = append(count, 0), append(last, 0)
			}
			if last[n] != int32(i+1) {
				last[n] = int32(i + 1)
				count[n]++
				grams[i] = append(grams[i], n)
			}
		}
	}
	return grams, count
}
