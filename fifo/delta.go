package fifo

import (
	"time"

	"k8s.io/apimachinery/pkg/types"

	"millrace/wire"
)

// DeltaType says what happened to an object.
type DeltaType uint8

const (
	// Added is an object under a key where none was, or where one with another
	// UID was: a Deleted stands before it then.
	Added DeltaType = iota + 1
	// Updated is a new state of an object that is known.
	Updated
	// Deleted is the end of the object with Delta.UID.
	Deleted
	// Sync is a resync's reminder of an object that is known and has no news.
	Sync
	// Bookmark is no object at all: the stream has come further, which
	// Entry.ResourceVersion tells.
	Bookmark
)

// String is the type's name for logs and messages.
func (t DeltaType) String() string {
	switch t {
	case Added:
		return "Added"
	case Updated:
		return "Updated"
	case Deleted:
		return "Deleted"
	case Sync:
		return "Sync"
	case Bookmark:
		return "Bookmark"
	default:
		return "none"
	}
}

// Delta is one step from what the consumer knows of an object to how it is now.
type Delta struct {
	Type DeltaType

	// Object is the new state of Added and Updated, and the last state of
	// Deleted if anybody saw one. It is nil on a Deleted that was worked out
	// (see FinalStateUnknown) of an object that was not waiting here, and on
	// Sync and Bookmark: the consumer has the object.
	Object *wire.Object

	// UID is the life that this is about. On Deleted it is the last one that
	// the consumer knew, or could have known.
	UID types.UID

	// FinalStateUnknown marks a Deleted that nobody saw happen: a list lacked
	// the object, or showed another UID under its name. Object is then an older
	// state, or nil.
	FinalStateUnknown bool

	// Initial marks an Added or Updated that came with the first list. An end
	// is never initial: it is news.
	Initial bool

	// Merged is how many further changes this delta stands for: later ones that
	// it replaced or took up.
	Merged int

	// Received is when the first change in this delta arrived.
	Received time.Time
}

// Entry is everything that waited for one object when it was its turn: at most
// Deleted, Added and Updated, in this order, or one Sync, or one Bookmark
// (whose key is empty).
type Entry struct {
	Key    types.NamespacedName
	Deltas []Delta

	// ResourceVersion is how far the consumer is once it has taken this entry
	// in: everything that the stream said up to there. It is empty while the
	// first list is not complete.
	ResourceVersion string
}
