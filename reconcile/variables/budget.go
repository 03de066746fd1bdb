package variables

import "fmt"

// MaxReplaced is how many bytes of values are put in for the variables of one run.
// What an author writes once may be meant many times: a parameter of a megabyte that
// is named in a thousand places is more than there is memory. What is beyond this
// could not be stored or sent anyway (etcd takes 1.5 MiB, the API server 3), and no
// run that anybody has meant comes near it.
const MaxReplaced = 4 << 20

// A Budget is what is left of MaxReplaced. All variables of one run share it.
type Budget struct{ left int }

// NewBudget returns one of which nothing is spent.
func NewBudget() *Budget { return &Budget{left: MaxReplaced} }

// Afford tells whether so many bytes more may be put in, and counts them.
func (b *Budget) Afford(bytes int) bool {
	b.left -= bytes
	return b.left >= 0
}

// Overspent is an error once more was asked for than there is.
func (b *Budget) Overspent() error {
	if b.left >= 0 {
		return nil
	}
	return fmt.Errorf("the values that are put in for variables are too large: together more than %d MiB; make them smaller, or refer to them in fewer places", MaxReplaced>>20)
}
