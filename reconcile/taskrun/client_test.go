package taskrun

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/scheme"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"

	"millrace/crds"
	"millrace/reconcile/call"
)

// endpoint records what goes over the network, and answers as it is told.
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
	config := &rest.Config{Host: server.URL, APIPath: "/apis", ContentConfig: rest.ContentConfig{
		GroupVersion: &schema.GroupVersion{Group: "tekton.dev", Version: "v1"}, NegotiatedSerializer: scheme.Codecs.WithoutConversion(), ContentType: "application/json",
	}}
	return NewAPIClient(must(rest.RESTClientFor(config)), must(typedcorev1.NewForConfig(&rest.Config{Host: server.URL, ContentConfig: rest.ContentConfig{ContentType: "application/json"}})))
}

func TestWritesOnTheWire(t *testing.T) {
	w := &endpoint{status: 200, answer: metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Name: "x", ResourceVersion: "42"}}}
	c, key, ctx := w.client(t), types.NamespacedName{Namespace: "ns", Name: "x"}, context.Background()
	if version, err := c.PatchTaskRunStatus(ctx, key, []byte(`{"status":{}}`)); version != "42" || err != nil {
		t.Errorf("status: %s %v", version, err)
	}
	if version, err := c.PatchTaskRun(ctx, key, []byte(`{"metadata":{}}`)); version != "42" || err != nil {
		t.Errorf("metadata: %s %v", version, err)
	}
	w.answer = &corev1.Pod{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"}, ObjectMeta: metav1.ObjectMeta{Name: "x", ResourceVersion: "42"}}
	if version, err := c.DeletePod(ctx, key, "uid-1", ""); version != "42" || err != nil {
		t.Errorf("delete: %s %v", version, err)
	}
	if version, err := c.StopPod(ctx, key, "uid-1"); version != "42" || err != nil {
		t.Errorf("stop: %s %v", version, err)
	}
	if version, err := c.DeletePod(ctx, key, "uid-1", "41"); version != "42" || err != nil {
		t.Errorf("delete as it was looked at: %s %v", version, err)
	}
	if pod, err := c.CreatePod(ctx, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "x"}}); err != nil || pod.ResourceVersion != "42" {
		t.Errorf("create: %v %v", pod, err)
	}
	if err := c.CreateClaim(ctx, &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "c"}}); err != nil {
		t.Errorf("claim: %v", err)
	}
	w.answer = &corev1.PersistentVolumeClaim{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "PersistentVolumeClaim"}}
	if there, err := c.HasClaim(ctx, types.NamespacedName{Namespace: "ns", Name: "c"}); !there || err != nil {
		t.Errorf("the claim is there: %t %v", there, err)
	}
	w.answer = &corev1.PersistentVolumeClaim{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "PersistentVolumeClaim"}, ObjectMeta: metav1.ObjectMeta{DeletionTimestamp: &metav1.Time{Time: time.Now()}}}
	if there, err := c.HasClaim(ctx, types.NamespacedName{Namespace: "ns", Name: "c"}); there || err != nil {
		t.Errorf("a claim that is being deleted is there: %t %v", there, err)
	}
	want := []string{
		`PATCH /apis/tekton.dev/v1/namespaces/ns/taskruns/x/status application/merge-patch+json {"status":{}}`,
		`PATCH /apis/tekton.dev/v1/namespaces/ns/taskruns/x application/merge-patch+json {"metadata":{}}`,
		`DELETE /api/v1/namespaces/ns/pods/x application/json {"kind":"DeleteOptions","apiVersion":"v1","preconditions":{"uid":"uid-1"}}`,
		`PATCH /api/v1/namespaces/ns/pods/x application/merge-patch+json {"metadata":{"uid":"uid-1"},"spec":{"activeDeadlineSeconds":1}}`,
		`DELETE /api/v1/namespaces/ns/pods/x application/json {"kind":"DeleteOptions","apiVersion":"v1","preconditions":{"uid":"uid-1","resourceVersion":"41"}}`,
		`POST /api/v1/namespaces/ns/pods application/json {"kind":"Pod","apiVersion":"v1","metadata":{"name":"x","namespace":"ns"},"spec":{"containers":null},"status":{}}`,
		`POST /api/v1/namespaces/ns/persistentvolumeclaims application/json {"kind":"PersistentVolumeClaim","apiVersion":"v1","metadata":{"name":"c","namespace":"ns"},"spec":{"resources":{}},"status":{}}`,
		`GET /api/v1/namespaces/ns/persistentvolumeclaims/c`,
	}
	for i := range want {
		if i >= len(w.seen) || w.seen[i] != want[i] {
			t.Errorf("request %d:\n got %s\nwant %s", i, w.seen[min(i, len(w.seen)-1)], want[i])
		}
	}
}

// A pod that is gone, or has been replaced by another one of its name, needs no
// deleting and no stopping. One that was to be as it was looked at, and is another, is
// looked at again: a server answers both with the same conflict.
func TestGoneIsNoError(t *testing.T) {
	for _, reason := range []metav1.StatusReason{metav1.StatusReasonNotFound, metav1.StatusReasonConflict} {
		code := map[metav1.StatusReason]int{metav1.StatusReasonNotFound: 404, metav1.StatusReasonConflict: 409}[reason]
		w := &endpoint{status: code, answer: metav1.Status{TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: "Failure", Reason: reason, Code: int32(code)}}
		c, key, ctx := w.client(t), types.NamespacedName{Namespace: "ns", Name: "x"}, context.Background()
		if _, err := c.DeletePod(ctx, key, "uid-1", ""); err != nil {
			t.Errorf("delete: %v", err)
		}
		if _, err := c.DeletePod(ctx, key, "uid-1", "41"); apierrors.IsConflict(err) != (reason == metav1.StatusReasonConflict) || apierrors.IsNotFound(err) {
			t.Errorf("delete as it was looked at: %v", err)
		}
		if _, err := c.StopPod(ctx, key, "uid-1"); err != nil {
			t.Errorf("stop: %v", err)
		}
	}
}

func TestReadsOnTheWire(t *testing.T) {
	w := &endpoint{status: 200}
	is := func(kind string) {
		w.answer = map[string]any{"kind": kind, "metadata": map[string]any{"name": "x", "resourceVersion": "7"}, "spec": map[string]any{"serviceAccountName": "sa"}}
	}
	c, key, ctx := w.client(t), types.NamespacedName{Namespace: "ns", Name: "x"}, context.Background()
	is(crds.KindTaskRun)
	if run, err := c.GetTaskRun(ctx, key); err != nil || run.Spec.ServiceAccountName != "sa" || run.ResourceVersion != "7" {
		t.Errorf("%+v %v", run, err)
	}
	is(crds.KindTask)
	if task, err := c.GetTask(ctx, key); err != nil || task.Name != "x" {
		t.Errorf("%+v %v", task, err)
	}
	is(crds.KindStepAction)
	if action, err := c.GetStepAction(ctx, key); err != nil || action.Name != "x" {
		t.Errorf("%+v %v", action, err)
	}
	w.answer = "a log"
	if log, err := c.ReadLog(ctx, key, "printer", 99); err != nil || string(log) != "\"a log\"\n" {
		t.Errorf("%q %v", log, err)
	}
	want := []string{
		"GET /apis/tekton.dev/v1/namespaces/ns/taskruns/x",
		"GET /apis/tekton.dev/v1/namespaces/ns/tasks/x",
		"GET /apis/tekton.dev/v1beta1/namespaces/ns/stepactions/x",
		"GET /api/v1/namespaces/ns/pods/x/log?container=printer&limitBytes=99",
	}
	if diff := cmp.Diff(want, w.seen); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	w.status = 404
	w.answer = metav1.Status{TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: "Failure", Reason: metav1.StatusReasonNotFound, Code: 404, Message: `tasks.tekton.dev "x" not found`}
	if _, err := c.GetTask(ctx, key); err == nil || err.Error() != `tasks.tekton.dev "x" not found` {
		t.Errorf("a Task that is not there: %v", err)
	}
	w.status = 200
	w.answer = map[string]any{"kind": crds.KindTask, "spec": "text"}
	var unreadable *call.UnreadableError
	if _, err := c.GetTask(ctx, key); err == nil || !errors.As(err, &unreadable) {
		t.Errorf("a Task that is none: %v", err)
	}
}

// Of all warnings the last one counts, whichever form of event it comes in.
func TestWarningIsTheLastOne(t *testing.T) {
	at := func(minute int) metav1.Time { return metav1.Date(2026, 1, 1, 0, minute, 0, 0, time.UTC) }
	w := &endpoint{status: 200, answer: corev1.EventList{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "EventList"}, Items: []corev1.Event{
		{Reason: "FailedScheduling", Message: "none", LastTimestamp: at(1)},
		{Reason: "FailedMount", Message: "no volume", EventTime: metav1.NewMicroTime(at(2).Time), Series: &corev1.EventSeries{LastObservedTime: metav1.NewMicroTime(at(9).Time)}},
		{Reason: "FailedCreatePodSandBox", Message: "no network", EventTime: metav1.NewMicroTime(at(5).Time)},
	}}}
	warning, err := w.client(t).Warning(context.Background(), "ns", "uid-1")
	if warning != "FailedMount: no volume" || err != nil {
		t.Errorf("%q %v", warning, err)
	}
	if want := "GET /api/v1/namespaces/ns/events?fieldSelector=involvedObject.uid%3Duid-1%2Ctype%3DWarning"; w.seen[0] != want {
		t.Errorf("asked %s, want %s", w.seen[0], want)
	}
}
