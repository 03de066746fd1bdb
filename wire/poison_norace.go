//go:build !race

package wire

// poison: see the other file of this name.
const poison = false
