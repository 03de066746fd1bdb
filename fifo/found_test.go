package fifo_test

import (
	"testing"

	"millrace/fifo"
)

// Claim 12. What was refused is asked for again by its key; the answer is as old
// as the object, the stream has gone on.
func TestWhatWasAskedForByItsKeyMovesNoPublishedVersion(t *testing.T) {
	r := newRig(t, fifo.Config{}).has(obj(t, "a", "u1", "1"), obj(t, "b", "u2", "1"))
	r.do("bookmark@20")
	r.expect("Bookmark →20")
	if err := r.Found(obj(t, "a", "u1", "5")); err != nil {
		t.Fatal(err)
	}
	r.expect("a Updated u1@5 →20")
	if err := r.Found(obj(t, "a", "u1", "5")); err != nil { // known as it is
		t.Fatal(err)
	}
	r.expect()
	r.Gone(key("b"))
	r.Gone(key("unheard-of"))
	r.expect("b Deleted u2 unseen →20")
}

// Both are folded into what waits, as events are, and neither is heard after the
// end.
func TestWhatWasAskedForByItsKeyIsFoldedIn(t *testing.T) {
	r := newRig(t, fifo.Config{}).has(obj(t, "a", "u1", "1"))
	r.do("~a/u1@2 +b/u3@3")
	if err := r.Found(obj(t, "a", "u9", "4")); err != nil { // deleted and made again
		t.Fatal(err)
	}
	r.Gone(key("b"))
	r.expect("a Deleted u1@2+1 unseen Added u9@4 →2", "b Deleted u3@3+1 unseen →3")
	r.Close()
	r.Gone(key("a"))
	if err := r.Found(obj(t, "c", "u4", "5")); err == nil {
		t.Error("a closed FIFO took an object")
	}
	r.expect()
}
