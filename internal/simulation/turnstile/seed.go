package turnstile

import (
	"math/rand/v2"
	"time"
)

// A Seed decides everything that is left to chance.
type Seed uint64

// Draw is a number that follows from the seed and the words.
func (s Seed) Draw(words ...string) uint64 {
	// FNV-1a, with a byte between the words that no word has, and the finalizer of
	// splitmix64, since FNV's high bits hardly depend on the last bytes.
	const prime = 1099511628211
	h := uint64(14695981039346656037) ^ mixed(uint64(s))
	for _, word := range words {
		for i := range len(word) {
			h = (h ^ uint64(word[i])) * prime
		}
		h = (h ^ 0xff) * prime
	}
	return mixed(h)
}

func mixed(h uint64) uint64 {
	h += 0x9e3779b97f4a7c15
	h = (h ^ h>>30) * 0xbf58476d1ce4e5b9
	h = (h ^ h>>27) * 0x94d049bb133111eb
	return h ^ h>>31
}

// Happens is true with probability p.
func (s Seed) Happens(p float64, words ...string) bool {
	return float64(s.Draw(words...)>>11)/(1<<53) < p
}

// Below is a number in [0, n).
func (s Seed) Below(n int, words ...string) int {
	return int(s.Draw(words...) % uint64(n))
}

// Between is a duration in [low, high), to the nanosecond.
func (s Seed) Between(low, high time.Duration, words ...string) time.Duration {
	return low + time.Duration(s.Draw(words...)%uint64(high-low))
}

// Source is a source of random numbers of its own.
func (s Seed) Source(words ...string) rand.Source {
	return rand.NewPCG(s.Draw(words...), uint64(s))
}
