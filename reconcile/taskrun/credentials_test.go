package taskrun

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"millrace/reconcile"
)

// What kubectl and old controllers have put into a ServiceAccount's lists may be
// there twice, or have no name: the first is one secret, the second is none.
func TestListsOfSecretsAreTakenAsTheyAre(t *testing.T) {
	c := newCluster(t, "metadata: {name: run}\nspec: {serviceAccountName: builder, taskSpec: {steps: [{name: a, image: x, script: x}, {name: b, image: unknown}]}}")
	c.rec.parts.Images = storyConfig{Images: map[string]storyImage{"unknown": {Entrypoint: []string{"run"}}}}
	c.server.accounts = map[string]*corev1.ServiceAccount{"builder": {
		Secrets:          []corev1.ObjectReference{{Name: "git"}, {}, {Name: "git"}},
		ImagePullSecrets: []corev1.LocalObjectReference{{}},
	}}
	c.server.secrets = map[string]*corev1.Secret{"git": {ObjectMeta: metav1.ObjectMeta{Name: "git", Annotations: map[string]string{"tekton.dev/git-0": "https://x"}}, Type: corev1.SecretTypeBasicAuth}}
	c.settle(nil)
	pod := c.pod()
	if pod == nil {
		t.Fatal("no pod", c.server.run.Status.Conditions)
	}
	if n := strings.Count(fmt.Sprint(pod.Spec.Containers[0].Args), "-basic-git"); n != 1 {
		t.Errorf("the secret is named %d times", n)
	}
	for _, call := range c.server.calls {
		if call.verb == "get secret " {
			t.Error("a secret without a name is asked for; a client answers that for ever with an error")
		}
	}
}

// reads is how often the server was asked for a secret.
func (c *cluster) reads(secret string) int { return c.asked("get secret " + secret) }

// asked is how often the server was asked for that.
func (c *cluster) asked(verb string) int {
	n := 0
	for _, call := range c.server.calls {
		if call.verb == verb {
			n++
		}
	}
	return n
}

// reconcile is one, which must go well.
func (c *cluster) reconcile() reconcile.Result {
	c.t.Helper()
	result, err := c.rec.Reconcile(c.t.Context(), c.key())
	if err != nil {
		c.t.Fatal(err)
	}
	return result
}

// A secret that may not be read is waited for, and the run says so.
func TestForbiddenSecretIsTold(t *testing.T) {
	c := newCluster(t, "metadata: {name: run}\nspec: {serviceAccountName: builder, taskSpec: {steps: [{name: a, image: x, script: x}]}}")
	c.server.accounts = map[string]*corev1.ServiceAccount{"builder": {ObjectMeta: metav1.ObjectMeta{Name: "builder"}, Secrets: []corev1.ObjectReference{{Name: "git"}}}}
	c.server.faults[0] = forbidden
	result := c.reconcile()
	said := c.server.run.Succeeded()
	if said.Status != corev1.ConditionUnknown || said.Reason != "Pending" || !strings.Contains(said.Message, `waits until the controller may read the secrets that ServiceAccount "builder" lists: not for you`) {
		t.Errorf("%+v", said)
	}
	if result.RequeueAfter <= 0 || c.pod() != nil {
		t.Errorf("%+v, pod %v", result, c.pod())
	}
	c.settle(nil)
	if c.pod() == nil {
		t.Error("no pod, though the secrets may be read now")
	}
}

// Likewise the secret with which what an image runs is looked up.
func TestForbiddenPullSecretIsTold(t *testing.T) {
	c := newCluster(t, "metadata: {name: run}\nspec: {podTemplate: {imagePullSecrets: [{name: pull}]}, taskSpec: {steps: [{name: a, image: private}]}}")
	c.rec.parts.Images = storyConfig{Images: map[string]storyImage{"private": {Entrypoint: []string{"run"}}}}
	c.server.secrets = map[string]*corev1.Secret{"pull": {ObjectMeta: metav1.ObjectMeta{Name: "pull"}}}
	c.server.forbidSecrets = true
	result := c.reconcile()
	said := c.server.run.Succeeded()
	if said.Reason != "Pending" || !strings.Contains(said.Message, `get the pull secret "pull": not for you`) || result.RequeueAfter <= 0 {
		t.Errorf("%+v, %+v", said, result)
	}
	c.server.forbidSecrets = false
	c.settle(nil)
	if c.pod() == nil {
		t.Error("no pod, though the secret may be read now")
	}
}

// A run that waits for quota is looked at again and again; its secrets are not.
func TestSecretsOfARunThatWaitsAreReadOnceAMinute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, "metadata: {name: run}\nspec: {serviceAccountName: builder, taskSpec: {steps: [{name: a, image: x, script: x}]}}")
		account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "builder"}, Secrets: []corev1.ObjectReference{{Name: "git"}}}
		c.server.accounts = map[string]*corev1.ServiceAccount{"builder": account}
		git := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "git", Annotations: map[string]string{"tekton.dev/git-0": "https://x"}}, Type: corev1.SecretTypeBasicAuth}
		c.server.secrets = map[string]*corev1.Secret{"git": git, "more": {ObjectMeta: metav1.ObjectMeta{Name: "more"}}}
		c.server.refuse = statusError(403, "Forbidden", `pods "run-pod" is forbidden: exceeded quota: compute`)
		for range 12 {
			c.reconcile()
			time.Sleep(10 * time.Second)
		}
		if n := c.reads("git"); n != 2 {
			t.Errorf("in two minutes the secret was read %d times", n)
		}
		account.Secrets = append(account.Secrets, corev1.ObjectReference{Name: "more"}) // which is news
		time.Sleep(30 * time.Second)                                                    // for the pod to be tried again
		c.reconcile()
		if n := c.reads("more"); n != 1 {
			t.Errorf("another secret was read %d times", n)
		}
		c.server.refuse = nil
		c.settle(nil)
		if pod := c.pod(); pod == nil || !strings.Contains(fmt.Sprint(pod.Spec.Containers[0].Args), "-basic-git git=https://x") {
			t.Errorf("the pod has not what was read before: %v", pod)
		}
		if len(c.rec.recall.of) != 0 {
			t.Errorf("of a run that does not wait any more %v is remembered", c.rec.recall.of)
		}
	})
}
