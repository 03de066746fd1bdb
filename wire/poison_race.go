//go:build race

package wire

// poison makes recall overwrite what was lent. It is on where races are looked
// for: to keep what was lent is the same mistake, made by one goroutine.
const poison = true
