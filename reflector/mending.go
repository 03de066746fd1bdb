package reflector

import (
	"context"
	"errors"
	"time"
)

const (
	// mendAfter is how soon a watch is ended that has passed over something of which
	// nothing is known: only a list can bring it. What has spoilt one event may spoil
	// more, and one list serves for all of them.
	mendAfter = 10 * time.Second
	// mendDoubles is how often that time is doubled at most, each time that the list
	// was in vain. After ten minutes the watch has ended by itself.
	mendDoubles = 6
)

// errGap is why we end a watch that goes on past something that it has not told.
var errGap = errors.New("something was passed over that only a list can bring")

// mending ends a stream some time after a gap was seen in it.
type mending struct {
	cancel context.CancelCauseFunc
	after  time.Duration
	timer  *time.Timer // nil before a gap
}

func (m *mending) begin() {
	if m.timer == nil {
		m.timer = time.AfterFunc(m.after, func() { m.cancel(errGap) })
	}
}

func (m *mending) stop() {
	if m.timer != nil {
		m.timer.Stop()
	}
}

// patience is how long a watch may go on that lacks something.
func (p position) patience() time.Duration {
	return mendAfter << min(p.gaps, mendDoubles)
}
