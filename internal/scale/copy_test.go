package main

import (
	"encoding/json"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
)

func copyOf(t *testing.T, n int, namespace string) twin {
	t.Helper()
	o, err := newOriginal()
	if err != nil {
		t.Fatal(err)
	}
	made, err := o.copyOf(n, namespace)
	if err != nil {
		t.Fatal(err)
	}
	return made
}

func TestACopyAgreesWithItself(t *testing.T) {
	made := copyOf(t, 42, "completed-07")
	var run head
	if err := json.Unmarshal([]byte(made.taskRun), &run); err != nil {
		t.Fatal(err)
	}
	var pod corev1.Pod
	if err := json.Unmarshal(made.podOf("uid-of-the-server"), &pod); err != nil {
		t.Fatal(err)
	}
	if run.Metadata.Name != "build-00042" || run.Metadata.Namespace != "completed-07" || run.succeeded() != "True" {
		t.Errorf("the run is %+v", run)
	}
	if run.Status.PodName != pod.Name || pod.Namespace != run.Metadata.Namespace || pod.Status.Phase != corev1.PodSucceeded {
		t.Errorf("pod %s/%s in phase %s of a run whose pod is %s", pod.Namespace, pod.Name, pod.Status.Phase, run.Status.PodName)
	}
	owner := pod.OwnerReferences[0]
	if owner.Name != run.Metadata.Name || owner.UID != "uid-of-the-server" || pod.Labels["tekton.dev/taskRun"] != run.Metadata.Name ||
		pod.Labels["tekton.dev/taskRunUID"] != "uid-of-the-server" {
		t.Errorf("owned by %+v, labels %v", owner, pod.Labels)
	}
	result := run.Status.Results[0]
	if message := pod.Status.ContainerStatuses[1].State.Terminated.Message; !strings.Contains(message, result.Value) {
		t.Errorf("the run has the result %s, and its step said %s", result.Value, message)
	}
	for _, left := range []string{recordedName, recordedUID, `"real"`} {
		if strings.Contains(made.taskRun+string(made.podOf("u")), left) {
			t.Errorf("a copy still says %s", left)
		}
	}
}

func TestNoTwoCopiesAreTheSame(t *testing.T) {
	a, b, again := copyOf(t, 1, "n"), copyOf(t, 2, "n"), copyOf(t, 1, "n")
	if a != again {
		t.Error("number 1 is another one the second time")
	}
	if len(a.taskRun) != len(b.taskRun) || len(a.pod) != len(b.pod) {
		t.Error("copies are not of one length")
	}
	for _, pattern := range []string{`"value": "sha256:`, `"containerID": "containerd://`, `"completionTime": "`, `"startTime": "`} {
		one, other := after(a.taskRun+a.pod, pattern), after(b.taskRun+b.pod, pattern)
		if one == "" || one == other {
			t.Errorf("%s%s in one, %s in the other", pattern, one, other)
		}
	}
}

// after is the text up to the next quote.
func after(text, begin string) string {
	_, rest, _ := strings.Cut(text, begin)
	value, _, _ := strings.Cut(rest, `"`)
	return value
}

func TestAStatusIsWrittenForTheObjectThatTheServerHas(t *testing.T) {
	var h head
	h.Metadata.UID, h.Metadata.ResourceVersion = "u1", "17"
	for name, object := range map[string]string{"run": copyOf(t, 1, "n").taskRun, "pod": string(copyOf(t, 1, "n").podOf("u0"))} {
		body, err := asStored([]byte(object), h)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		var got head
		if err := json.Unmarshal(body, &got); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if got.Metadata.UID != "u1" || got.Metadata.ResourceVersion != "17" || got.Metadata.Namespace != "n" {
			t.Errorf("%s: %+v", name, got.Metadata)
		}
	}
	if _, err := asStored([]byte(`{}`), h); err == nil {
		t.Error("an object without metadata has been named")
	}
}
