package kubelet_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"millrace/internal/simulation/apiserver"
	"millrace/internal/simulation/kubelet"
	"millrace/internal/simulation/turnstile"
)

var key = types.NamespacedName{Namespace: "default", Name: "p"}

// live has a pod live for a time, and returns what was left of it, and how its
// phase and its steps went.
func live(t *testing.T, mishap kubelet.Mishap, lasts time.Duration, do func(apiserver.Actor), steps ...[]string) (pod *corev1.Pod, went string) {
	t.Helper()
	return lives(t, mishap, lasts, do, podOf(steps))
}

func lives(t *testing.T, mishap kubelet.Mishap, lasts time.Duration, do func(apiserver.Actor), it *corev1.Pod) (pod *corev1.Pod, went string) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		var k *kubelet.Kubelet
		var seen []string
		server := apiserver.New(apiserver.Config{Seen: func(e apiserver.Exchange) {
			k.Saw(e)
			if e.Resource != "pods" {
				return
			}
			if e.After == nil {
				seen = append(seen, "gone")
				return
			}
			if s := describe(apiserver.As[corev1.Pod](e.After)); len(seen) == 0 || seen[len(seen)-1] != s {
				seen = append(seen, s)
			}
		}})
		agenda := turnstile.NewAgenda()
		k = kubelet.New(kubelet.Config{Server: server, Agenda: agenda, Seed: 3, Mishap: func(*corev1.Pod) kubelet.Mishap { return mishap }})
		ctx, stop := context.WithTimeout(t.Context(), lasts)
		defer stop()
		user := server.Actor("user")
		if _, err := user.Create("pods", it); err != nil {
			t.Fatal(err)
		}
		if do != nil {
			agenda.After(5*time.Second, func() { do(user) })
		}
		agenda.Run(ctx)
		if o, ok := server.Object("pods", key); ok {
			pod = apiserver.As[corev1.Pod](o)
		}
		went = strings.Join(seen, ", ")
	})
	return pod, went
}

func podOf(steps [][]string) *corev1.Pod {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "p"}}
	for i, words := range steps {
		args := []string{"-post_file", "x", "-results", "colour", "-entrypoint", "sim", "--"}
		if i > 0 {
			args = append([]string{"-wait_file", "y"}, args...)
		}
		pod.Spec.Containers = append(pod.Spec.Containers, corev1.Container{Name: fmt.Sprint("step-", i), Args: append(args, words...)})
	}
	return pod
}

// withSidecar adds a sidecar to a pod.
func withSidecar(pod *corev1.Pod, words ...string) *corev1.Pod {
	always := corev1.ContainerRestartPolicyAlways
	pod.Spec.InitContainers = append(pod.Spec.InitContainers, corev1.Container{
		Name: "sidecar-s", Command: []string{"sim"}, Args: words, RestartPolicy: &always, StartupProbe: &corev1.Probe{},
	})
	return pod
}

// describe is the phase, and a letter for each init container and each step:
// waiting, running, ended with a code.
func describe(pod *corev1.Pod) string {
	s := string(pod.Status.Phase) + " "
	if init := letters(pod.Status.InitContainerStatuses); init != "" {
		s += init + "/"
	}
	return s + letters(pod.Status.ContainerStatuses)
}

func letters(statuses []corev1.ContainerStatus) (s string) {
	for _, c := range statuses {
		switch {
		case c.State.Terminated != nil:
			s += fmt.Sprint(c.State.Terminated.ExitCode)
		case c.State.Running != nil:
			s += "r"
		default:
			s += "w"
		}
	}
	return s
}

func TestStepsRunOneAfterTheOther(t *testing.T) {
	pod, went := live(t, kubelet.Mishap{}, time.Minute, nil, []string{"sleep=5s", "result=colour=red", "result=other=x"}, []string{"sleep=5s"})
	if !strings.HasSuffix(went, "Running rr, Running 0r, Succeeded 00") {
		t.Errorf("it went %s", went)
	}
	message := pod.Status.ContainerStatuses[0].State.Terminated.Message
	if !strings.HasPrefix(message, `[{"key":"colour","value":"red","type":1},{"key":"StartedAt","value":"2000-01-01T00:00:0`) || strings.Contains(message, "other") {
		t.Errorf("the first step left %s", message)
	}
}

func TestAStepThatFailsHasTheOthersSkipped(t *testing.T) {
	pod, went := live(t, kubelet.Mishap{}, time.Minute, nil, []string{"exit=3"}, []string{"sleep=5s"})
	if !strings.HasSuffix(went, "Failed 31") {
		t.Errorf("it went %s", went)
	}
	if m := pod.Status.ContainerStatuses[1].State.Terminated.Message; !strings.Contains(m, `{"key":"Reason","value":"Skipped","type":3}`) {
		t.Errorf("the second step left %s", m)
	}
}

func TestADeletedPodEndsAndGoes(t *testing.T) {
	_, went := live(t, kubelet.Mishap{}, time.Minute, func(user apiserver.Actor) {
		if _, err := user.Delete("pods", key, metav1.DeleteOptions{}); err != nil {
			t.Error(err)
		}
	}, []string{"sleep=1h"})
	if !strings.HasSuffix(went, "Running r, Failed 143, gone") {
		t.Errorf("it went %s", went)
	}
}

func TestADeadlineThatIsBroughtForwardEndsThePod(t *testing.T) {
	pod, went := live(t, kubelet.Mishap{}, time.Minute, func(user apiserver.Actor) {
		if _, err := user.Patch("pods", "", key, `{"spec":{"activeDeadlineSeconds":1}}`); err != nil {
			t.Error(err)
		}
	}, []string{"sleep=1h"})
	if !strings.HasSuffix(went, "Failed 137") || pod.Status.Reason != "DeadlineExceeded" {
		t.Errorf("it went %s, reason %s", went, pod.Status.Reason)
	}
}

func TestMishapsHappen(t *testing.T) {
	ends := map[string]string{
		"deleted":                      "gone",
		"deleted before it starts":     "gone",
		"evicted":                      "Failed 137",
		"image pull backs off":         "Pending w",
		"image pull fails once":        "Succeeded 0",
		"init container fails":         "Failed 1/w",
		"init container out of memory": "Failed 137/w",
		"node knows no image volumes":  "Pending w",
		"node lost":                    "gone",
		"out of memory":                "Failed 137",
		"phase unknown for a while":    "Succeeded 0",
		"preempted":                    "gone",
		"refused by the node":          "Failed ",
		"sidecar out of memory":        "Succeeded 143/0",
		"told to end at once":          "Failed 137",
	}
	for _, kind := range kubelet.Mishaps() {
		want, ok := ends[kind]
		if !ok {
			t.Errorf("no test says how %q ends", kind)
		}
		after := 5 * time.Second
		if strings.HasPrefix(kind, "image") || strings.HasPrefix(kind, "init") || strings.HasPrefix(kind, "refused") || strings.HasSuffix(kind, "starts") || strings.HasSuffix(kind, "volumes") {
			after = 0
		}
		pod := podOf([][]string{{"sleep=20s"}})
		if strings.HasPrefix(kind, "init") {
			pod.Spec.InitContainers = []corev1.Container{{Name: "prepare"}}
		}
		if strings.HasPrefix(kind, "sidecar") {
			pod = withSidecar(pod)
		}
		if _, went := lives(t, kubelet.Mishap{Kind: kind, After: after}, 10*time.Minute, nil, pod); !strings.HasSuffix(went, want) {
			t.Errorf("%s: it went %s, want %s", kind, went, want)
		}
	}
}

func TestStepsWaitForASidecarAndItIsStoppedAfterThem(t *testing.T) {
	_, went := lives(t, kubelet.Mishap{}, time.Minute, nil, withSidecar(podOf([][]string{{"sleep=5s"}}), "ready=3s"))
	if !strings.HasSuffix(went, "Pending r/w, Running r/r, Succeeded 143/0") {
		t.Errorf("it went %s", went)
	}
}

// The first restart comes at once, the next after 10 and 20 seconds.
func TestASidecarThatEndsIsStartedAgain(t *testing.T) {
	pod, went := lives(t, kubelet.Mishap{}, time.Minute, nil, withSidecar(podOf([][]string{{"sleep=5s"}}), "exit=3", "until=2"))
	if !strings.Contains(went, "Running r/r") || !strings.HasSuffix(went, "Succeeded 143/0") {
		t.Errorf("it went %s", went)
	}
	if s := pod.Status.InitContainerStatuses[0]; s.RestartCount != 2 || s.LastTerminationState.Terminated.ExitCode != 3 {
		t.Errorf("the sidecar was left as %+v", s)
	}
	pod, went = lives(t, kubelet.Mishap{}, 30*time.Second, nil, withSidecar(podOf([][]string{{"sleep=5s"}}), "oom"))
	if s := pod.Status.InitContainerStatuses[0]; s.State.Waiting == nil || s.State.Waiting.Reason != "CrashLoopBackOff" || s.LastTerminationState.Terminated.Reason != "OOMKilled" {
		t.Errorf("the sidecar was left as %+v; it went %s", s, went)
	}
}

func TestAStubbornSidecarKeepsThePodFromEnding(t *testing.T) {
	_, went := lives(t, kubelet.Mishap{}, 20*time.Second, nil, withSidecar(podOf([][]string{{"exit=3"}}), "stubborn"))
	if !strings.HasSuffix(went, "Running r/3") {
		t.Errorf("it went %s", went)
	}
	_, went = lives(t, kubelet.Mishap{}, time.Minute, nil, withSidecar(podOf([][]string{{"exit=3"}}), "stubborn"))
	if !strings.HasSuffix(went, "Failed 137/3") {
		t.Errorf("it went %s", went)
	}
}

func TestAPodThatIsDeletedBeforeItStartsLosesItsSteps(t *testing.T) {
	unpullable := kubelet.Mishap{Kind: "image pull backs off"}
	_, went := live(t, unpullable, time.Minute, func(user apiserver.Actor) {
		_, _ = user.Delete("pods", key, metav1.DeleteOptions{})
	}, []string{})
	if !strings.HasSuffix(went, "Pending w, Failed 137, gone") {
		t.Errorf("it went %s", went)
	}
}

func TestAPodWaitsForItsClaim(t *testing.T) {
	pod := podOf([][]string{{}})
	pod.Spec.Volumes = []corev1.Volume{{VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "c"}}}}
	left, went := lives(t, kubelet.Mishap{}, time.Minute, nil, pod)
	if c := left.Status.Conditions[0]; c.Message != `0/1 nodes are available: persistentvolumeclaim "c" not found.` || c.Reason != "Unschedulable" {
		t.Errorf("it waits with %+v, and went %s", c, went)
	}
	for _, class := range []string{"any", kubelet.FirstConsumer} {
		_, went = lives(t, kubelet.Mishap{}, time.Minute, func(user apiserver.Actor) {
			claim := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "c"}}
			claim.Spec.StorageClassName = &class
			if _, err := user.Create("persistentvolumeclaims", claim); err != nil {
				t.Error(err)
			}
		}, pod)
		if !strings.HasSuffix(went, "Running r, Succeeded 0") {
			t.Errorf("with the claim (%s) it went %s", class, went)
		}
	}
}

func TestAStepGetsWhatAnEarlierOneHasLeft(t *testing.T) {
	pod := podOf([][]string{{"step-result=colour=red"}, {"-"}})
	pod.Spec.Containers[0].Args = append([]string{"-step_results", "colour"}, pod.Spec.Containers[0].Args...)
	pod.Spec.Containers[1].Args = append([]string{"-arg", "1", "-text", "result=colour=", "-ref", "step-0/colour"}, pod.Spec.Containers[1].Args...)
	left, went := lives(t, kubelet.Mishap{}, time.Minute, nil, pod)
	if m := left.Status.ContainerStatuses[1].State.Terminated.Message; !strings.Contains(m, `{"key":"colour","value":"red","type":1}`) {
		t.Errorf("the second step left %s; it went %s", m, went)
	}
}

func TestANodesClockShowsInWhatItTells(t *testing.T) {
	pods := map[time.Duration]*corev1.Pod{}
	for _, ahead := range []time.Duration{0, time.Hour} {
		synctest.Test(t, func(t *testing.T) {
			var k *kubelet.Kubelet
			server := apiserver.New(apiserver.Config{Seen: func(e apiserver.Exchange) { k.Saw(e) }})
			agenda := turnstile.NewAgenda()
			k = kubelet.New(kubelet.Config{Server: server, Agenda: agenda, Seed: 3, Clock: func(*corev1.Pod) time.Duration { return ahead }})
			ctx, stop := context.WithTimeout(t.Context(), time.Minute)
			defer stop()
			if _, err := server.Actor("user").Create("pods", podOf([][]string{{"sleep=5s"}})); err != nil {
				t.Fatal(err)
			}
			agenda.Run(ctx)
			o, _ := server.Object("pods", key)
			pods[ahead] = apiserver.As[corev1.Pod](o)
		})
	}
	right, wrong := pods[0].Status.ContainerStatuses[0].State.Terminated, pods[time.Hour].Status.ContainerStatuses[0].State.Terminated
	if got := wrong.FinishedAt.Sub(right.FinishedAt.Time); got != time.Hour || wrong.StartedAt.Sub(right.StartedAt.Time) != time.Hour {
		t.Errorf("the container ended %s later", got)
	}
	if want := strings.Replace(right.Message, "T00:00", "T01:00", 1); wrong.Message != want {
		t.Errorf("the step left %s, and not %s", wrong.Message, want)
	}
	if got := pods[time.Hour].Status.StartTime.Sub(pods[0].Status.StartTime.Time); got != time.Hour {
		t.Errorf("the pod started %s later", got)
	}
}
