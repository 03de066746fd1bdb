package resolution_test

import (
	"encoding/base64"
	"errors"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"millrace/crds"
	"millrace/reconcile/resolution"
)

func answered(status corev1.ConditionStatus, data, message string) *crds.ResolutionRequest {
	request := resolution.Request("default", "run", metav1.OwnerReference{UID: "uid"}, crds.ResolverRef{Resolver: "git", Params: crds.Params{{Name: "url", Value: crds.NewString("u")}}})
	request.CreationTimestamp = metav1.NewTime(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
	request.Status.Data = data
	if status != "" {
		request.Status.Conditions.Set(crds.Condition{Type: crds.ConditionSucceeded, Status: status, Message: message}, request.CreationTimestamp.Time)
	}
	return request
}

// What a resolver has answered is an object of the kind that was asked for, or an
// error; it never panics.
func TestAnswersOfResolvers(t *testing.T) {
	encoded := func(text string) string { return base64.StdEncoding.EncodeToString([]byte(text)) }
	for _, c := range []struct {
		request *crds.ResolutionRequest
		after   time.Duration
		want    string
	}{
		{answered("True", encoded("apiVersion: tekton.dev/v1\nkind: Task\nmetadata: {name: found}\n"), ""), 0, "found"},
		{answered("True", encoded(`{"apiVersion": "tekton.dev/v1beta1", "kind": "Task", "metadata": {"name": "older"}}`), ""), 0, "older"},
		{answered("True", encoded("apiVersion: tekton.dev/v1\nkind: Pipeline\n"), ""), 0, `a Task was asked for, and the resolver has answered with a "Pipeline" of "tekton.dev/v1"`},
		{answered("True", encoded("apiVersion: v1\nkind: Task\n"), ""), 0, `a Task was asked for`},
		{answered("True", encoded("- a\n- b\n"), ""), 0, "no object"},
		{answered("True", encoded("kind: [\n"), ""), 0, "no YAML"},
		{answered("True", "***", ""), 0, "not in base64"},
		{answered("True", encoded("apiVersion: tekton.dev/v1\nkind: Task\nspec: 5\n"), ""), 0, "decode the answer"},
		{answered("False", "", "no such branch"), 0, "error requesting remote resource: no such branch"},
		{answered("Unknown", "", ""), time.Minute, resolution.ErrPending.Error()},
		{answered("", "", ""), time.Minute, resolution.ErrPending.Error()},
		{answered("", "", ""), resolution.Patience, `within 2m0s: is there one for "git"?`},
	} {
		task, _, err := resolution.Read[crds.Task](c.request, crds.KindTask, c.request.CreationTimestamp.Add(c.after))
		var got string
		if err != nil {
			got = err.Error()
		} else {
			got = task.Name
		}
		if !strings.Contains(got, c.want) {
			t.Errorf("%s, want %s", got, c.want)
		}
		if pending := errors.Is(err, resolution.ErrPending); pending != (c.want == resolution.ErrPending.Error()) {
			t.Errorf("%s: pending %t", got, pending)
		}
	}
}

// The name is that of one question of one run, in whatever order it is asked.
func TestNamesOfRequests(t *testing.T) {
	a, b := crds.Param{Name: "a", Value: crds.NewString("1")}, crds.Param{Name: "b", Value: crds.NewArray("x", "y")}
	name := func(run string, params ...crds.Param) string {
		return resolution.RequestName("default", run, crds.ResolverRef{Resolver: "git", Params: params})
	}
	if name("run", a, b) != name("run", b, a) {
		t.Error("the order counts")
	}
	if len(name("run", a, b)) != len("git-")+32 || !strings.HasPrefix(name("run"), "git-") {
		t.Error(name("run", a, b))
	}
	if name("run", a) == name("run", b) || name("run", a) == name("other", a) {
		t.Error("two questions have one name")
	}
}
