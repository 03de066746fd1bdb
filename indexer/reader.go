package indexer

import (
	"errors"

	"k8s.io/apimachinery/pkg/types"

	"millrace/wire"
)

// Reader reads objects as T: the one door where bytes become a type. T is a
// struct, or a pointer to one.
//
// What it returns is decoded for the caller and shared with nobody: change it
// at will, and never write it back whole, since fields may have been cut from
// it. Every read costs a decode; to look at a label, an owner or the bare
// existence of an object, take Indexer.Object.
type Reader[T any] struct{ x *Indexer }

// Read makes a Reader of x.
func Read[T any](x *Indexer) Reader[T] { return Reader[T]{x} }

// Get is one object, and whether it is there. An object that is there and does
// not fit T comes as a *wire.DecodeError.
func (r Reader[T]) Get(key types.NamespacedName) (T, bool, error) {
	o, ok := r.x.Object(key)
	if !ok {
		var none T
		return none, false, nil
	}
	t, err := decode[T](r.x, o)
	return t, true, err
}

// List is all objects of one namespace, or of all if it is empty, in the order
// of their keys. Those that do not fit T are left out, and the error joins a
// *wire.DecodeError for each; the others are good.
func (r Reader[T]) List(namespace string) ([]T, error) {
	return decodeAll[T](r.x, r.x.Objects(namespace))
}

// ReadIndex is all objects that an index has under v, read as T. See
// Reader.List.
func ReadIndex[T any, V comparable](i *Index[V], v V) ([]T, error) {
	return decodeAll[T](i.x, i.Objects(v))
}

func decodeAll[T any](x *Indexer, objects []*wire.Object) ([]T, error) {
	list := make([]T, 0, len(objects))
	var errs []error
	for _, o := range objects {
		t, err := decode[T](x, o)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		list = append(list, t)
	}
	return list, errors.Join(errs...)
}

func decode[T any](x *Indexer, o *wire.Object) (T, error) {
	x.decodes.Add(1)
	return wire.Decode[T](o)
}
