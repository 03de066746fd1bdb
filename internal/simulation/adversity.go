package simulation

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"k8s.io/apimachinery/pkg/types"

	"millrace/crds"
	"millrace/internal/simulation/apiserver"
	"millrace/internal/simulation/kubelet"
)

// adversities are workloads with one trouble each, always the same: what a storm
// has by chance, so that it can be seen alone.
func adversities() []Workload {
	const first = 5 * time.Second
	slow := func(draw) (crds.TaskRunSpec, Expect) {
		return embedded(stepOf("first", "sleep=5s"), stepOf("second", "sleep=5s")), Expect{Reason: succeeded, Work: 10 * time.Second}
	}
	patient := func(draw draw) (crds.TaskRunSpec, Expect) {
		spec, expect := slow(draw)
		spec.Timeout = &metav1.Duration{Duration: time.Minute}
		return spec, expect
	}
	lostClaim := func(draw draw) (crds.TaskRunSpec, Expect) {
		spec, expect := ownClaim(draw)
		expect.Reason, expect.Results = string(crds.TaskRunReasonClaimLost), ""
		return spec, expect
	}
	return []Workload{
		{Name: "quota refuses at first", Users: func(w *World) {
			w.account("blue")
			w.creates(first, "blue", "a", patient)
			w.forbidden(0, 70*time.Second, "quota exceeded", createsPod, answerOf(403, metav1.StatusReasonForbidden,
				`pods "x" is forbidden: exceeded quota: compute, requested: pods=1, used: pods=10, limited: pods=10`))
		}},
		{Name: "server in trouble", Users: func(w *World) {
			w.tasks("blue")
			for i := range 3 {
				w.creates(first, "blue", fmt.Sprint("a", i), slow)
			}
			w.Agenda.After(first+time.Second, func() { w.Server.EndWatches(apiserver.Close) })
			w.forbidden(first+time.Millisecond, 40*time.Second, "500", all, answerOf(500, metav1.StatusReasonInternalError, "Internal error occurred"))
		}},
		{Name: "no pod can be made for a while", Users: func(w *World) {
			w.account("blue")
			w.creates(first, "blue", "a", slow)
			w.forbidden(0, 20*time.Second, "500", createsPod, answerOf(500, metav1.StatusReasonInternalError, "Internal error occurred"))
		}},
		{Name: "cancel of a long run", Users: func(w *World) {
			w.account("blue")
			w.creates(first, "blue", "a", longRun)
			w.cancels(first+45*time.Second, "blue", "a") // a restart and what it has missed are over
		}},
		keptPod(),
		{Name: "a shorter default time-out", Users: aShorterTimeout},
		{Name: "compaction while cut off", Users: func(w *World) {
			w.account("blue")
			w.creates(first, "blue", "a", slow)
			w.creates(first, "blue", "b", slow)
			cut := first + 20*time.Second
			w.Agenda.After(cut, func() { w.Server.EndWatches(apiserver.Reset) })
			w.forbidden(cut-time.Millisecond, 5*time.Second, "503", watches, answerOf(503, metav1.StatusReasonServiceUnavailable, "apiserver is shutting down"))
			w.deletes(cut+time.Second, "blue", "b")
			w.creates(cut+2*time.Second, "blue", "c", slow)
			w.Agenda.After(cut+4*time.Second, w.Server.Compact)
		}},
		{Name: "watches fall silent", Users: func(w *World) {
			w.account("blue")
			w.creates(first, "blue", "a", slow)
			w.Agenda.After(first+3*time.Second, func() { w.Server.EndWatches(apiserver.GoMute) })
		}},
		{Name: "Lease cannot be renewed", Replicas: 2, Users: func(w *World) {
			w.account("blue")
			w.forbidden(first, time.Minute, "Lease cannot be renewed", func(r apiserver.Request) bool { return r.Resource == "leases" && r.Verb == "update" },
				answerOf(503, metav1.StatusReasonServiceUnavailable, "etcdserver: request timed out"))
			w.creates(first+45*time.Second, "blue", "a", slow)
		}},
		{Name: "two replicas", Replicas: 2, Users: func(w *World) {
			w.account("blue")
			for i := range 3 {
				name := fmt.Sprint("a", i)
				w.creates(first+time.Duration(i)*10*time.Second, "blue", name, slow)
				w.deletes(first+time.Minute, "blue", name)
			}
		}},
		{Name: "run made again under its name", Users: func(w *World) {
			w.account("blue")
			w.creates(first, "blue", "a", slow)
			w.recreates(first+4*time.Second, "blue", "a", slow)
		}},
		{Name: "pod goes while its run cannot be written", Users: func(w *World) {
			w.account("blue")
			w.creates(first, "blue", "a", slow)
			w.forbidden(first+200*time.Millisecond, 15*time.Second, "503", func(r apiserver.Request) bool { return updates(r) && r.Resource == "taskruns" },
				answerOf(503, metav1.StatusReasonServiceUnavailable, "apiserver is shutting down"))
		}, Mishaps: map[string]kubelet.Mishap{"a-pod": {Kind: "deleted", After: 3 * time.Second}}},
		{Name: "pod loses its labels", Users: func(w *World) {
			w.account("blue")
			w.creates(first, "blue", "a", slow)
			w.does(first+100*time.Millisecond, "user takes a pod's labels", "blue/a-pod", func() {
				_, _ = apiserver.Change(w.user, "pods", "", types.NamespacedName{Namespace: "blue", Name: "a-pod"}, func(p *corev1.Pod) { p.Labels = nil })
			})
		}},
		{Name: "pod gets another owner", Users: func(w *World) {
			w.account("blue")
			w.creates(first, "blue", "a", slow)
			w.ownsToo(first+4*time.Second, "blue", "a-pod")
		}},
		{Name: "a claim that is lost", Users: func(w *World) {
			w.account("blue")
			w.losesClaim("blue", "a-pod")
			w.creates(first, "blue", "a", lostClaim)
		}},
	}
}

// forbidden has the server refuse requests for a while.
func (w *World) forbidden(at, lasts time.Duration, kind string, which func(apiserver.Request) bool, answer *apierrors.StatusError) {
	w.Agenda.After(at, func() {
		end := w.forbid(kind, which, apiserver.Verdict{Refuse: answer})
		w.Agenda.After(lasts, end)
	})
}

// losesClaim has somebody delete the claim of a pod when its first step has begun.
func (w *World) losesClaim(ns, pod string) {
	begins := func(e apiserver.Exchange) bool {
		return e.Resource == "pods" && e.Committed() && e.After != nil && e.Key == types.NamespacedName{Namespace: ns, Name: pod} && firstStepRan(apiserver.As[corev1.Pod](e.After))
	}
	w.afterNext(begins, time.Millisecond, func(e apiserver.Exchange) {
		for _, v := range apiserver.As[corev1.Pod](e.After).Spec.Volumes {
			if c := v.PersistentVolumeClaim; c != nil {
				_, _ = w.user.Delete("persistentvolumeclaims", types.NamespacedName{Namespace: ns, Name: c.ClaimName}, metav1.DeleteOptions{})
			}
		}
	})
}

// ownsToo puts another owner before those that a pod has, as tools do that collect
// what belongs together.
func (w *World) ownsToo(at time.Duration, ns, pod string) {
	w.does(at, "user owns a pod, too", ns+"/"+pod, func() {
		_, _ = apiserver.Change(w.user, "pods", "", types.NamespacedName{Namespace: ns, Name: pod}, func(p *corev1.Pod) {
			another := metav1.OwnerReference{APIVersion: "example.com/v1", Kind: "Application", Name: "shop", UID: "of-a-shop"}
			p.OwnerReferences = append([]metav1.OwnerReference{another}, p.OwnerReferences...)
		})
	})
}
