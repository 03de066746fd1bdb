package faultproxy

import (
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"millrace/internal/simulation/apiserver"
)

// An Exchange is a request and what came of it. A watch is there from the moment
// that it is asked for, and ends when its stream does.
type Exchange struct {
	apiserver.Request

	Sent  time.Time // when the request had come in
	Ended time.Time // when all of the answer was passed on, or given up; zero: not yet
	Code  int       // of the answer that the server gave, or the proxy; 0: there was none
	Fault string    // what the plan had for it
	// Lost: whoever had asked did not get all of the answer.
	Lost bool
	// Events are how many of a watch were passed on.
	Events int
	// Error: one of them was an ERROR, of the server's own.
	Error bool

	// Body is of a patch.
	Body []byte
	// UID and ResourceVersion are what a write insists on.
	UID             types.UID
	ResourceVersion string
	// Version is that of the object, after a write.
	Version string
}

// Done tells whether a write was done.
func (e Exchange) Done() bool { return e.Writes() && e.Code >= 200 && e.Code < 300 }

// String is one line of a timeline, without the time.
func (e Exchange) String() string {
	var s strings.Builder
	s.WriteString(e.Request.String())
	switch {
	case e.Code != 0:
		fmt.Fprintf(&s, " → %d", e.Code)
	case e.Ended.IsZero():
		s.WriteString(" → …")
	default:
		s.WriteString(" → no answer")
	}
	if e.Verb == "watch" && e.Code == 200 {
		fmt.Fprintf(&s, ", %d events", e.Events)
	}
	if e.Lost {
		s.WriteString(", lost")
	}
	if !e.Ended.IsZero() {
		fmt.Fprintf(&s, " (%d ms)", e.Ended.Sub(e.Sent).Milliseconds())
	}
	if e.Fault != "" {
		s.WriteString("  ⚡ " + e.Fault)
	}
	return s.String()
}
