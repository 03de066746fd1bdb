package wire

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/json"
)

// EventType says what a watch event reports.
type EventType string

// The five kinds of watch events.
const (
	Added    EventType = "ADDED"
	Modified EventType = "MODIFIED"
	Deleted  EventType = "DELETED"
	Bookmark EventType = "BOOKMARK"
	Error    EventType = "ERROR"
)

// eventType is the type of that name: one of the five as a rule, which take no
// string of their own.
func eventType(name []byte) EventType {
	for _, t := range [...]EventType{Added, Modified, Deleted, Bookmark, Error} {
		if string(t) == string(name) {
			return t
		}
	}
	return EventType(name)
}

// Event is one frame of a watch stream.
type Event struct {
	Type EventType

	// Object is the new state, for Deleted the last one. A Bookmark's has a
	// resourceVersion and no name. It is nil for an Error.
	//
	// It is lent: its bytes are still in the read buffer, and with the next call
	// of Next it becomes the next event's. Whoever keeps it keeps Object.Own().
	// Its key, UID and resourceVersion may be kept as they are.
	Object *Object

	// Status is what an Error says; nil otherwise. The stream is of no use
	// after it.
	Status *metav1.Status

	// InitialEventsEnd marks the Bookmark that ends the list part of a
	// watch-list stream (KEP-3157).
	InitialEventsEnd bool
}

var errNoVersion = errors.New("no resourceVersion in a bookmark")

// EventReader reads the frames of one watch stream: JSON objects, one after the
// other, with or without white space in between; or protobuf, each frame with
// its length before it. It is for one goroutine.
type EventReader struct {
	format Format
	lex    lexer
	meta   meta
	loan   loan
	lost   bool  // the last frame broke off somewhere: the next one begins after a line feed
	err    error // what every further call returns
}

// Events reads a watch stream. It reads nothing yet, and it never closes
// anything.
func (s *Scanner) Events(f Format, r io.Reader) *EventReader {
	e := &EventReader{format: f, loan: loan{scanner: s}, meta: s.meta(), lex: lexer{feed: &feed{src: r}}}
	if f != JSON && f != Protobuf {
		e.err = ErrFormat
	}
	return e
}

// Next returns the next event as soon as its last byte is there. It blocks as
// long as the source blocks; closing the source ends it. The Object of the event
// before is not the caller's any more: see Event.Object.
//
// io.EOF: the stream ended between two frames. io.ErrUnexpectedEOF: it ended
// within one. *ScanError: this frame could not be used, and the next call goes
// on with the one behind it. Any other error is the source's, or ErrTooLarge;
// it comes again with every further call.
func (e *EventReader) Next() (Event, error) {
	e.loan.recall()
	if e.err != nil {
		return Event{}, e.err
	}
	if e.format == Protobuf {
		return e.delimited()
	}
	l := &e.lex
	if e.lost {
		e.resync()
	}
	if l.peek(); l.err != nil {
		return Event{}, e.end()
	}
	l.begin()
	l.depth = 0
	return e.frame()
}

// end is reached when the source ends, or fails, before a frame has begun.
func (e *EventReader) end() error {
	e.err = e.lex.err
	if !errors.Is(e.err, io.EOF) {
		e.err = fmt.Errorf("read watch event: %w", e.err)
	}
	return e.err
}

// frame reads one frame; the lexer stands before it.
func (e *EventReader) frame() (Event, error) {
	l := &e.lex
	defer e.settle()
	e.meta.reset()
	var kind, object span
	if l.opens('{', "an object with type and object") {
		for more := l.enter('{'); more; more = l.next('{') {
			switch string(l.bytes(l.key())) {
			case "type":
				l.text(&kind)
			case "object":
				l.peek()
				object.from = l.pos
				l.object(&e.meta)
				object.to = l.pos
			default:
				l.skip()
			}
		}
	}
	if l.err != nil {
		return Event{}, e.broken()
	}
	return e.event(eventType(l.bytes(kind)), object)
}

// broken is reached when the source ends, or fails, or is no JSON, within a
// frame.
func (e *EventReader) broken() error {
	l := &e.lex
	var syntax *SyntaxError
	switch {
	case errors.As(l.err, &syntax):
		err := l.scanError(&e.meta)
		l.err, l.pos, e.lost = nil, 0, true
		return err
	case errors.Is(l.err, io.EOF):
		e.err = io.ErrUnexpectedEOF
	default:
		e.err = fmt.Errorf("read watch event: %w", l.err)
	}
	return e.err
}

// resync looks for the end of the line in which the broken frame began, and not
// of the one in which that was noticed: half an object ends with its line, but
// where a bracket is open, the next frame is read before it turns out to be none
// of it. A server ends every frame with a line feed, and none can stand inside of
// a JSON string.
func (e *EventReader) resync() {
	l := &e.lex
	for {
		if i := bytes.IndexByte(l.data[l.pos:], '\n'); i >= 0 {
			l.pos += i + 1
			e.lost = false
			return
		}
		l.pos = len(l.data)
		l.begin()
		if !l.more() {
			return
		}
	}
}

// settle gives the read buffer back if it has grown and is not needed.
func (e *EventReader) settle() {
	l := &e.lex
	l.data = l.feed.settle(l.pos, l.data[l.pos:])
	l.pos = 0
}

// event makes an Event of a frame that is JSON.
func (e *EventReader) event(kind EventType, object span) (Event, error) {
	if kind == Error {
		return Event{Type: kind, Status: statusOf(e.lex.data[object.from:object.to])}, nil
	}
	if err := e.check(kind, object); err != nil && e.lex.bad == nil {
		e.lex.bad = err
	}
	o, err := e.loan.json(&e.lex, &e.meta, object.from, object.to, typeMeta{})
	return eventOf(kind, o, err)
}

// eventOf is the event that brings an object, or the error that came instead of
// it.
func eventOf(kind EventType, o *Object, err error) (Event, error) {
	if err != nil {
		return Event{}, err
	}
	ev := Event{Type: kind, Object: o}
	if kind == Bookmark {
		ev.InitialEventsEnd = o.annotation(metav1.InitialEventsAnnotationKey) == "true"
	}
	return ev, nil
}

// check says what an event lacks. A key that is missing must not be passed over
// in silence: the event would be lost while the resourceVersion moves on (issue
// 76624 of kubernetes).
func (e *EventReader) check(kind EventType, object span) error {
	m := &e.meta
	switch kind {
	case Added, Modified, Deleted:
		if object.to == 0 || m.name.to == m.name.from {
			return errNameless
		}
	case Bookmark:
		if object.to == 0 || m.version.to == m.version.from {
			return errNoVersion
		}
	default:
		return fmt.Errorf("unknown type %q of a watch event", kind)
	}
	return nil
}

// statusOf decodes what an Error event carries. The server sends a Status by
// convention only; whatever comes instead ends the stream all the same, so it
// becomes the message of a Status.
func statusOf(object []byte) *metav1.Status {
	var status metav1.Status
	if err := json.Unmarshal(object, &status); err != nil || status.Status == "" {
		const most = 512
		return noStatus(fmt.Sprintf("%.*s", most, object))
	}
	return &status
}

func noStatus(instead string) *metav1.Status {
	return &metav1.Status{
		Status:  metav1.StatusFailure,
		Reason:  metav1.StatusReasonUnknown,
		Code:    http.StatusInternalServerError,
		Message: "error event without a Status: " + instead,
	}
}
