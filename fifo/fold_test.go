package fifo_test

import (
	"strconv"
	"testing"

	"millrace/fifo"
)

func TestWhatWaitsForOneObjectIsFolded(t *testing.T) {
	tests := []struct {
		name  string
		known string // an object that the consumer has, as uid@version
		do    string
		want  string
	}{
		{"a new object", "", "+a/u1@2", "a Added u1@2 →2"},
		{"a new object that has changed since", "", "+a/u1@2 ~a/u1@3", "a Added u1@2 Updated u1@3 →3"},
		{"and again", "", "+a/u1@2 ~a/u1@3 ~a/u1@4 ~a/u1@5", "a Added u1@2 Updated u1@5+2 →5"},
		{"news of a known object", "u1@1", "~a/u1@2", "a Updated u1@2 →2"},
		{"much news of it", "u1@1", "~a/u1@2 ~a/u1@3 ~a/u1@4", "a Updated u1@4+2 →4"},
		{"the end of a known object", "u1@1", "-a/u1@2", "a Deleted u1@2 →2"},
		{"its end after news of it", "u1@1", "~a/u1@2 ~a/u1@3 -a/u1@4", "a Deleted u1@4+2 →4"},
		{"its end, told twice", "u1@1", "-a/u1@2 -a/u1@2", "a Deleted u1@2 →2"},
		{"a life that nobody has seen", "", "+a/u1@2 ~a/u1@3 -a/u1@4", "a Deleted u1@4+2 →4"},
		{"another life under the name", "u1@1", "-a/u1@2 +a/u2@3", "a Deleted u1@2 Added u2@3 →3"},
		{"another life, and what became of it", "u1@1", "-a/u1@2 +a/u2@3 ~a/u2@4 ~a/u2@5", "a Deleted u1@2 Added u2@3 Updated u2@5+1 →5"},
		{"another life, its beginning unseen", "u1@1", "~a/u2@3", "a Deleted u1 unseen Added u2@3 →3"},
		{"another life, of which news waited", "u1@1", "~a/u1@2 +a/u2@3", "a Deleted u1@2+1 unseen Added u2@3 →3"},
		{"a third life", "u1@1", "+a/u2@2 +a/u3@3", "a Deleted u1+2 unseen Added u3@3 →3"},
		{"a life between that is over", "u1@1", "-a/u1@2 +a/u2@3 ~a/u2@4 -a/u2@5", "a Deleted u1@2+3 →5"},
		{"two lives that nobody has seen", "", "+a/u1@2 +a/u2@3", "a Deleted u1@2+1 unseen Added u2@3 →3"},
		{"back from the dead with the same UID", "u1@1", "-a/u1@2 +a/u1@3", "a Deleted u1@2 Added u1@3 →3"},
		{"the end of a life that is not the known one", "u1@1", "-a/u2@5", "a Deleted u1 unseen →5"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			r := newRig(t, fifo.Config{})
			if test.known != "" {
				r.has(obj(t, "a", test.known[:2], test.known[3:]))
			}
			r.do(test.do)
			r.expect(test.want)
		})
	}
}

// A consumer that stands still costs one entry for each object, and no more.
func TestWhatWaitsIsBoundedByTheObjects(t *testing.T) {
	r := newRig(t, fifo.Config{})
	r.do("+a/u1@1")
	for i := range 5000 {
		if err := r.Update(obj(t, "a", "u1", strconv.Itoa(i+2))); err != nil {
			t.Fatal(err)
		}
	}
	r.expect("a Added u1@1 Updated u1@5001+4999 →5001")
}

func TestWhatIsKnownAlreadyIsNoNews(t *testing.T) {
	r := newRig(t, fifo.Config{}).has(obj(t, "a", "u1", "7"))
	r.do("+a/u1@7 ~a/u1@7")
	r.expect("Bookmark →7")
	r.do("~a/u1@8 ~a/u1@8 +a/u1@8")
	r.expect("a Updated u1@8 →8")
}

// Upstream: TestDeltaFIFO_DeleteExistingNonPropagated.
func TestTheEndOfWhatNobodyKnowsIsNoNews(t *testing.T) {
	r := newRig(t, fifo.Config{})
	r.do("-a/u1@7")
	r.expect("Bookmark →7")
}

// Objects of some aggregated APIs have no resourceVersion: they cannot be told
// apart, so all are news.
func TestObjectsWithoutAResourceVersionAreAlwaysNews(t *testing.T) {
	r := newRig(t, fifo.Config{}).has(obj(t, "a", "u1", ""))
	r.do("~a/u1@")
	r.expect("a Updated u1@ →1")
}
