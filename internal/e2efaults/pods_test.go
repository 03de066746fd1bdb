//go:build e2e

package e2efaults

import (
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"millrace/crds"
	"millrace/internal/faultproxy"
)

// pods: what happens to them, and what keeps them from being made.
func pods() []scenario {
	return []scenario{
		{name: "pod-deleted-before-its-first-step", numbers: []int{16}, try: podDeletedBefore},
		{name: "pod-deleted-after-its-first-step", numbers: []int{16}, try: podDeletedAfter},
		{name: "pod-deleted-while-the-controller-is-dead", numbers: []int{13, 16}, try: podDeletedUnseen},
		{name: "pod-evicted", numbers: []int{16}, try: podEvicted},
		{name: "step-out-of-memory", numbers: []int{16}, try: outOfMemory},
		{name: "quota-exceeded-and-lifted", numbers: []int{17}, try: quota},
		{name: "limit-range-refuses-and-is-removed", numbers: []int{17}, try: limitRange},
		{name: "namespace-terminating", numbers: []int{17}, try: namespaceTerminating},
		{name: "service-account-missing-then-made", numbers: []int{17}, try: noServiceAccount},
	}
}

// nowhere is a run whose pod fits no node, until there is a label on ours.
func (s *stage) nowhere() string {
	return fmt.Sprintf(`podTemplate: {nodeSelector: {%s: here}}, taskSpec: {steps: [{name: s, image: busybox, script: "true"}]}`, s.ns)
}

func (s *stage) labelNode(value string) {
	s.t.Helper()
	patch := fmt.Sprintf(`{"metadata":{"labels":{%q:%s}}}`, s.ns, value)
	_, err := s.cluster.core.Nodes().Patch(s.ctx, "localhost", types.MergePatchType, []byte(patch), metav1.PatchOptions{})
	s.must(err)
}

// aPod waits until a run has a pod, of another UID than that.
func (s *stage) aPod(run string, but types.UID) types.UID {
	s.t.Helper()
	var uid types.UID
	s.eventually("run "+run+" to have a pod", func() bool {
		pod, err := s.cluster.core.Pods(s.ns).Get(s.ctx, run+"-pod", metav1.GetOptions{})
		uid = pod.UID
		return err == nil && uid != but
	})
	return uid
}

func podDeletedBefore(s *stage) {
	s.start()
	s.create("a", s.nowhere())
	first := s.aPod("a", "")
	s.deletePod("a")
	s.made["a"] = 2
	s.aPod("a", first)
	s.labelNode(`"here"`)
	defer s.labelNode("null")
	s.succeeds("a")
	s.recovered()
}

func podDeletedAfter(s *stage) {
	s.start()
	s.create("a", slow(600))
	s.steps("a")
	s.deletePod("a")
	s.ends("a", "PodDeleted")
	s.recovered()
}

// podDeletedUnseen: the status says that the step had begun.
func podDeletedUnseen(s *stage) {
	s.start()
	s.create("a", slow(600))
	s.steps("a")
	s.hold()
	s.kill()
	s.deletePod("a")
	s.gone("a-pod")
	s.resume()
	s.ends("a", "PodDeleted")
	s.recovered()
}

func podEvicted(s *stage) {
	s.start()
	s.create("a", slow(600))
	s.steps("a")
	s.must(s.cluster.core.Pods(s.ns).EvictV1(s.ctx, &policyv1.Eviction{
		ObjectMeta:    metav1.ObjectMeta{Name: "a-pod", Namespace: s.ns},
		DeleteOptions: &metav1.DeleteOptions{GracePeriodSeconds: new(int64)},
	}))
	s.ends("a", "PodDeleted")
	s.recovered()
}

func outOfMemory(s *stage) {
	s.start()
	s.create("a", `taskSpec: {steps: [{name: s, image: busybox, computeResources: {limits: {memory: 16Mi}}, script: "x=y; while :; do x=$x$x; done"}]}`)
	s.until("a", "Failed", func(run crds.TaskRun) bool {
		_, over := reason(run)
		return over && len(run.Status.Steps) == 1 && run.Status.Steps[0].Terminated != nil && run.Status.Steps[0].Terminated.Reason == "OOMKilled"
	})
	s.recovered()
}

// refusedPod is a run that waits, and says why, while pods are refused.
func (s *stage) refusedPod(code int, says string, lift func()) {
	s.t.Helper()
	from := time.Now()
	s.create("a", quick)
	s.answered(from, code)
	s.pass(10 * time.Second)
	run := s.mustGet("a")
	why, over := reason(run)
	if text := fmt.Sprint(run.Status.Conditions); over || why == "" || !strings.Contains(text, says) {
		s.fatalf("a run whose pod is refused for now, with %q: ended %v, conditions %s", says, over, text)
	}
	if _, rate := s.rate(from, time.Now()); rate > 3 {
		s.fatalf("%.1f requests a second for a pod that is refused", rate)
	}
	lift()
	s.succeeds("a")
	s.recovered()
}

func quota(s *stage) {
	s.start()
	quotas := s.cluster.core.ResourceQuotas(s.ns)
	_, err := quotas.Create(s.ctx, &corev1.ResourceQuota{
		ObjectMeta: metav1.ObjectMeta{Name: "none"},
		Spec:       corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{corev1.ResourcePods: resource.MustParse("0")}},
	}, metav1.CreateOptions{})
	s.must(err)
	s.eventually("the quota to be in force", func() bool {
		q, err := quotas.Get(s.ctx, "none", metav1.GetOptions{})
		return err == nil && len(q.Status.Hard) > 0
	})
	s.refusedPod(403, "exceeded quota", func() { s.must(quotas.Delete(s.ctx, "none", metav1.DeleteOptions{})) })
}

func limitRange(s *stage) {
	s.start()
	ranges := s.cluster.core.LimitRanges(s.ns)
	_, err := ranges.Create(s.ctx, &corev1.LimitRange{
		ObjectMeta: metav1.ObjectMeta{Name: "none"},
		Spec: corev1.LimitRangeSpec{Limits: []corev1.LimitRangeItem{{
			Type: corev1.LimitTypePod, Max: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1m")},
		}}},
	}, metav1.CreateOptions{})
	s.must(err)
	s.pass(2 * time.Second) // the server's admission hears of it by a watch
	s.refusedPod(403, "cpu", func() { s.must(ranges.Delete(s.ctx, "none", metav1.DeleteOptions{})) })
}

func noServiceAccount(s *stage) {
	s.start()
	from := time.Now()
	s.create("a", `serviceAccountName: builder, `+quick)
	s.pass(8 * time.Second)
	if why, over := reason(s.mustGet("a")); over || why == "" {
		s.fatalf("a run without its ServiceAccount: ended %v, reason %q", over, why)
	}
	if _, rate := s.rate(from, time.Now()); rate > 3 {
		s.fatalf("%.1f requests a second for a pod that is refused", rate)
	}
	_, err := s.cluster.core.ServiceAccounts(s.ns).Create(s.ctx, &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "builder"}}, metav1.CreateOptions{})
	s.must(err)
	s.succeeds("a")
	s.recovered()
}

// namespaceTerminating: a run that a finalizer holds in a namespace that is going
// gets no pod, and costs no hot loop.
func namespaceTerminating(s *stage) {
	s.start()
	going := s.ns + "-going"
	_, err := s.cluster.core.Namespaces().Create(s.ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: going}}, metav1.CreateOptions{})
	s.must(err)
	s.post(going, "taskruns", fmt.Sprintf(`{apiVersion: tekton.dev/v1, kind: TaskRun, metadata: {name: held, finalizers: [example.com/held]},
	  spec: {managedBy: %s, podTemplate: {nodeSelector: {no-node: has-this}}, %s}}`, s.ns, quick))
	s.eventually("a pod of the run", func() bool {
		_, err := s.cluster.core.Pods(going).Get(s.ctx, "held-pod", metav1.GetOptions{})
		return err == nil
	})
	from := time.Now()
	s.must(s.cluster.core.Namespaces().Delete(s.ctx, going, metav1.DeleteOptions{}))
	s.eventually("the pod to go with the namespace", func() bool {
		list, err := s.cluster.core.Pods(going).List(s.ctx, metav1.ListOptions{})
		return err == nil && len(list.Items) == 0
	})
	s.create("elsewhere", quick)
	s.succeeds("elsewhere")
	s.pass(10 * time.Second)
	if n := len(s.proxy.Matching(faultproxy.On{Verb: "create", Resource: "pods", Namespace: going})); n > 8 {
		s.fatalf("%d tries to make a pod in a namespace that is going", n)
	}
	if what, rate := s.rate(from, time.Now()); rate > 4 {
		s.fatalf("%.1f requests a second about %s", rate, what)
	}
	s.must(s.cluster.tekton.Patch(types.MergePatchType).Namespace(going).Resource("taskruns").Name("held").
		Body([]byte(`{"metadata":{"finalizers":null}}`)).Do(s.ctx).Error())
	s.eventually("the namespace to go", func() bool {
		_, err := s.cluster.core.Namespaces().Get(s.ctx, going, metav1.GetOptions{})
		return err != nil
	})
	s.recovered()
}
