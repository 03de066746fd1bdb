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
	synctest.Test(t, func(t *testing.T) {
		var k *kubelet.Kubelet
		var seen []string
		server := apiserver.New(apiserver.Config{Seen: func(e apiserver.Exchange) {
			k.Saw(e)
			if e.After == nil {
				seen = append(seen, "gone")
				return
			}
			if s := describe(apiserver.Into[corev1.Pod](e.After)); len(seen) == 0 || seen[len(seen)-1] != s {
				seen = append(seen, s)
			}
		}})
		agenda := turnstile.NewAgenda()
		k = kubelet.New(kubelet.Config{Server: server, Agenda: agenda, Seed: 3, Mishap: func(*corev1.Pod) kubelet.Mishap { return mishap }})
		ctx, stop := context.WithTimeout(t.Context(), lasts)
		defer stop()
		user := server.Actor("user")
		if _, err := user.Create("pods", podOf(steps)); err != nil {
			t.Fatal(err)
		}
		if do != nil {
			agenda.After(5*time.Second, func() { do(user) })
		}
		agenda.Run(ctx)
		if o, ok := server.Object("pods", key); ok {
			pod = apiserver.Into[corev1.Pod](o)
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

// describe is the phase, and a letter for each step: waiting, running, ended with
// a code.
func describe(pod *corev1.Pod) string {
	s := string(pod.Status.Phase) + " "
	for _, c := range pod.Status.ContainerStatuses {
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
		"deleted":                   "gone",
		"deleted before it starts":  "gone",
		"evicted":                   "Failed 137",
		"image pull backs off":      "Pending w",
		"image pull fails once":     "Succeeded 0",
		"node lost":                 "gone",
		"out of memory":             "Failed 137",
		"phase unknown for a while": "Succeeded 0",
		"preempted":                 "gone",
		"refused by the node":       "Failed ",
	}
	for _, kind := range kubelet.Mishaps() {
		want, ok := ends[kind]
		if !ok {
			t.Errorf("no test says how %q ends", kind)
		}
		after := 5 * time.Second
		if strings.HasPrefix(kind, "image") || strings.HasPrefix(kind, "refused") || strings.HasSuffix(kind, "starts") {
			after = 0
		}
		if _, went := live(t, kubelet.Mishap{Kind: kind, After: after}, 10*time.Minute, nil, []string{"sleep=20s"}); !strings.HasSuffix(went, want) {
			t.Errorf("%s: it went %s, want %s", kind, went, want)
		}
	}
}
