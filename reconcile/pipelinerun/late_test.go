package pipelinerun

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	corev1 "k8s.io/api/core/v1"

	"millrace/crds"
)

// comes is a child that a process was to make that has died since: the server acts now.
func (c *cluster) comes(resource, kind, name string) {
	c.insert(resource, name, []byte(`{"kind":"`+kind+`","metadata":{"name":"`+name+`","labels":{"tekton.dev/pipelineTask":"a"},
		"ownerReferences":[{"controller":true,"kind":"PipelineRun","name":"run","uid":"`+string(c.run().UID)+`"}]}}`))
}

// The creation of a child is under way when its process dies, and comes to be when the
// next one has ended the PipelineRun, and has put it away as settled: whoever looks then
// asks the child to stop, once, and writes nothing else.
func TestAChildThatComesAfterTheEndIsAskedToStop(t *testing.T) {
	for kind, resource := range map[string]string{
		crds.KindTaskRun: crds.ResourceTaskRuns, crds.KindCustomRun: crds.ResourceCustomRuns, crds.KindPipelineRun: crds.ResourcePipelineRuns,
	} {
		synctest.Test(t, func(t *testing.T) {
			c := newCluster(t, oneTask)
			c.patch(crds.ResourcePipelineRuns, "run", `{"spec":{"status":"Cancelled"}}`)
			c.settle(nil)
			if !c.run().IsDone() || !c.rec.settled.Is(runKey, c.run().ResourceVersion) || c.rec.HasUnended(c.run().UID) {
				t.Fatalf("the run is at %+v", c.run().Succeeded())
			}
			calls := len(c.calls)
			c.comes(resource, kind, "run-a")
			if !c.rec.HasUnended(c.run().UID) {
				t.Errorf("%s: it has no child that goes on", kind)
			}
			for range 3 {
				c.settle(nil)
			}
			if made := c.calls[calls:]; len(made) != 1 || !strings.HasPrefix(made[0], "cancel "+resource) {
				t.Errorf("%s: the server is asked %q", kind, made)
			}
			c.patch(resource, "run-a", `{"status":{"conditions":[{"type":"Succeeded","status":"False","reason":"Cancelled"}]}}`)
			decodes := c.decodedPRs
			for range 3 {
				c.settle(nil)
			}
			if c.decodedPRs-decodes > 1 || len(c.calls) != calls+1 {
				t.Errorf("%s: when it had stopped the run was decoded %d times, and the server asked %q", kind, c.decodedPRs-decodes, c.calls[calls:])
			}
		})
	}
}

// One that has ended when it comes is nobody's concern.
func TestAChildThatCameAndEndedIsNotLookedAt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, oneTask)
		c.settle(nil)
		c.ends("run-a", corev1.ConditionTrue, "Succeeded")
		c.settle(nil)
		decodes, calls := c.decodedPRs, slices.Clone(c.calls)
		c.frozen = true
		c.comes(crds.ResourceTaskRuns, crds.KindTaskRun, "run-b")
		c.ends("run-b", corev1.ConditionTrue, "Succeeded")
		c.thaw()
		c.settle(nil)
		if c.decodedPRs != decodes || !slices.Equal(c.calls, calls) {
			t.Errorf("%d decodes, and %q", c.decodedPRs-decodes, c.calls[len(calls):])
		}
	})
}
