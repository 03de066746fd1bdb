package taskrun

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// Somebody writes to a run 20 times a second while its pod is refused: each news has
// the run looked at, and none has the pod asked for again before its time.
func TestNewsOfARunDoNotHaveARefusedPodTriedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, oneStep)
		c.server.refuse = statusError(403, "Forbidden", `pods "run-pod" is forbidden: exceeded quota: compute`)
		begun := time.Now()
		tries := func() (n int) {
			for _, call := range c.server.calls {
				if strings.HasPrefix(call.verb, "create pod") {
					n++
				}
			}
			return n
		}
		for range 30 * 20 {
			c.reconcile()
			time.Sleep(50 * time.Millisecond)
		}
		if n := tries(); n < 4 || n > 30 {
			t.Errorf("in %s the pod was asked for %d times: %q", time.Since(begun), n, c.server.calls)
		}
		c.server.refuse = nil
		c.settle(nil)
		if c.pod() == nil || len(c.rec.refusals.until) != 0 {
			t.Errorf("the pod is %v, and remembered are %v", c.pod(), c.rec.refusals.until)
		}
	})
}
