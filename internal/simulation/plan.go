package simulation

import (
	"fmt"
	"strings"
	"time"

	"millrace/internal/simulation/apiserver"
	"millrace/internal/simulation/turnstile"
)

// A Plan is one simulation: run twice it is the same twice.
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

// Stale kills the process at one of its writes, and shows the next one a resource
// as it was some writes before, for a while: a server that does not keep its word.
type Stale struct {
	Resource   string
	Seen, Lost int // the resource is frozen after write Seen, the process dies after write Lost
}

// Unseen keeps one event from the process until the object has changed again.
type Unseen struct {
	Resource string
	Event    int           // of the resource's watch, from 1
	Until    time.Duration // at most that long
}

// String is the plan in a line.
func (p Plan) String() string {
	parts := []string{fmt.Sprintf("SEED=%d workload=%q", p.Seed, p.Workload)}
	if p.Chaos > 0 {
		parts = append(parts, fmt.Sprintf("chaos=%g", p.Chaos))
	}
	if p.Only != nil {
		parts = append(parts, fmt.Sprintf("of it only %d", len(p.Only)))
	}
	if c := p.Crash; c != nil {
		parts = append(parts, fmt.Sprintf("killed at write %d %s", c.Write, moment(c.When)))
	}
	if s := p.Stale; s != nil {
		parts = append(parts, fmt.Sprintf("killed after write %d, and then shown %s as of write %d", s.Lost, s.Resource, s.Seen))
	}
	if u := p.Unseen; u != nil {
		parts = append(parts, fmt.Sprintf("event %d of %s unseen", u.Event, u.Resource))
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
