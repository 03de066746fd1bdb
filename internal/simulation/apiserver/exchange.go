package apiserver

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// A Request is what somebody asks, by name: no two of a simulation are equal.
type Request struct {
	Actor       string // who asks; a process that was started again is somebody else
	Verb        string // get, list, watch, create, update, patch, delete
	Group       string
	Resource    string
	Subresource string
	Key         types.NamespacedName
	Only        string // a list or a watch: the one name that it asks for
	Continues   bool   // a list: it asks for another page
	Initial     bool   // a watch: it asks for the present objects first
	Nth         int    // of those that are otherwise equal, from 1
}

// String names the request, for people and for draws.
func (r Request) String() string {
	path := r.Resource
	if r.Key.Namespace != "" {
		path += "/" + r.Key.Namespace
	}
	if r.Key.Name != "" {
		path += "/" + r.Key.Name
	}
	if r.Subresource != "" {
		path += "/" + r.Subresource
	}
	if r.Only != "" {
		path += "?" + r.Only
	}
	verb := r.Verb
	switch {
	case r.Continues:
		verb = "list on"
	case r.Initial:
		verb = "list and watch"
	}
	return r.Actor + " " + verb + " " + path + " #" + strconv.Itoa(r.Nth)
}

// Writes tells whether the request is to change something.
func (r Request) Writes() bool {
	switch r.Verb {
	case "create", "update", "patch", "delete":
		return true
	default:
		return false
	}
}

// An Exchange is a request and what came of it. For a write it is told when it
// is committed or refused, for the rest when it is answered.
type Exchange struct {
	Request

	Sent time.Time // when the request had come in
	At   time.Time // when the server acted
	Code int       // of the answer that the server gave, or would have given; 0: it never acted
	Why  string    // the reason in that answer, if it is a refusal
	// Fault is what went wrong, in the words of who made it go wrong.
	Fault string
	// Lost: the answer never reached whoever had asked.
	Lost bool

	// Body is of a patch.
	Body []byte
	// UID and ResourceVersion are what the write insists on.
	UID             types.UID
	ResourceVersion string

	// Before and After are of a write that was committed: nil for nothing.
	Before, After *Object
}

// Committed tells whether something was changed.
func (e Exchange) Committed() bool { return e.Before != e.After }

// String is one line of a timeline, without the time.
func (e Exchange) String() string {
	var s strings.Builder
	s.WriteString(e.Request.String())
	if e.Code == 0 {
		s.WriteString(" → nothing done")
	} else {
		fmt.Fprintf(&s, " → %d", e.Code)
	}
	if e.Why != "" {
		s.WriteString(" " + e.Why)
	}
	if e.Committed() && e.After != nil {
		fmt.Fprintf(&s, " @%d", e.After.version)
	}
	if e.Lost {
		s.WriteString(", answer lost")
	}
	if e.Fault != "" {
		s.WriteString("  ⚡ " + e.Fault)
	}
	return s.String()
}
