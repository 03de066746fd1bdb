package pipelinerun

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/scheme"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	restclient "k8s.io/client-go/rest"

	"millrace/crds"
	"millrace/reconcile/call"
)

// endpoint answers every request alike, and writes down what it was asked.
type endpoint struct {
	status int
	answer any
	seen   []string
}

func (w *endpoint) client(t *testing.T) *APIClient {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(out http.ResponseWriter, r *http.Request) {
		body := string(must(io.ReadAll(r.Body)))
		w.seen = append(w.seen, strings.TrimSpace(fmt.Sprintf("%s %s %s %s", r.Method, r.URL.RequestURI(), r.Header.Get("Content-Type"), body)))
		out.Header().Set("Content-Type", "application/json")
		out.WriteHeader(w.status)
		check(json.NewEncoder(out).Encode(w.answer))
	}))
	t.Cleanup(server.Close)
	raw := func(version string) restclient.Interface {
		return must(restclient.RESTClientFor(&restclient.Config{Host: server.URL, APIPath: "/apis", ContentConfig: restclient.ContentConfig{
			GroupVersion: &schema.GroupVersion{Group: crds.Group, Version: version}, NegotiatedSerializer: scheme.Codecs.WithoutConversion(), ContentType: "application/json",
		}}))
	}
	core := must(typedcorev1.NewForConfig(&restclient.Config{Host: server.URL, ContentConfig: restclient.ContentConfig{ContentType: "application/json"}}))
	return NewAPIClient(raw("v1"), raw("v1beta1"), core)
}

func TestWritesOnTheWire(t *testing.T) {
	w := &endpoint{status: 200, answer: metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Name: "x", ResourceVersion: "42"}}}
	c, key, ctx := w.client(t), types.NamespacedName{Namespace: "ns", Name: "x"}, t.Context()
	meta := metav1.ObjectMeta{Namespace: "ns", Name: "x"}
	for _, write := range []func() (string, error){
		func() (string, error) { return c.PatchPipelineRun(ctx, key, []byte(`{"metadata":{}}`)) },
		func() (string, error) {
			return c.PatchPipelineRunStatus(ctx, key, types.MergePatchType, []byte(`{"status":{}}`))
		},
		func() (string, error) { return c.PatchPipelineRunStatus(ctx, key, types.JSONPatchType, []byte(`[]`)) },
		func() (string, error) { return c.CreateTaskRun(ctx, &crds.TaskRun{ObjectMeta: meta}) },
		func() (string, error) { return c.CreateCustomRun(ctx, &crds.CustomRun{ObjectMeta: meta}) },
		func() (string, error) { return c.CreatePipelineRun(ctx, &crds.PipelineRun{ObjectMeta: meta}) },
		func() (string, error) {
			return c.EndPipelineRun(ctx, key, "u1", "41", crds.PipelineRunSpecStatusStoppedRunFinally, "why")
		},
		func() (string, error) { return c.CancelTaskRun(ctx, key, "u1", "41", "why") },
		func() (string, error) { return c.CancelCustomRun(ctx, key, "u1", "41", "why") },
	} {
		if version, err := write(); version != "42" || err != nil {
			t.Errorf("after %s: %q, %v", w.seen[len(w.seen)-1], version, err)
		}
	}
	w.answer = &corev1.PersistentVolumeClaim{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "PersistentVolumeClaim"}}
	if err := c.CreateClaim(ctx, &corev1.PersistentVolumeClaim{ObjectMeta: meta}); err != nil {
		t.Errorf("claim: %v", err)
	}
	want := []string{
		`PATCH /apis/tekton.dev/v1/namespaces/ns/pipelineruns/x application/merge-patch+json {"metadata":{}}`,
		`PATCH /apis/tekton.dev/v1/namespaces/ns/pipelineruns/x/status application/merge-patch+json {"status":{}}`,
		`PATCH /apis/tekton.dev/v1/namespaces/ns/pipelineruns/x/status application/json-patch+json []`,
		`POST /apis/tekton.dev/v1/namespaces/ns/taskruns application/json {"metadata":{"name":"x","namespace":"ns"},"spec":{}}`,
		`POST /apis/tekton.dev/v1beta1/namespaces/ns/customruns application/json {"metadata":{"name":"x","namespace":"ns"},"spec":{}}`,
		`POST /apis/tekton.dev/v1/namespaces/ns/pipelineruns application/json {"metadata":{"name":"x","namespace":"ns"},"spec":{}}`,
		`PATCH /apis/tekton.dev/v1/namespaces/ns/pipelineruns/x application/merge-patch+json {"metadata":{"annotations":{"millrace.dev/status-message":"why"},"resourceVersion":"41","uid":"u1"},"spec":{"status":"StoppedRunFinally"}}`,
		`PATCH /apis/tekton.dev/v1/namespaces/ns/taskruns/x application/merge-patch+json {"metadata":{"resourceVersion":"41","uid":"u1"},"spec":{"status":"TaskRunCancelled","statusMessage":"why"}}`,
		`PATCH /apis/tekton.dev/v1beta1/namespaces/ns/customruns/x application/merge-patch+json {"metadata":{"resourceVersion":"41","uid":"u1"},"spec":{"status":"RunCancelled","statusMessage":"why"}}`,
		`POST /api/v1/namespaces/ns/persistentvolumeclaims application/json {"kind":"PersistentVolumeClaim","apiVersion":"v1","metadata":{"name":"x","namespace":"ns"},"spec":{"resources":{}},"status":{}}`,
	}
	if diff := cmp.Diff(want, w.seen); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestReadsOnTheWire(t *testing.T) {
	w := &endpoint{status: 200}
	c, key, ctx := w.client(t), types.NamespacedName{Namespace: "ns", Name: "x"}, t.Context()
	is := func(kind string) {
		w.answer = map[string]any{"kind": kind, "metadata": map[string]any{"name": "x", "resourceVersion": "7"}}
	}
	is(crds.KindPipelineRun)
	run, err := c.GetPipelineRun(ctx, key)
	if err != nil || run.ResourceVersion != "7" {
		t.Errorf("%+v %v", run, err)
	}
	is(crds.KindPipeline)
	_, err1 := c.GetPipeline(ctx, key)
	is(crds.KindTask)
	_, err2 := c.GetTask(ctx, key)
	is(crds.KindTaskRun)
	_, err3 := c.GetTaskRun(ctx, key)
	is(crds.KindCustomRun)
	_, err4 := c.GetCustomRun(ctx, key)
	if err := errors.Join(err1, err2, err3, err4); err != nil {
		t.Error(err)
	}
	list := func(kind string, items ...any) { w.answer = map[string]any{"kind": kind + "List", "items": items} }
	listed := func(kind string) {
		list(kind, map[string]any{"kind": kind, "metadata": map[string]any{"name": "child"}})
	}
	listed(crds.KindTaskRun)
	tasks, err1 := c.ListTaskRuns(ctx, key)
	listed(crds.KindCustomRun)
	customs, err2 := c.ListCustomRuns(ctx, key)
	listed(crds.KindPipelineRun)
	pipelines, err3 := c.ListPipelineRuns(ctx, key)
	if err := errors.Join(err1, err2, err3); err != nil || len(tasks) != 1 || len(customs) != 1 || len(pipelines) != 1 || tasks[0].Name != "child" {
		t.Errorf("%v %v %v, %v", tasks, customs, pipelines, err)
	}
	want := []string{
		"GET /apis/tekton.dev/v1/namespaces/ns/pipelineruns/x",
		"GET /apis/tekton.dev/v1/namespaces/ns/pipelines/x",
		"GET /apis/tekton.dev/v1/namespaces/ns/tasks/x",
		"GET /apis/tekton.dev/v1/namespaces/ns/taskruns/x",
		"GET /apis/tekton.dev/v1beta1/namespaces/ns/customruns/x",
		"GET /apis/tekton.dev/v1/namespaces/ns/taskruns?labelSelector=tekton.dev%2FpipelineRun%3Dx",
		"GET /apis/tekton.dev/v1beta1/namespaces/ns/customruns?labelSelector=tekton.dev%2FpipelineRun%3Dx",
		"GET /apis/tekton.dev/v1/namespaces/ns/pipelineruns?labelSelector=tekton.dev%2FpipelineRun%3Dx",
	}
	if diff := cmp.Diff(want, w.seen); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	w.status, w.answer = 404, metav1.Status{TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: "Failure", Reason: metav1.StatusReasonNotFound, Code: 404}
	if _, err := c.GetTaskRun(ctx, key); !apierrors.IsNotFound(err) {
		t.Errorf("a TaskRun that is not there: %v", err)
	}
	w.status, w.answer = 200, map[string]any{"kind": crds.KindPipeline, "spec": "text"}
	var unreadable *call.UnreadableError
	if _, err := c.GetPipeline(ctx, key); !errors.As(err, &unreadable) {
		t.Errorf("a Pipeline that is none: %v", err)
	}
	list(crds.KindTaskRun, map[string]any{"kind": crds.KindTaskRun, "spec": "text"}, map[string]any{"kind": crds.KindTaskRun, "metadata": map[string]any{"name": "child"}})
	if runs, err := c.ListTaskRuns(ctx, key); !errors.As(err, &unreadable) || len(runs) != 1 || runs[0].Name != "child" {
		t.Errorf("a TaskRun that is none, and one that is: %v, %v", runs, err)
	}
}

// What has the metadata of a run and is none would be a run that has not begun: one was
// asked to stop though it had ended (seed 157). The server keeps nothing of another kind
// there, so that is for another try, and the end of no run.
func TestWhatIsOfAnotherKindIsNoAnswer(t *testing.T) {
	object := func(kind string) any {
		return map[string]any{"kind": kind, "metadata": map[string]any{"name": "x"}}
	}
	list := func(kind, of string) any {
		return map[string]any{"kind": kind, "items": []any{object(crds.KindTaskRun), object(of)}}
	}
	for name, answer := range map[string]any{
		"a ConfigMap": object("ConfigMap"), "nothing": object(""), "a text": "text",
		"a list with a ConfigMap": list("TaskRunList", "ConfigMap"), "a table": list("Table", crds.KindTaskRun),
		"a list with a text": map[string]any{"kind": "TaskRunList", "items": []any{"text"}},
	} {
		w := &endpoint{status: 200, answer: answer}
		c, key := w.client(t), types.NamespacedName{Namespace: "ns", Name: "x"}
		var unreadable *call.UnreadableError
		if run, err := c.GetTaskRun(t.Context(), key); run != nil || err == nil || errors.As(err, &unreadable) {
			t.Errorf("%s for a TaskRun: %v, %v", name, run, err)
		}
		if runs, err := c.ListTaskRuns(t.Context(), key); runs != nil || err == nil || errors.As(err, &unreadable) {
			t.Errorf("%s for TaskRuns: %v, %v", name, runs, err)
		}
	}
}
