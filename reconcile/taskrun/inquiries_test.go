package taskrun

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// scheduled is a pod that is on a node, and does not say why it has not started.
func (c *cluster) scheduled() {
	c.pod().Spec.NodeName = "node"
	c.kubelet(corev1.PodStatus{Phase: corev1.PodPending})
}

// A pod takes longer to start than is usual. What the run says of it comes back as news of
// the run, and somebody writes to it 20 times a second besides: the events are read when
// there is something to say, and then every quarter of a minute, and the run says once
// what they tell.
func TestNewsOfARunDoNotHaveEventsReadAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, oneStep)
		c.server.warning = "FailedMount: no such thing"
		c.settle(nil)
		c.scheduled()
		c.settle(nil)
		begun := len(c.server.calls)
		time.Sleep(8 * time.Second)
		c.settle(nil) // until its own writes are no news
		if got, want := verbs(c.server.calls[begun:]), "list events, patch taskrun/status"; got != want {
			t.Fatalf("a pod that takes its time costs %s, and not %s", got, want)
		}
		for range 44 * 20 {
			time.Sleep(50 * time.Millisecond)
			c.reconcile()
		}
		if got, want := verbs(c.server.calls[begun+2:]), "list events, list events"; got != want {
			t.Errorf("in 44 seconds it costs %s, and not %s", got, want)
		}
		if said := c.server.run.Succeeded().Message; !strings.Contains(said, c.server.warning) {
			t.Errorf("the run says %q", said)
		}
		begun = len(c.server.calls)
		c.kubelet(running())
		c.settle(nil)
		c.kubelet(ended(0))
		c.settle(nil)
		if got, want := verbs(c.server.calls[begun:]), "patch taskrun/status, patch taskrun/status"; got != want || len(c.rec.inquiries.of) != 0 {
			t.Errorf("then it costs %s, and not %s, and remembered are %v", got, want, c.rec.inquiries.of)
		}
	})
}

// Nobody looks while another trouble comes up: the run is looked at when it is time to ask
// again, which is not the whole time after each piece of news.
func TestNewsDoNotPutOffTheNextInquiry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, oneStep)
		c.settle(nil)
		c.scheduled()
		time.Sleep(8 * time.Second)
		c.settle(nil)
		time.Sleep(10 * time.Second)
		if again := c.reconcile().RequeueAfter; again != 5*time.Second {
			t.Fatalf("ten seconds after events were read the run is to be looked at in %s", again)
		}
		c.server.warning = "FailedCreatePodSandBox: no address"
		time.Sleep(5 * time.Second)
		c.settle(nil)
		if said := c.server.run.Succeeded().Message; c.asked("list events") != 2 || !strings.Contains(said, c.server.warning) {
			t.Errorf("events were read %d times, and the run says %q", c.asked("list events"), said)
		}
	})
}

// The pod that events were read of is deleted before it has begun, and another made: what
// was the matter with the one is not said of the other.
func TestWhatEventsToldIsOfOnePod(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, oneStep)
		c.server.warning = "FailedMount: no such thing"
		c.settle(nil)
		c.scheduled()
		time.Sleep(8 * time.Second)
		c.settle(nil)
		first := c.pod()
		delete(c.server.pods, first.Name)
		c.settle(nil)
		c.server.warning = ""
		c.pod().CreationTimestamp = first.CreationTimestamp // an inquiry is due at once
		c.scheduled()
		c.settle(nil)
		if said := c.server.run.Succeeded().Message; c.asked("list events") != 2 || strings.Contains(said, "FailedMount") {
			t.Errorf("events were read %d times for two pods, and the run says %q", c.asked("list events"), said)
		}
	})
}

// A run that ends while its pod waits, and is not reconciled here any more, leaves nothing.
func TestAnInquiryEndsWithItsRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, oneStep)
		c.settle(nil)
		c.scheduled()
		time.Sleep(8 * time.Second)
		c.settle(nil)
		if len(c.rec.inquiries.of) != 1 {
			t.Fatalf("remembered are %v", c.rec.inquiries.of)
		}
		c.rec.RunEnded(c.key())
		if len(c.rec.inquiries.of) != 0 {
			t.Errorf("remembered are %v", c.rec.inquiries.of)
		}
	})
}

func verbs(calls []received) string {
	all := make([]string, len(calls))
	for i, call := range calls {
		all[i] = call.verb
	}
	return strings.Join(all, ", ")
}
