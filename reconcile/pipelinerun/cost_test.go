package pipelinerun

import (
	"context"
	"encoding/json"
	"fmt"
	"runtime"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"millrace/crds"
)

// BenchmarkReconciles is the whole life of a run through Reconcile: from the first look
// to the last, one reconcile for each child that ends, as the chain would ask for.
// What counts is the processor's time in the reconciler alone: not what the server of
// the test takes, and not what others on the machine do. cpu-µs/task is to be about
// the same for 25 tasks and for 200.
func BenchmarkReconciles(b *testing.B) {
	for _, shape := range []string{"chain", "fanout"} {
		for _, n := range []int{25, 50, 100, 200} {
			b.Run(fmt.Sprintf("%s/%d", shape, n), func(b *testing.B) {
				runtime.LockOSThread()
				defer runtime.UnlockOSThread()
				run := &crds.PipelineRun{Spec: crds.PipelineRunSpec{PipelineSpec: &crds.PipelineSpec{Tasks: shapes[shape](n)}}}
				run.Kind, run.Name = crds.KindPipelineRun, "run"
				document := string(must(json.Marshal(run)))
				var spent time.Duration
				for b.Loop() {
					spent += wholeLife(b, document)
				}
				b.ReportMetric(float64(spent.Microseconds())/float64(b.N*n), "cpu-µs/task")
			})
		}
	}
}

// wholeLife is how long the reconciler was at it.
func wholeLife(b *testing.B, document string) (spent time.Duration) {
	b.Helper()
	c := newCluster(b, document)
	key := types.NamespacedName{Namespace: "default", Name: "run"}
	for ended := 0; !c.run().IsDone(); ended++ {
		c.inServer = 0
		from := threadTime()
		if _, err := c.rec.Reconcile(context.Background(), key); err != nil {
			b.Fatal(err)
		}
		spent += threadTime() - from - c.inServer
		if ended < len(c.made) {
			c.patch(crds.ResourceTaskRuns, c.made[ended], `{"status":{"results":[{"name":"r","type":"string","value":"v"}]}}`)
			c.ends(c.made[ended], corev1.ConditionTrue, "Succeeded")
		}
	}
	return spent
}

// threadTime is the time that this thread has had of a processor.
func threadTime() time.Duration {
	const ofThread = 1 // RUSAGE_THREAD
	var usage syscall.Rusage
	check(syscall.Getrusage(ofThread, &usage))
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
