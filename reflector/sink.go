package reflector

import (
	"k8s.io/apimachinery/pkg/types"

	"millrace/wire"
)

// A Sink is told what the server says. No two of its methods but Resync are
// called at the same time: Found and Gone come from the goroutine that asks for
// what is in quarantine, the others from that of Run, and they take turns. Resync
// is called by a goroutine of its own and may meet any of them, so a sink locks.
//
// A list is Begin, any number of Items and Keeps, and either Commit or Abort:
//
//	Begin  Item  Keep  Item  Commit("4711")   what was neither an Item nor a Keep is gone
//	Begin  Item  Abort                        the Items are true, the rest unknown: nothing is gone
//
// A streaming list shares its connection with the changes that happen
// meanwhile. So between Begin and Commit an object may come twice, of which the
// later counts, and Delete may come for one that was an Item.
//
// The objects are lent by the stream that they come from: they are the sink's
// until the method returns, and what it keeps is their Own(), or key, UID and
// resourceVersion. See wire.Event.
//
// An error of Item, Add, Update, Delete or Found means that the sink has not taken
// the object in. It is traced as a Refusal, and the key goes into quarantine:
// the object is asked for again; the others go on. An Item that is refused was
// still there: a Commit must not take it for deleted.
type Sink interface {
	// Begin starts a list. Never called twice without Commit or Abort between.
	Begin()
	// Item is one object of the list.
	Item(*wire.Object) error
	// Keep is one object of the list that could not be read; what is known of
	// it is its key. It is there all the same, so Commit must not take it for
	// deleted. (One whose key could not be read either is traced as a Refusal,
	// and Commit can only take it for deleted until a later list shows it.)
	Keep(key types.NamespacedName)
	// Commit ends a list that was complete up to resourceVersion.
	Commit(resourceVersion string)
	// Abort ends a list that was not.
	Abort()

	// Add, Update and Delete are the events of a watch, as the server names
	// them. After a lost connection they may repeat what is already known.
	Add(*wire.Object) error
	Update(*wire.Object) error
	// Delete brings the last state of the object, with the resourceVersion of
	// its deletion.
	Delete(*wire.Object) error
	// Bookmark says that everything up to resourceVersion has been told.
	Bookmark(resourceVersion string)

	// Found and Gone are the answer for one key from quarantine, never between
	// Begin and the end of a list: what the object is at the last resourceVersion
	// that the sink was told of, or that there is none. The resourceVersion of
	// the object itself may be older, and says nothing about the stream.
	Found(*wire.Object) error
	Gone(key types.NamespacedName)

	// Resync asks for a replay of what is known. It repairs no missed event:
	// it lets handlers and reconcilers look again at what the cache holds.
	Resync()
}
