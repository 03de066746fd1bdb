package taskrun

import (
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
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

// A secret that may not be read is waited for, and the run says so.
func TestForbiddenSecretIsTold(t *testing.T) {
	var told strings.Builder
	c := newCluster(t, "metadata: {name: run}\nspec: {serviceAccountName: builder, taskSpec: {steps: [{name: a, image: x, script: x}]}}")
	c.rec.parts.Recorder = listener{&told}
	c.server.accounts = map[string]*corev1.ServiceAccount{"builder": {ObjectMeta: metav1.ObjectMeta{Name: "builder"}, Secrets: []corev1.ObjectReference{{Name: "git"}}}}
	c.server.faults[0] = forbidden
	if _, err := c.rec.Reconcile(t.Context(), c.key()); !apierrors.IsForbidden(err) || reconcile.IsTerminal(err) {
		t.Error(err)
	}
	if !strings.HasPrefix(told.String(), `Warning FailedToRetrieveSecret the run waits until the controller may read the secrets that ServiceAccount "builder" lists: `) {
		t.Error(told.String())
	}
	c.settle(nil)
	if c.pod() == nil {
		t.Error("no pod, though the secrets may be read now")
	}
}
