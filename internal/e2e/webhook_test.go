//go:build e2e

package e2e

import (
	"context"
	"encoding/json"
	"os/exec"
	"strings"
	"testing"
)

// says runs kubectl with an object on its standard input, and returns all that it says:
// warnings are on standard error.
func (s space) says(object string, args ...string) (string, error) {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, "kubectl", append([]string{"-n", s.ns}, args...)...)
	cmd.Stdin = strings.NewReader(object)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

const (
	taskInOrder = `{apiVersion: tekton.dev/v1, kind: Task, metadata: {name: fine}, spec: {params: [{name: who, default: you}], steps: [{image: busybox, script: 'echo hello'}]}}`
	runInOrder  = `{apiVersion: tekton.dev/v1, kind: TaskRun, metadata: {name: fine}, spec: {taskSpec: {steps: [{image: busybox, script: "true"}]}}}`
	// What a schema cannot say: a step whose parameter nobody declares.
	runOutOfOrder = `{apiVersion: tekton.dev/v1, kind: TaskRun, metadata: {name: wrong}, spec: {taskSpec: {steps: [{name: one, image: busybox, script: "true"}, {name: two, image: busybox, args: ["$(params.nobody)"], command: [echo]}]}}}`
)

func TestAdmissionFillsInDefaults(t *testing.T) {
	s := newSpace(t)
	out, err := kubectl(runInOrder, "-n", s.ns, "create", "-f", "-", "-o", "json")
	if err != nil {
		t.Fatal(err)
	}
	var made struct {
		Metadata struct{ Labels map[string]string }
		Spec     struct{ ServiceAccountName, Timeout string }
	}
	if err := json.Unmarshal([]byte(out), &made); err != nil {
		t.Fatal(err)
	}
	if made.Spec.ServiceAccountName != "default" || made.Spec.Timeout != "1h0m0s" || made.Metadata.Labels["app.kubernetes.io/managed-by"] != "tekton-pipelines" {
		t.Errorf("created as %+v", made)
	}
	s.untilReason("fine", "Succeeded")
}

func TestAdmissionRefusesWithPathsAndAdvice(t *testing.T) {
	s := newSpace(t)
	out, err := s.says(runOutOfOrder, "create", "-f", "-")
	if err == nil || !strings.Contains(out, `"wrong" is invalid`) || !strings.Contains(out, "spec.taskSpec.steps[1].args[0]") {
		t.Errorf("kubectl said %v: %s", err, out)
	}
	if out = s.must("get", "taskruns", "-o", "name"); out != "" {
		t.Errorf("and yet there is %s", out)
	}
}

func TestADryRunIsJudgedAndNotStored(t *testing.T) {
	s := newSpace(t)
	if out, err := s.says(taskInOrder, "create", "--dry-run=server", "-f", "-"); err != nil || !strings.Contains(out, "created (server dry run)") {
		t.Errorf("in order: %v: %s", err, out)
	}
	if out, err := s.says(runOutOfOrder, "create", "--dry-run=server", "-f", "-"); err == nil || !strings.Contains(out, "spec.taskSpec") {
		t.Errorf("out of order: %v: %s", err, out)
	}
	if out := s.must("get", "tasks,taskruns", "-o", "name"); out != "" {
		t.Errorf("and yet there is %s", out)
	}
}

func TestAWarningReachesWhoeverApplies(t *testing.T) {
	s := newSpace(t)
	inline := strings.Replace(taskInOrder, "echo hello", "echo $(params.who)", 1)
	if out, err := s.says(inline, "apply", "-f", "-"); err != nil || !strings.Contains(out, "Warning: ") || !strings.Contains(out, "spec.steps[0].script") {
		t.Errorf("kubectl said %v: %s", err, out)
	}
}

func TestAnOlderVersionIsConvertedAndRun(t *testing.T) {
	s := newSpace(t)
	s.create(`{apiVersion: tekton.dev/v1beta1, kind: Task, metadata: {name: older}, spec: {steps: [{image: busybox, script: "true", resources: {requests: {cpu: 10m}}}]}}`)
	if out := s.must("get", "tasks.v1.tekton.dev", "older", "-o", "jsonpath={.spec.steps[0].computeResources.requests.cpu}"); out != "10m" {
		t.Errorf("as v1 its step asks for %q", out)
	}
	if out := s.must("get", "tasks.v1beta1.tekton.dev", "older", "-o", "jsonpath={.spec.steps[0].resources.requests.cpu}"); out != "10m" {
		t.Errorf("as v1beta1 its step asks for %q", out)
	}
	s.create(`{apiVersion: tekton.dev/v1beta1, kind: TaskRun, metadata: {name: older}, spec: {taskRef: {name: older}}}`)
	s.untilReason("older", "Succeeded")
	// One that is out of order is refused by the rules for v1.
	out, err := s.says(strings.Replace(runOutOfOrder, "tekton.dev/v1", "tekton.dev/v1beta1", 1), "create", "-f", "-")
	if err == nil || !strings.Contains(out, "spec.taskSpec.steps[1].args[0]") {
		t.Errorf("out of order: %v: %s", err, out)
	}
}

func TestAStartedRunKeepsItsSpecAndTakesLabels(t *testing.T) {
	s := newSpace(t)
	s.create(strings.Replace(runInOrder, `script: "true"`, `script: "sleep 60"`, 1))
	s.until("fine", "started", firstStepRuns)
	if out, err := s.says("", "patch", "taskrun", "fine", "--type=merge", "-p", `{"spec":{"serviceAccountName":"robot"}}`); err == nil || !strings.Contains(out, "spec.serviceAccountName") {
		t.Errorf("another account: %v: %s", err, out)
	}
	s.must("label", "taskrun", "fine", "a=b")
	s.must("patch", "taskrun", "fine", "--type=merge", "-p", `{"metadata":{"finalizers":["example.com/later"]}}`)
	s.must("patch", "taskrun", "fine", "--type=merge", "-p", `{"spec":{"status":"TaskRunCancelled"}}`)
	s.untilReason("fine", "TaskRunCancelled")
	s.must("delete", "taskrun", "fine", "--wait=false")
	s.must("patch", "taskrun", "fine", "--type=merge", "-p", `{"metadata":{"finalizers":null}}`)
	eventually(t, "the run to be gone", func() bool { return s.must("get", "taskruns", "-o", "name") == "" })
}

// What docs/admission.md says of a webhook that is away: v1 is stored as it came, and the
// controller says what is wrong with it; v1beta1 cannot be had.
func TestWithTheWebhookAwayTheControllerJudges(t *testing.T) {
	s := newSpace(t)
	service := func(selector string) {
		s.kubectl("-n", "tekton-pipelines", "patch", "service", "millrace-webhook", "--type=merge", "-p", `{"spec":{"selector":{"app.kubernetes.io/component":"`+selector+`"}}}`)
	}
	t.Cleanup(func() { service("controller") })
	service("nobody")
	eventually(t, "a run that is out of order to be let in", func() bool {
		_, err := s.says(runOutOfOrder, "create", "-f", "-")
		return err == nil
	})
	s.create(runInOrder)
	s.untilReason("wrong", "TaskRunValidationFailed")
	s.untilReason("fine", "Succeeded")
	if out, err := s.says("", "get", "tasks.v1beta1.tekton.dev"); err == nil && !strings.Contains(out, "No resources found") {
		t.Errorf("v1beta1 without a webhook: %s", out)
	}
	if out, err := s.says(strings.Replace(taskInOrder, "tekton.dev/v1", "tekton.dev/v1beta1", 1), "create", "-f", "-"); err == nil || !strings.Contains(out, "conversion webhook") {
		t.Errorf("v1beta1 without a webhook: %v: %s", err, out)
	}
	service("controller")
	eventually(t, "one that is out of order to be refused again", func() bool {
		out, err := s.says(strings.Replace(runOutOfOrder, "name: wrong", "generateName: wrong-", 1), "create", "-f", "-")
		return err != nil && strings.Contains(out, "spec.taskSpec")
	})
}

// The status is written without admission, and so is what comes out of a backup.
func TestAStatusThatSomebodyWroteEndsTheRunWithAReason(t *testing.T) {
	s := newSpace(t)
	s.create(`{apiVersion: tekton.dev/v1, kind: TaskRun, metadata: {name: forged}, spec: {status: TaskRunPending, taskSpec: {steps: [{image: busybox, script: "true"}]}}}`)
	s.untilReason("forged", "TaskRunPending")
	s.must("patch", "taskrun", "forged", "--subresource=status", "--type=merge", "-p", `{"status":{"taskSpec":{"steps":[{"name":"Not A Name","image":"busybox","command":["echo"]}]}}}`)
	s.must("patch", "taskrun", "forged", "--type=merge", "-p", `{"spec":{"status":null}}`)
	s.create(runInOrder)
	s.until("forged", "ended with a reason", func(r run) bool {
		c := r.Status.Conditions
		return len(c) > 0 && c[0].Status == "False" && c[0].Reason != "" && c[0].Message != ""
	})
	s.untilReason("fine", "Succeeded")
}

// Both ways round: what somebody did to a caBundle is undone, and deleting the Secret
// replaces the authority, with nobody refused.
func TestTheCABundleIsKept(t *testing.T) {
	s := newSpace(t)
	bundle := func() string {
		return s.kubectl("get", "crd", "tasks.tekton.dev", "-o", "jsonpath={.spec.conversion.webhook.clientConfig.caBundle}")
	}
	before := bundle()
	s.kubectl("patch", "crd", "tasks.tekton.dev", "--type=merge", "-p", `{"spec":{"conversion":{"webhook":{"clientConfig":{"caBundle":null}}}}}`)
	eventually(t, "the caBundle to be back", func() bool { return bundle() == before })
	s.kubectl("-n", "tekton-pipelines", "delete", "secret", "millrace-webhook-certs")
	eventually(t, "another authority beside the first", func() bool { return len(bundle()) > len(before) })
	for range 10 {
		if out, err := s.says(runOutOfOrder, "create", "-f", "-"); err == nil || !strings.Contains(out, "spec.taskSpec") {
			t.Fatalf("meanwhile: %v: %s", err, out)
		}
	}
}
