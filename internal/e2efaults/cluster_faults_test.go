//go:build e2e

package e2efaults

import (
	"slices"
	"syscall"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"millrace/crds"
	"millrace/internal/faultproxy"
)

// wholeCluster: what befalls everybody. These run one after the other.
func wholeCluster() []scenario {
	all := []scenario{
		{name: "api-server-restarts", numbers: []int{10}, try: restarts("kube-apiserver", syscall.SIGTERM)},
		{name: "api-server-is-killed", numbers: []int{10}, try: restarts("kube-apiserver", syscall.SIGKILL)},
		{name: "etcd-is-killed", numbers: []int{10}, try: restarts("etcd", syscall.SIGKILL)},
		{name: "api-server-and-etcd-down-for-60-s", numbers: []int{10, 11}, try: bothDown},
		{name: "etcd-compacted-while-the-watches-are-cut", numbers: []int{1, 10}, try: compacted},
		{name: "backup-restored-with-its-versions-raised", numbers: []int{10}, try: restored},
		{name: "crd-deleted-and-applied-again", numbers: []int{23}, try: crdDeleted},
		{name: "kubelet-stopped-for-20-s", numbers: []int{16}, try: kubeletStopped},
		{name: "node-lost", numbers: []int{16}, try: nodeLost},
	}
	for i := range all {
		all[i].alone = true
	}
	return all
}

// restarts: the part ends in mid-run and is started again. The Lease may be lost
// over it, and the process with it.
func restarts(part string, signal syscall.Signal) func(*stage) {
	return func(s *stage) {
		s.exits = 1000
		s.start()
		s.create("a", midway)
		s.steps("a")
		s.create("b", quick)
		s.must(s.cluster.kill(part, signal))
		over := func() bool { _, err := s.cluster.pid(part); return err != nil }
		for end := time.Now().Add(10 * time.Second); !over() && time.Now().Before(end); {
			s.pass(time.Second / 4)
		}
		if !over() { // an API server that was told to stop waits for those who watch, for a minute
			s.must(s.cluster.kill(part, syscall.SIGKILL))
			s.eventually(part+" to end", over)
		}
		s.must(s.cluster.mend(s.ctx))
		s.succeeds("a")
		s.succeeds("b")
		s.recovered()
	}
}

func bothDown(s *stage) {
	s.withoutLease() // or it would be another process that comes through
	s.start()
	s.create("a", midway)
	s.steps("a")
	from := time.Now()
	s.must(s.cluster.kill("kube-apiserver", syscall.SIGKILL))
	s.must(s.cluster.kill("etcd", syscall.SIGKILL))
	s.pass(60 * time.Second)
	s.calm(from)
	s.must(s.cluster.mend(s.ctx))
	s.succeeds("a")
	s.recovered()
}

// compacted: the server forgets what happened while we could not hear of it. Its
// cache of events would still know, so it is started anew, too.
func compacted(s *stage) {
	s.withoutLease()
	s.start()
	s.create("a", midway)
	s.create("gone", slow(600))
	s.steps("a")
	s.steps("gone")
	s.must(s.proxy.Shut())
	cut := time.Now()
	s.deleteRun("gone")
	s.gone("gone-pod")
	s.create("b", quick)
	s.eventually("the pod of a to end", func() bool {
		pod, err := s.cluster.core.Pods(s.ns).Get(s.ctx, "a-pod", metav1.GetOptions{})
		return err == nil && pod.Status.Phase == corev1.PodSucceeded
	})
	s.must(s.cluster.compact(s.ctx))
	s.must(s.cluster.kill("kube-apiserver", syscall.SIGKILL))
	s.must(s.cluster.mend(s.ctx))
	s.must(s.proxy.Open())
	s.succeeds("a")
	s.succeeds("b")
	expired := map[string]bool{}
	for _, x := range s.proxy.Matching(faultproxy.On{Verb: "watch"}) {
		if x.Sent.After(cut) && (x.Error || x.Code == 410) {
			expired[x.Resource] = true
		}
	}
	if !expired[crds.ResourceTaskRuns] || !expired["pods"] {
		s.fatalf("the server has forgotten nothing: %v", expired)
	}
	s.recovered()
}

// crdDeleted: with the type go all its objects. The controller waits for it to come
// back.
func crdDeleted(s *stage) {
	s.start()
	s.create("a", slow(600))
	s.steps("a")
	first := s.now()
	s.must(s.cluster.sh(s.ctx, "devcluster/.build/bin/kubectl", "delete", "crd", "taskruns.tekton.dev", "--timeout=60s"))
	from := time.Now()
	s.gone("a-pod")
	s.pass(5 * time.Second)
	s.calm(from)
	s.must(s.cluster.sh(s.ctx, "devcluster/.build/bin/kubectl", "apply", "-k", "crds"))
	s.eventually("the type to be served again", func() bool { return s.list(&struct{}{}) == nil })
	s.recovered()
	if first != s.now() {
		s.fatalf("the process did not come through: %s", first.reason)
	}
}

// kubeletStopped: the node says nothing for a while, and goes on.
func kubeletStopped(s *stage) {
	s.start()
	s.create("a", midway)
	s.steps("a")
	pid, err := s.cluster.kubelet()
	s.must(err)
	s.must(syscall.Kill(pid, syscall.SIGSTOP))
	s.create("b", quick)
	s.pass(20 * time.Second)
	s.must(syscall.Kill(pid, syscall.SIGCONT))
	s.succeeds("a")
	s.succeeds("b")
	s.recovered()
}

// nodeLost: the node is silent for so long that it is given up, and then somebody
// says that it will not come back, which has its pods deleted without its consent.
// (The taints that come by themselves do not come where no node is ready: Kubernetes
// then takes it for the network's fault.)
func nodeLost(s *stage) {
	s.start()
	s.create("a", slow(600))
	s.steps("a")
	pid, err := s.cluster.kubelet()
	s.must(err)
	s.must(syscall.Kill(pid, syscall.SIGSTOP))
	defer syscall.Kill(pid, syscall.SIGCONT) //nolint:errcheck // it may be going on already
	s.eventually("the node to be given up", func() bool { return !s.nodeReady() })
	s.taintNode(corev1.Taint{Key: corev1.TaintNodeOutOfService, Effect: corev1.TaintEffectNoExecute})
	defer s.taintNode()
	s.gone("a-pod")
	s.ends("a", "PodDeleted")
	s.must(syscall.Kill(pid, syscall.SIGCONT))
	s.eventually("the node to be ready", s.nodeReady)
	s.taintNode()
	s.recovered()
}

// taintNode gives the node these taints and no others of that key.
func (s *stage) taintNode(taints ...corev1.Taint) {
	s.t.Helper()
	s.eventually("the node to take taints", func() bool {
		node, err := s.cluster.core.Nodes().Get(s.ctx, "localhost", metav1.GetOptions{})
		if err != nil {
			return false
		}
		node.Spec.Taints = append(slices.DeleteFunc(node.Spec.Taints, func(t corev1.Taint) bool { return t.Key == corev1.TaintNodeOutOfService }), taints...)
		_, err = s.cluster.core.Nodes().Update(s.ctx, node, metav1.UpdateOptions{})
		return err == nil
	})
}

func (s *stage) nodeReady() bool {
	node, err := s.cluster.core.Nodes().Get(s.ctx, "localhost", metav1.GetOptions{})
	return err == nil && ready(node)
}

func ready(node *corev1.Node) bool {
	for _, c := range node.Status.Conditions {
		if c.Type == corev1.NodeReady {
			return c.Status == corev1.ConditionTrue
		}
	}
	return false
}
