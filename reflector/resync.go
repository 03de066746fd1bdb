package reflector

import (
	"context"
	"time"
)

// resyncs asks the sink to replay, once in every period, from when there is
// something to replay.
func (r *Reflector) resyncs(ctx context.Context) {
	if r.cfg.ResyncPeriod <= 0 {
		return
	}
	ticker := time.NewTicker(r.cfg.ResyncPeriod)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			r.resync()
		}
	}
}

func (r *Reflector) resync() {
	if r.Status().ResourceVersion == "" {
		return
	}
	r.sink.Resync()
	r.cfg.Trace.resynced()
}
