package transform

import (
	"encoding/json"
	"fmt"

	"millrace/wire"
)

// Func makes the object that is kept of the one that came.
//
// It must be total (an error loses that state of the object for everybody),
// idempotent (what it has made it leaves alone), and it must not change key,
// UID or resourceVersion. It may be called by several goroutines.
//
// The object is lent, as wire.Event says: a Func that wants to keep something of
// it beyond its return keeps its Own(). What it returns need not be owned: the
// FIFO sees to that.
type Func func(*wire.Object) (*wire.Object, error)

// Cut takes fields out of the bytes.
func Cut(paths ...wire.Path) Func {
	return func(o *wire.Object) (*wire.Object, error) { return o.Cut(paths...) }
}

// Chain applies one after the other, and stops at the first error.
func Chain(funcs ...Func) Func {
	return func(o *wire.Object) (*wire.Object, error) {
		for _, f := range funcs {
			var err error
			if o, err = f(o); err != nil {
				return nil, err
			}
		}
		return o, nil
	}
}

// Default is what nearly everybody wants: without metadata.managedFields, which
// is the largest part of many objects, and without the annotation in which
// kubectl apply keeps a copy of what was applied. Neither is of use to a
// controller that writes patches.
func Default() Func {
	return Cut(
		wire.Path{"metadata", "managedFields"},
		wire.Path{"metadata", "annotations", "kubectl.kubernetes.io/last-applied-configuration"},
	)
}

// Typed decodes the object, lets change make it smaller, and encodes it again:
// for what no path can say. It costs a decode and an encode for each event,
// which is all that keeping bytes saves; and fields that T does not know are
// lost, and so are the facets. Take Cut where it can do it.
func Typed[T any](change func(*T)) Func {
	return func(o *wire.Object) (*wire.Object, error) {
		t, err := wire.Decode[T](o)
		if err != nil {
			return nil, err
		}
		change(&t)
		raw, err := json.Marshal(t)
		if err != nil {
			return nil, fmt.Errorf("encode %s: %w", o.Key(), err)
		}
		return wire.Scan(wire.JSON, raw)
	}
}
