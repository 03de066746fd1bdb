package reconcile

import (
	"fmt"
	"time"
)

// stuckMargin is what a Func may take to return after its ctx has ended.
const stuckMargin = time.Minute

// Stuck says that a worker has been busy with one key for longer than Timeout and
// GateTimeout allow, with a minute to spare: the Func does not look at its ctx, and
// that worker may never come back. Nobody but a new process can mend it. It is nil
// otherwise, and without a Timeout. It may be called from anywhere.
//
// A server that does not answer is no reason: the Func's calls end with its ctx.
func (p *Pool) Stuck() error {
	allowed := p.cfg.Timeout + p.cfg.GateTimeout + stuckMargin
	longest := p.queue.Stats().LongestRunning
	if p.cfg.Timeout <= 0 || longest <= allowed {
		return nil
	}
	return fmt.Errorf("a worker of %s has been busy with one key for %v, though %v is what it may take at the most", p.name, longest.Round(time.Second), allowed)
}
