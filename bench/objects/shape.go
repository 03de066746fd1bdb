package objects

import (
	"fmt"
	"math/rand/v2"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"millrace/crds"
)

// variations is how many shapes are made of each recorded run: itself, and
// others that have a little more or less of what people add to theirs.
const variations = 3

// vary is variation n of a recorded run, in all states of it and of its pod
// alike. Variation 0 is the run as it was recorded.
func vary(r *recorded, n int) *recorded {
	v := &recorded{key: r.key, file: r.file}
	chance := func() *rand.Rand { return rand.New(rand.NewPCG(uint64(n), uint64(len(r.key.Name)))) }
	for _, run := range r.runs {
		run = run.DeepCopy()
		if n > 0 {
			varyRun(run, chance())
		}
		v.runs = append(v.runs, run)
	}
	for _, pod := range r.pods {
		pod = pod.DeepCopy()
		if n > 0 {
			varyPod(pod, chance())
		}
		v.pods = append(v.pods, pod)
	}
	return v
}

// habits are labels that some teams put on all they have.
func habits() [][2]string {
	return [][2]string{
		{"backstage.io/kubernetes-id", "checkout-service"}, {"cost-centre", "cc-418273"},
		{"app.kubernetes.io/created-by", "event-listener"}, {"triggers.tekton.dev/eventlistener", "github-push"},
		{"triggers.tekton.dev/triggers-eventid", "5f0c2b7e-0f49-4b52-9a49-4a7c7b0be3d1"},
	}
}

// varyRun changes what the author of a run might have done otherwise. It and
// varyPod draw the same labels.
func varyRun(run *unstructured.Unstructured, r *rand.Rand) {
	labels := run.GetLabels()
	if labels == nil {
		labels = map[string]string{}
	}
	for _, l := range someHabits(r) {
		labels[l[0]] = l[1]
	}
	run.SetLabels(labels)
	if r.IntN(2) == 0 {
		where := []string{"spec", "timeout"}
		if run.GetKind() == crds.KindPipelineRun {
			where = []string{"spec", "timeouts", "pipeline"}
		}
		// It fails only where spec is no object, and that has run.
		_ = unstructured.SetNestedField(run.Object, fmt.Sprintf("%dm", 5+5*r.IntN(20)), where...)
	}
}

func varyPod(pod *corev1.Pod, r *rand.Rand) {
	for _, l := range someHabits(r) {
		metav1.SetMetaDataLabel(&pod.ObjectMeta, l[0], l[1])
	}
	env := corev1.EnvVar{Name: "TRACE_ENDPOINT", Value: "http://otel-collector.observability.svc:4317"}
	more := r.IntN(3)
	for i := range pod.Spec.Containers {
		c := &pod.Spec.Containers[i]
		switch more {
		case 0:
			c.Env = append(c.Env, env)
		case 1:
			c.Env = c.Env[:len(c.Env)/2]
		}
	}
	if r.IntN(3) == 0 {
		pod.Spec.Tolerations = append(pod.Spec.Tolerations, corev1.Toleration{Key: "ci", Operator: corev1.TolerationOpEqual, Value: "spot", Effect: corev1.TaintEffectNoSchedule})
	}
}

func someHabits(r *rand.Rand) [][2]string {
	all := habits()
	r.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	return all[:r.IntN(len(all))]
}
