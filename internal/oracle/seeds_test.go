//go:build !race

package oracle

// How many stories are told, of each sort.
const (
	orderlySeeds = 300
	wildSeeds    = 100
	tapedSeeds   = 2
	// They are enough to have met all that can happen.
	enough = true
)
