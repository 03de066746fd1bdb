package simulation

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"millrace/crds"
	"millrace/internal/simulation/apiserver"
)

// creates has a user create a run, at a time.
func (w *World) creates(at time.Duration, ns, name string, what recipe) {
	w.does(at, "user run", ns+"/"+name, func() { w.create(ns, name, what) })
}

func (w *World) create(ns, name string, what recipe) {
	spec, expect := what(drawer(w.Plan.Seed, ns+"/"+name))
	run := &crds.TaskRun{Spec: spec}
	run.Namespace, run.Name, run.Annotations = ns, name, expect.annotation()
	_, _ = w.user.Create("taskruns", run)
}

// createsPipeline has a user create a PipelineRun, at a time.
func (w *World) createsPipeline(at time.Duration, ns, name string, what pipelineRecipe) {
	w.does(at, "user run", ns+"/"+name, func() { w.createPipeline(ns, name, ns+"/"+name, what) })
}

func (w *World) createPipeline(ns, name, drawn string, what pipelineRecipe) {
	spec, expect := what(drawer(w.Plan.Seed, drawn))
	run := &crds.PipelineRun{Spec: spec}
	run.Namespace, run.Name, run.Annotations = ns, name, expect.annotation()
	_, _ = w.user.Create("pipelineruns", run)
}

// does has a user do something, unless the plan was restricted to other things.
// The time is drawn to the nanosecond within a millisecond.
func (w *World) does(at time.Duration, kind, name string, do func()) {
	w.Agenda.After(at+w.Plan.Seed.Between(0, time.Millisecond, kind, name), func() {
		if w.Plan.Only != nil && !w.Plan.Only[kind+": "+name] {
			return
		}
		w.ledger.fires(kind, kind+": "+name)
		do()
	})
}

// account is what the cluster gives every namespace.
func (w *World) account(ns string) {
	account := &corev1.ServiceAccount{}
	account.Namespace, account.Name = ns, "default"
	_, _ = w.Server.Actor("cluster").Create("serviceaccounts", account)
}

// tasks has a user keep what runs of a namespace refer to: a Task, a StepAction, a
// Pipeline, a claim.
func (w *World) tasks(namespaces ...string) {
	for _, ns := range namespaces {
		w.account(ns)
		w.Agenda.After(w.Plan.Seed.Between(0, time.Millisecond, "action", ns), func() { _, _ = w.user.Create("stepactions", greet(ns)) })
		w.claims(0, ns)
		w.Agenda.After(w.Plan.Seed.Between(0, time.Millisecond, "pipeline", ns), func() { _, _ = w.user.Create("pipelines", release(ns)) })
		w.Agenda.After(w.Plan.Seed.Between(0, time.Millisecond, "task", ns), func() { _, _ = w.user.Create("tasks", build(ns, 1)) })
	}
}

func (w *World) editsTask(at time.Duration, ns string, edition int) {
	w.does(at, "user edits a Task", fmt.Sprint(ns, " edition ", edition), func() {
		key := types.NamespacedName{Namespace: ns, Name: "build"}
		_, err := apiserver.Change(w.user, "tasks", "", key, func(t *crds.Task) { t.Spec = build(ns, edition).Spec })
		if err != nil {
			_, _ = w.user.Create("tasks", build(ns, edition))
		}
	})
}

// claims has a user make the claim that runs of the namespace share.
func (w *World) claims(at time.Duration, ns string) {
	w.Agenda.After(at+w.Plan.Seed.Between(0, time.Millisecond, "claim", ns), func() {
		claim := &corev1.PersistentVolumeClaim{Spec: aGibibyte()}
		claim.Namespace, claim.Name = ns, "shared"
		_, _ = w.user.Create("persistentvolumeclaims", claim)
	})
}

// fullQuota has each claim use its namespace's quota up. The server asks the quota
// before it looks whether there is a claim of that name already.
func (w *World) fullQuota() {
	again := func(r apiserver.Request) bool {
		return r.Verb == "create" && r.Resource == "persistentvolumeclaims" && w.facts.claims[r.Key]
	}
	w.forbid("the quota is used up", again, apiserver.Verdict{Refuse: answerOf(403, metav1.StatusReasonForbidden,
		`persistentvolumeclaims "x" is forbidden: exceeded quota: claims, requested: persistentvolumeclaims=1, used: persistentvolumeclaims=1, limited: persistentvolumeclaims=1`)})
}

func (w *World) cancels(at time.Duration, ns, name string) {
	w.does(at, "user cancels a run", ns+"/"+name, func() {
		_, _ = w.user.Patch("taskruns", "", types.NamespacedName{Namespace: ns, Name: name}, `{"spec":{"status":"TaskRunCancelled"}}`)
	})
}

func (w *World) cancelsPipeline(at time.Duration, ns, name string, how crds.PipelineRunSpecStatus) {
	w.does(at, "user cancels a run", ns+"/"+name, func() {
		_, _ = w.user.Patch("pipelineruns", "", types.NamespacedName{Namespace: ns, Name: name}, fmt.Sprintf(`{"spec":{"status":%q}}`, how))
	})
}

func (w *World) deletes(at time.Duration, ns, name string) { w.deletesA("taskruns", at, ns, name) }

func (w *World) deletesA(resource string, at time.Duration, ns, name string) {
	w.does(at, "user deletes a run", ns+"/"+name, func() {
		_, _ = w.user.Delete(resource, types.NamespacedName{Namespace: ns, Name: name}, metav1.DeleteOptions{})
	})
}

// recreatesPipeline deletes a PipelineRun and makes another one of its name at once,
// while TaskRuns of the first are there yet.
func (w *World) recreatesPipeline(at time.Duration, ns, name string, what pipelineRecipe) {
	w.does(at, "user recreates a run", ns+"/"+name, func() {
		if _, err := w.user.Delete("pipelineruns", types.NamespacedName{Namespace: ns, Name: name}, metav1.DeleteOptions{}); err == nil {
			w.createPipeline(ns, name, ns+"/"+name+"/again", what)
		}
	})
}

// orphans deletes a run and leaves its pod, which then belongs to nobody.
func (w *World) orphans(at time.Duration, ns, name string) {
	w.does(at, "user orphans a pod", ns+"/"+name, func() {
		key := types.NamespacedName{Namespace: ns, Name: name}
		run, ok := w.Server.Object("taskruns", key)
		if !ok {
			return
		}
		_ = w.user.Release("pods", podOf(run), run.GetUID())
		_, _ = w.user.Delete("taskruns", key, metav1.DeleteOptions{})
	})
}

// recreates deletes a run and makes another one of its name at once.
func (w *World) recreates(at time.Duration, ns, name string, what recipe) {
	w.does(at, "user recreates a run", ns+"/"+name, func() {
		key := types.NamespacedName{Namespace: ns, Name: name}
		if _, err := w.user.Delete("taskruns", key, metav1.DeleteOptions{}); err != nil {
			return
		}
		spec, expect := what(drawer(w.Plan.Seed, ns+"/"+name+"/again"))
		run := &crds.TaskRun{Spec: spec}
		run.Namespace, run.Name, run.Annotations = ns, name, expect.annotation()
		_, _ = w.user.Create("taskruns", run)
	})
}

// podOf is the pod that a run names.
func podOf(run *apiserver.Object) types.NamespacedName {
	return types.NamespacedName{Namespace: run.GetNamespace(), Name: apiserver.As[crds.TaskRun](run).Status.PodName}
}

// deletesPod deletes a run's pod.
func (w *World) deletesPod(at time.Duration, ns, name string) {
	w.does(at, "user deletes a pod", ns+"/"+name, func() {
		run, ok := w.Server.Object("taskruns", types.NamespacedName{Namespace: ns, Name: name})
		if !ok {
			return
		}
		key := podOf(run)
		if o, ok := w.Server.Object("pods", key); ok {
			w.mu.Lock()
			w.facts.disturbOwner(o, "its pod was deleted")
			w.mu.Unlock()
			_, _ = w.user.Delete("pods", key, metav1.DeleteOptions{})
		}
	})
}
