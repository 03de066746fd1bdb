package main

import (
	"context"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"millrace/crds"
	"millrace/internal/simulation/apiserver"
)

func customRun(name, kind, duration string) *crds.CustomRun {
	return &crds.CustomRun{
		TypeMeta:   metav1.TypeMeta{APIVersion: crds.APIVersionCustomRuns, Kind: crds.KindCustomRun},
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name},
		Spec: crds.CustomRunSpec{
			CustomRef: &crds.TaskRef{APIVersion: "example.dev/v1", Kind: kind},
			Params:    crds.Params{{Name: "duration", Value: crds.NewString(duration)}},
		},
	}
}

// The whole program against a model of a server: a run waits and succeeds, another is
// cancelled, a third makes no sense, and a fourth is somebody else's.
func TestWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := apiserver.New(apiserver.Config{})
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan error, 2)
		go func() { done <- server.Run(ctx) }()
		transport := &http.Transport{DialContext: server.Connect("wait").Dial}
		go func() { done <- run(ctx, &rest.Config{Host: "http://apiserver", Transport: transport}) }()

		user := server.Actor("user")
		for _, r := range []*crds.CustomRun{
			customRun("waits", kind, "90s"), customRun("stops", kind, "1h"), customRun("nonsense", kind, "soon"), customRun("foreign", "Other", "1s"),
		} {
			if _, err := user.Create(crds.ResourceCustomRuns, r); err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(time.Minute)
		expect(t, user, map[string]string{"waits": "Unknown Waiting", "stops": "Unknown Waiting", "nonsense": "False BadDuration", "foreign": "Unknown "})
		if _, err := user.Patch(crds.ResourceCustomRuns, "", types.NamespacedName{Namespace: "default", Name: "stops"}, `{"spec": {"status": "RunCancelled"}}`); err != nil {
			t.Fatal(err)
		}
		time.Sleep(40 * time.Second)
		expect(t, user, map[string]string{"waits": "True Waited", "stops": "False CustomRunCancelled", "foreign": "Unknown "})

		stop()
		for range 2 {
			if err := <-done; err != nil && ctx.Err() == nil {
				t.Error(err)
			}
		}
		transport.CloseIdleConnections()
	})
}

func expect(t *testing.T, user apiserver.Actor, want map[string]string) {
	t.Helper()
	for name, wanted := range want {
		_, err := apiserver.Change(user, crds.ResourceCustomRuns, "status", types.NamespacedName{Namespace: "default", Name: name}, func(r *crds.CustomRun) {
			condition := r.Succeeded()
			if got := string(condition.Status) + " " + condition.Reason; got != wanted {
				t.Errorf("%s: %s, want %s", name, got, wanted)
			}
			if condition.Status == corev1.ConditionTrue && (r.Status.CompletionTime.Sub(r.Status.StartTime.Time) != 90*time.Second || len(r.Status.Results) != 1) {
				t.Errorf("%s: %+v", name, r.Status)
			}
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}
