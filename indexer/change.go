package indexer

import (
	"time"

	"k8s.io/apimachinery/pkg/types"

	"millrace/wire"
)

// ChangeType says how the store changed.
type ChangeType uint8

const (
	// Created is an object under a key that had none.
	Created ChangeType = iota + 1
	// Updated is another state of an object; with Resync, the same state once
	// more.
	Updated
	// Deleted is an object that is gone.
	Deleted
	// Generic is news from somewhere else than the API server. The indexer
	// never makes one.
	Generic
)

// String is the type's name in the words of an event: create, update, delete,
// generic.
func (t ChangeType) String() string {
	switch t {
	case Created:
		return "create"
	case Updated:
		return "update"
	case Deleted:
		return "delete"
	case Generic:
		return "generic"
	default:
		return "none"
	}
}

// Change is one thing that happened to the store, told after the store holds
// it. An object that was replaced by another one of its name makes two:
// Deleted, then Created.
type Change struct {
	Type ChangeType
	Key  types.NamespacedName

	// Old is what was there: nil on Created. On Deleted it is the object's last
	// state: the one that the DELETED event carried, else the one that the
	// store had. New is what is there now: nil on Deleted. On a resync they are
	// the same.
	Old, New *wire.Object

	// Initial marks objects of the first list: there is no news in them, only a
	// first look.
	Initial bool
	// Resync marks a replay of what the store holds. It repairs no event that
	// was missed.
	Resync bool
	// FinalStateUnknown marks a Deleted that was found out by a list; Old is
	// then the last state that was seen.
	FinalStateUnknown bool
	// Merged is how many further changes this one stands for.
	Merged int
	// Received is when the first of them reached the process. It is zero on the end
	// of an object that was worked out here, because another has its name now.
	Received time.Time
}

// Object is the newest state that the change tells of: New, or Old of what is
// gone.
func (c Change) Object() *wire.Object {
	if c.New != nil {
		return c.New
	}
	return c.Old
}
