package simulation

import (
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"millrace/internal/simulation/apiserver"
	"millrace/internal/simulation/turnstile"
)

// A Plan is one simulation: run twice it is the same twice. Its text is in
// plantext.go.
type Plan struct {
	Seed turnstile.Seed
	// Workload is what users do: one of Workloads.
	Workload string
	// Chaos multiplies the chances of all faults that come by chance; 0: none do.
	Chaos float64
	// Only, if it is not nil, has the faults and runs that it names happen and no
	// others: what a failing plan is made smaller with.
	Only map[string]bool

	// What is to go wrong at one certain point, if anything is:
	Crash  *Crash
	Stale  *Stale
	Unseen *Unseen
}

// Crash kills the process at one of its writes (Leases and Events aside).
type Crash struct {
	Write int // from 1
	When  apiserver.Moment
}

// Stale kills the process after one of its writes, and shows the next one a
// resource as it was when an earlier write came in, for a while: a server that does
// not keep its word. Such is a process that travels in time, as Sieve says.
type Stale struct {
	Resource   string
	Seen, Lost int // the resource is shown as of write Seen, the process dies after write Lost
}

// Unseen keeps one change from a process until it has been told of another one, or
// for unseenAtMost. What has been overtaken by then it is never told, as if it had
// been away and listed again.
type Unseen struct {
	Actor        string // the process
	Event, Until Change
}

// A Change is one version of one object.
type Change struct {
	Resource string
	Key      types.NamespacedName
	Nth      int // of the changes of what has that name, from 1: its creation
}

// String names the change: pods/blue/a-pod#3.
func (c Change) String() string {
	return fmt.Sprintf("%s/%s/%s#%d", c.Resource, c.Key.Namespace, c.Key.Name, c.Nth)
}

// unseenAtMost is how long a change is kept from a process if that which it is to
// be kept until does not come. It is less than what a silent watch is given.
const unseenAtMost = 30 * time.Second

// InWords is the plan for people.
func (p Plan) InWords() string {
	parts := []string{fmt.Sprintf("seed %d, workload %q", p.Seed, p.Workload)}
	switch {
	case p.Only != nil:
		parts = append(parts, fmt.Sprintf("with %d things that happen", len(p.Only)))
	case p.Chaos > 0:
		parts = append(parts, "with all that comes by chance")
	}
	if c := p.Crash; c != nil {
		parts = append(parts, fmt.Sprintf("killed at write %d %s", c.Write, moment(c.When)))
	}
	if s := p.Stale; s != nil {
		parts = append(parts, fmt.Sprintf("killed after write %d, and then shown %s as of write %d", s.Lost, s.Resource, s.Seen))
	}
	if u := p.Unseen; u != nil {
		parts = append(parts, fmt.Sprintf("%s does not see %s until it sees %s", u.Actor, u.Event, u.Until))
	}
	return strings.Join(parts, ", ")
}

func moment(m apiserver.Moment) string {
	switch m {
	case apiserver.BeforeActing:
		return "before it is sent"
	case apiserver.BeforeAnswering:
		return "after it is done, with the answer lost"
	default:
		return "after its answer"
	}
}
