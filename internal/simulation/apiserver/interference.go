package apiserver

import (
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// Interference decides what goes wrong, and how long all takes. It is called
// without the server's lock, from many goroutines.
type Interference interface {
	// Request is asked once about each request.
	Request(Request) Verdict
	// Event is asked once about each event of a watch.
	Event(Event) EventVerdict
}

// A Moment is a point in the life of a request.
type Moment int

// The moments at which an answer can be lost, or a process killed.
const (
	Never Moment = iota
	BeforeActing
	BeforeAnswering
	AfterAnswering
)

// A Verdict says what becomes of a request. The zero Verdict lets it pass.
type Verdict struct {
	// Fault names what goes wrong, for people; empty if nothing does.
	Fault string
	// Wait is the way to the server, Linger the way back.
	Wait, Linger time.Duration
	// Refuse is an answer in place of acting.
	Refuse *apierrors.StatusError
	// Lose is when the connection breaks; with Hang it does not break, and
	// nothing more comes, until whoever had asked goes away.
	Lose Moment
	Hang bool
	// Kill is when the process that asked dies: it is told nothing any more, and
	// nothing that it sends arrives.
	Kill Moment
	// Late is for who dies before the server acts: what it had sent was under way, and
	// the server acts that much later. 0: it never does.
	Late time.Duration
	// BytesPerSecond is how fast the answer is, as long as Slow returns true; 0 for
	// at once.
	BytesPerSecond int
	Slow           func() bool
	// Lag shows a list that need not be of now as of that many versions ago.
	Lag int
	// AsOf shows any list as of that version, whatever it asked for: a server that
	// does not keep its word. 0: it does.
	AsOf uint64
	// End ends a watch as soon as it is open.
	End Ending
	// Mute accepts a watch, and never says anything.
	Mute bool
	// Bookmarks: how the watch's are.
	Bookmarks Bookmarks
	// Spoil spoils one item of a list, as it is sent: the one that Item picks.
	Spoil Spoiling
	Item  int
}

// Bookmarks are what a watch says once a minute.
type Bookmarks int

// How bookmarks can be.
const (
	BookmarksAsDue Bookmarks = iota
	NoBookmarks
	OldBookmarks  // of where the watch began
	LateBookmarks // up to so late that whoever waits gives up
)

// An Event is one that a watch is about to tell.
type Event struct {
	Watch   Request
	N       int    // of this watch, from 1
	Type    string // ADDED, MODIFIED, DELETED, BOOKMARK
	Object  *Object
	Before  *Object // of MODIFIED: the version before
	Initial bool    // of the initial events, or the bookmark that ends them
}

// An EventVerdict says what becomes of an event. The zero one lets it pass.
type EventVerdict struct {
	Fault string
	Wait  time.Duration
	// Skip does not tell it, if the object has another version when the wait is
	// over: then that one is told, as ADDED if none was before.
	Skip bool
	// Twice tells it twice.
	Twice bool
	// Older tells an older version of the object after it.
	Older bool
	// Spoil spoils the object, as it is sent.
	Spoil Spoiling
	// End ends the watch in its place.
	End Ending
}

// Arrives tells whether the watcher gets an object that it can read.
func (v EventVerdict) Arrives() bool {
	return v.End == GoOn && (v.Spoil == Whole || v.Spoil >= UnknownFields)
}

// Ending is how a watch ends.
type Ending int

// How a watch can end.
const (
	GoOn Ending = iota
	Close
	Tear // in the middle of the event
	Reset
	Expire // an ERROR event with 410
	GoMute
)

// Calm is no interference at all, and takes no time; for tests.
type Calm struct{}

// Request lets every request pass.
func (Calm) Request(Request) Verdict { return Verdict{} }

// Event lets every event pass.
func (Calm) Event(Event) EventVerdict { return EventVerdict{} }
