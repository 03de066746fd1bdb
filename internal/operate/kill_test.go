//go:build e2e

package operate

import (
	"fmt"
	"os"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"millrace/internal/cgroup"
)

// others is how often each other end is tried, after the ten minutes of kill -9.
const others = 5

// underway is how long a request may be on its way that a process had sent before it was
// killed. No other process leads so soon: to start a container takes longer.
const underway = 50 * time.Millisecond

// An end is one way for a leader to go.
type end struct {
	name  string
	bound time.Duration
	// It may come back, and lead again.
	back bool
	do   func(t *testing.T, c *cluster, leader *corev1.Pod)
}

var (
	killed = end{"killed, and started again", 20 * time.Second, true, kill}
	gone   = end{"killed, and its pod is gone", 20 * time.Second, false, vanish}
	told   = end{"told to stop (SIGTERM)", 5 * time.Second, false, tell}
	// The time that the kubelet takes to pass it on is not ours to promise.
	deleted = end{"its pod is deleted", 0, false, remove}
)

// process is that of a leader.
func process(t *testing.T, leader *corev1.Pod) int {
	t.Helper()
	pids, err := cgroup.Find(string(leader.UID), "millrace")
	if err != nil || len(pids) != 1 {
		t.Fatalf("%s has the Lease, and these processes: %v, %v", leader.Name, pids, err)
	}
	return pids[0]
}

// kill ends the leader's process, which the kubelet starts again.
func kill(t *testing.T, _ *cluster, leader *corev1.Pod) {
	t.Helper()
	must(t, syscall.Kill(process(t, leader), syscall.SIGKILL))
}

// vanish ends it so that nothing is started again under its name, as with its node.
func vanish(t *testing.T, c *cluster, leader *corev1.Pod) {
	t.Helper()
	kill(t, c, leader)
	c.forget(t, leader)
}

// forget deletes a pod without asking its kubelet.
func (c *cluster) forget(t *testing.T, pod *corev1.Pod) {
	t.Helper()
	now := int64(0)
	must(t, c.core.Pods(system).Delete(t.Context(), pod.Name, metav1.DeleteOptions{GracePeriodSeconds: &now}))
}

// tell sends the process what the kubelet would send it. When it has ended, its pod goes,
// so that it is not the next leader itself.
func tell(t *testing.T, c *cluster, leader *corev1.Pod) {
	t.Helper()
	pid := process(t, leader)
	must(t, syscall.Kill(pid, syscall.SIGTERM))
	within(t, time.Minute, leader.Name+" to end", func() bool { return syscall.Kill(pid, 0) != nil })
	c.forget(t, leader)
}

func remove(t *testing.T, c *cluster, leader *corev1.Pod) {
	t.Helper()
	must(t, c.core.Pods(system).Delete(t.Context(), leader.Name, metav1.DeleteOptions{}))
}

// leader is the pod that has the Lease, once its process runs and, if wanted, every replica
// is ready.
func (c *cluster) leader(t *testing.T, allReady bool) (leader *corev1.Pod) {
	t.Helper()
	within(t, 3*time.Minute, "a leader to be ended", func() bool {
		lease, err := c.leases.Get(t.Context(), leaderLease, metav1.GetOptions{})
		if err != nil || lease.Spec.HolderIdentity == nil {
			return false
		}
		pods, err := c.core.Pods(system).List(t.Context(), metav1.ListOptions{LabelSelector: "app.kubernetes.io/component=controller"})
		if err != nil {
			return false
		}
		leader = nil
		replicas := 0
		for i, pod := range pods.Items {
			if pod.Name == *lease.Spec.HolderIdentity && pod.DeletionTimestamp == nil {
				leader = &pods.Items[i]
			}
			if isReady(pod) {
				replicas++
			}
		}
		if leader == nil || allReady && replicas < 2 {
			return false
		}
		pids, err := cgroup.Find(string(leader.UID), "millrace")
		return err == nil && len(pids) == 1
	})
	return leader
}

func isReady(pod corev1.Pod) bool {
	for _, condition := range pod.Status.Conditions {
		if condition.Type == corev1.PodReady {
			return condition.Status == corev1.ConditionTrue && pod.DeletionTimestamp == nil
		}
	}
	return false
}

// endLeader ends the leader in that way, and waits for the next one's first write.
func endLeader(t *testing.T, c *cluster, w *witness, how end) (h handover, line string) {
	t.Helper()
	leader := c.leader(t, !how.back)
	at := time.Now()
	how.do(t, c, leader)
	if how.back {
		at = time.Now()
	}
	may := func(pod string) bool { return how.back || pod != leader.Name }
	within(t, 2*time.Minute, "another leader's first write, after "+leader.Name+" was "+how.name, func() bool {
		renewal, write, both := w.next(at.Add(underway), may)
		if !both {
			return false
		}
		h = handover{how: how.name, bound: how.bound, lease: renewal.Received.Sub(at), write: write.Received.Sub(at)}
		next := renewal.Pod
		if next == leader.Name {
			next = "itself"
		}
		line = fmt.Sprintf("%s: %s; %s leads after %s, writes after %s", leader.Name, how.name, next, seconds(h.lease), seconds(h.write))
		return true
	})
	return h, line
}

// Leaders are killed every EVERY (20 s) for MINUTES (10) under RUNS (50) at a time, and
// then end in other ways. Every run is done once, and each leader is followed soon.
func TestLeadersEndAndEveryRunIsDoneOnce(t *testing.T) {
	c := newCluster(t)
	every, err := time.ParseDuration(orElse(os.Getenv("EVERY"), "20s"))
	must(t, err)
	minutes, runs := number(t, "MINUTES", 10), number(t, "RUNS", 50)
	made := newWitness(t, c, "kill")
	w := newWork(t, c, "kill", runs)
	enough := begin(t, w)
	within(t, patience, "the first runs to end", func() bool { return w.ended() >= 3 })

	var all []handover
	n := 0
	ended := func(how end) {
		t.Helper()
		must(t, w.failed())
		h, line := endLeader(t, c, made, how)
		n++
		all = append(all, h)
		sayf("%3d  %s; %d in flight, %d ended, load %s", n, line, w.inFlight(), w.ended(), load())
	}
	kills := time.NewTicker(every)
	defer kills.Stop()
	for until := time.Now().Add(time.Duration(minutes) * time.Minute); time.Now().Before(until); <-kills.C {
		ended(killed)
	}
	for range others {
		ended(gone)
		ended(told)
		ended(deleted)
	}
	sayf("no more runs are begun; %d are in flight", w.inFlight())
	enough()
	w.wereDoneOnce(t, made)
	made.oneAtATime(t)
	fmt.Printf("\n%s\n%d runs at a time, kill -9 every %v for %d minutes, on %d processors with a load of %s in the end\n\n",
		table(all), runs, every, minutes, runtime.NumCPU(), load())
	for _, h := range all {
		if h.bound > 0 && h.write > h.bound {
			t.Errorf("%s: the next leader wrote after %s, bound %s", h.how, seconds(h.write), seconds(h.bound))
		}
	}
}

func orElse(text, otherwise string) string {
	if strings.TrimSpace(text) == "" {
		return otherwise
	}
	return text
}
