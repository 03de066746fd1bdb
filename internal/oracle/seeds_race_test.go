//go:build race

package oracle

// With the race detector a story takes ten times as long, and what it looks for
// does not need many.
const (
	orderlySeeds = 60
	wildSeeds    = 20
	tapedSeeds   = 1
	enough       = false
)
