//go:build e2e

package e2efaults

import (
	"fmt"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"millrace/crds"
	"millrace/internal/faultproxy"
)

// objects: users who change or delete what is being worked on.
func objects() []scenario {
	return []scenario{
		{name: "run-deleted-in-mid-run", numbers: []int{18}, try: runDeleted},
		{name: "run-deleted-between-its-writes", numbers: []int{18}, try: runDeletedAtOnce},
		{name: "run-deleted-its-pod-orphaned-run-made-again", numbers: []int{18}, try: orphaned},
		{name: "task-edited-then-deleted-in-mid-run", numbers: []int{19}, try: taskChanged},
		{name: "labels-and-owners-of-a-pod-are-taken-away", numbers: []int{20}, try: podDamaged},
		{name: "a-run-of-a-megabyte", numbers: []int{12}, try: bigRun},
	}
}

func runDeleted(s *stage) {
	s.start()
	s.create("a", slow(600))
	s.steps("a")
	s.deleteRun("a")
	s.gone("a-pod")
	from := time.Now()
	s.pass(5 * time.Second)
	for _, x := range s.proxy.Exchanges() {
		if faultproxy.Work(x.Request) && strings.HasPrefix(x.Key.Name, "a") && x.Sent.After(from) {
			s.fatalf("written for a run that is gone: %s", x)
		}
	}
	s.recovered()
}

// runDeletedAtOnce: runs are deleted in each moment of their beginning. Their pods
// must go, too, even those that were made just then.
func runDeletedAtOnce(s *stage) {
	s.start()
	for i := range 8 {
		name := fmt.Sprint("d", i)
		s.create(name, quick)
		delete(s.made, name) // it may have had one, or none
		s.pass(time.Duration(i*i) * 15 * time.Millisecond)
		s.deleteRun(name)
	}
	for i := range 8 {
		s.gone(fmt.Sprintf("d%d-pod", i))
	}
	s.recovered()
}

// orphaned: a pod of that name is there, and is another run's. It must not be
// taken for ours: the run that is made again fails, and says so.
func orphaned(s *stage) {
	s.start()
	s.create("a", slow(600))
	s.steps("a")
	orphan := metav1.DeletePropagationOrphan
	s.must(s.cluster.tekton.Delete().Namespace(s.ns).Resource(crds.ResourceTaskRuns).Name("a").
		Body(&metav1.DeleteOptions{PropagationPolicy: &orphan}).Do(s.ctx).Error())
	s.eventually("run a to be gone", func() bool { _, err := s.get("a"); return err != nil })
	s.create("a", quick)
	run := s.until("a", "over", func(run crds.TaskRun) bool { _, over := reason(run); return over })
	if why, _ := reason(run); why == "Succeeded" {
		s.fatalf("another run's pod was taken for its own: %+v", run.Status)
	}
	s.deletePod("a")
	s.recovered()
}

// taskChanged: what is run was written down when it began.
func taskChanged(s *stage) {
	s.start()
	s.post(s.ns, crds.ResourceTasks, `{apiVersion: tekton.dev/v1, kind: Task, metadata: {name: labelled}, spec: {steps: [{name: s, image: busybox, script: "sleep 15"}]}}`)
	s.create("a", fromTask)
	s.steps("a")
	s.must(s.cluster.tekton.Patch(types.MergePatchType).Namespace(s.ns).Resource(crds.ResourceTasks).Name("labelled").
		Body([]byte(`{"spec":{"steps":[{"name":"other","image":"busybox","script":"exit 9"}]}}`)).Do(s.ctx).Error())
	s.kill() // what it remembers is not enough
	s.must(s.cluster.tekton.Delete().Namespace(s.ns).Resource(crds.ResourceTasks).Name("labelled").Do(s.ctx).Error())
	s.succeeds("a")
	if run := s.mustGet("a"); len(run.Status.Steps) != 1 || run.Status.Steps[0].Name != "s" {
		s.fatalf("steps: %+v", run.Status.Steps)
	}
	s.recovered()
}

// podDamaged: without its label the pod leaves our watch, and looks deleted. It is
// there all the same, so no second one is made, and the run ends one way or the
// other.
func podDamaged(s *stage) {
	s.start()
	s.create("a", midway)
	s.steps("a")
	_, err := s.cluster.core.Pods(s.ns).Patch(s.ctx, "a-pod", types.MergePatchType, []byte(`{"metadata":{"labels":null,"ownerReferences":null}}`), metav1.PatchOptions{})
	s.must(err)
	run := s.until("a", "over", func(run crds.TaskRun) bool { _, over := reason(run); return over })
	why, _ := reason(run)
	s.t.Logf("the run ended with %s", why)
	s.recovered()
}

func bigRun(s *stage) {
	s.start()
	s.create("a", fmt.Sprintf(`params: [{name: big, value: %s}], taskSpec: {params: [{name: big}], steps: [{name: s, image: busybox, script: "true"}]}`, strings.Repeat("x", 900<<10)))
	s.create("b", quick)
	s.succeeds("b")
	s.succeeds("a")
	s.recovered()
}
