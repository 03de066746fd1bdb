package taskrun

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"millrace/crds"
)

// Somebody has taken the labels off a pod, so that the cache has it no more. An attempt
// that ends takes its pod with it all the same, and one that goes on is not taken for one
// whose pod was deleted.
func TestAnAttemptEndsWithAPodThatTheCacheHasNot(t *testing.T) {
	const retried = oneStep + "  retries: 1\n  timeout: 60s\n"
	strip := func(c *cluster) {
		pod := c.pod()
		pod.Labels = nil
		c.server.setPod(pod)
	}
	for name, story := range map[string]func(*cluster){
		"the run is cancelled": func(c *cluster) {
			strip(c)
			c.server.user([]byte(`{"spec":{"status":"TaskRunCancelled"}}`))
			c.settle(nil)
			if reason := c.server.run.Succeeded().Reason; reason != string(crds.TaskRunReasonCancelled) || len(c.server.pods) != 0 {
				c.t.Errorf("%s, with %d pods", reason, len(c.server.pods))
			}
		},
		"the attempt is out of time, and another follows (seed 1023)": func(c *cluster) {
			strip(c)
			time.Sleep(time.Minute)
			if _, err := c.rec.Reconcile(context.Background(), c.key()); err != nil {
				c.t.Fatal(err)
			}
			if n := len(c.server.run.Status.RetriesStatus); n != 1 || len(c.server.pods) != 0 {
				c.t.Errorf("%d attempts have ended, and %d pods live", n, len(c.server.pods))
			}
		},
		"its step was seen to begin": func(c *cluster) {
			c.kubelet(running())
			labelled := c.pod().DeepCopy()
			strip(c)
			c.rec.PodGone(labelled, true) // as the cache tells it
			if _, err := c.rec.Reconcile(context.Background(), c.key()); err != nil {
				c.t.Fatal(err)
			}
			if c.server.run.Succeeded().Reason != string(crds.TaskRunReasonRunning) || len(c.server.pods) != 1 {
				c.t.Errorf("%+v, with %d pods", c.server.run.Succeeded(), len(c.server.pods))
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := newCluster(t, retried)
				c.settle(nil)
				story(c)
			})
		})
	}
}
