package pipelinerun

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"strconv"
	"syscall"
	"testing"
	"time"
	"unsafe"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"millrace/crds"
	"millrace/fifo"
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
					spent += wholeLife(b, document, n)
				}
				b.ReportMetric(float64(spent.Microseconds())/float64(b.N*n), "cpu-µs/task")
			})
		}
	}
}

// wholeLife is how long the reconciler was at it.
func wholeLife(b *testing.B, document string, tasks int) (spent time.Duration) {
	b.Helper()
	c := newCluster(b, document)
	c.rec.parts.Client = &elsewhere{server: c.server}
	key := types.NamespacedName{Namespace: "default", Name: "run"}
	for ended := 0; len(c.done) == 0; ended++ {
		c.inServer = 0
		from := threadTime()
		if _, err := c.rec.Reconcile(context.Background(), key); err != nil {
			b.Fatal(err)
		}
		spent += threadTime() - from - c.inServer
		if ended < len(c.made) {
			c.patch(crds.ResourceTaskRuns, c.made[ended], `{"status":{"results":[{"name":"r","type":"string","value":"v"}],"conditions":[{"type":"Succeeded","status":"True","reason":"Succeeded"}]}}`)
		}
	}
	if c.done[0].Status != corev1.ConditionTrue || len(c.made) != tasks || c.decodedPRs > 1 {
		b.Fatalf("%+v, of %d tasks, and the run was decoded %d times", c.done, len(c.made), c.decodedPRs)
	}
	return spent
}

// elsewhere takes writes of the status as a server in another process does: what that
// does with a document of a hundred kilobytes, which grows with the run too, takes
// neither this process's time nor its processor's caches. What it keeps of the run is its
// version: the reconciler has to know the rest.
type elsewhere struct{ *server }

func (e *elsewhere) PatchPipelineRunStatus(_ context.Context, key types.NamespacedName, kind types.PatchType, patch []byte) (string, error) {
	defer e.timed(threadTime())
	insists := `{"metadata":{"resourceVersion":"%d"}`
	if kind == types.JSONPatchType {
		insists = `[{"op":"test","path":"/metadata/resourceVersion","value":"%d"}`
	}
	if !bytes.HasPrefix(patch, fmt.Appendf(nil, insists, e.runVersion())) {
		return "", apierrors.NewConflict(schema.GroupResource{}, key.Name, errors.New("the object has been modified"))
	}
	e.version++
	e.tell(crds.ResourcePipelineRuns, fmt.Appendf(nil,
		`{"kind":"PipelineRun","metadata":{"name":"run","namespace":"default","uid":"pipelineruns-1","resourceVersion":"%d"}}`, e.version), fifo.Updated)
	return strconv.Itoa(e.version), nil
}

// runVersion is the version of the run that the cache has: it learns of a write at once.
func (e *elsewhere) runVersion() int {
	_, version, _ := e.caches[crds.ResourcePipelineRuns].Known(types.NamespacedName{Namespace: "default", Name: "run"})
	return must(strconv.Atoi(version))
}

// threadTime is the time that this thread has had of a processor. getrusage tells the
// same, as of the last tick of the clock: some milliseconds ago.
func threadTime() time.Duration {
	const ofThread = 3 // CLOCK_THREAD_CPUTIME_ID
	var at syscall.Timespec
	if _, _, err := syscall.RawSyscall(syscall.SYS_CLOCK_GETTIME, ofThread, uintptr(unsafe.Pointer(&at)), 0); err != 0 {
		panic(err)
	}
	return time.Duration(at.Nano())
}
