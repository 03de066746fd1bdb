package inspect_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"millrace/internal/inspect"
	"millrace/workqueue"
)

func get(tb testing.TB, h http.Handler, path, accept string) *httptest.ResponseRecorder {
	tb.Helper()
	w := httptest.NewRecorder()
	request := httptest.NewRequest(http.MethodGet, path, nil)
	request.Header.Set("Accept", accept)
	h.ServeHTTP(w, request)
	return w
}

// What is wrong with a question is said by the name of the parameter.
func TestAQuestionThatCannotBeAnsweredNamesTheParameter(t *testing.T) {
	bubble(t, func(r *rig) {
		h := r.inspector.Handler()
		for path, want := range map[string]string{
			"/debug/key":                                        "400 parameter controller is missing; it is one of: taskrun",
			"/debug/key?controller=taskrun":                     "400 parameter key is missing; it is namespace/name",
			"/debug/key?controller=taskrun&key=build":           "400 parameter key=build: it must be namespace/name",
			"/debug/key?controller=taskrun&key=a/b/c":           "400 parameter key=a/b/c: it must be namespace/name",
			"/debug/key?controller=taskrun&key=ci/":             "400 parameter key=ci/: it must be namespace/name",
			"/debug/key?controller=pods&key=ci/build":           "404 parameter controller=pods: there is none of that name; there are: taskrun",
			"/debug/key?controller=taskrun&key=ci/other":        "404 parameter key=ci/other: controller taskrun knows no such key: it is neither in the cache of taskruns nor in the queue, and nothing is remembered of it",
			"/debug/key?controller=taskrun&key=ci/%3Cscript%3E": "404 parameter key=ci/<script>: controller taskrun knows no such key: it is neither in the cache of taskruns nor in the queue, and nothing is remembered of it",
		} {
			w := get(r.t, h, path, "")
			if got := fmt.Sprintf("%d %s", w.Code, strings.TrimSpace(w.Body.String())); got != want {
				r.t.Errorf("%s: %s\nwant %s", path, got, want)
			}
			if kind := w.Header().Get("Content-Type"); !strings.HasPrefix(kind, "text/plain") {
				r.t.Errorf("%s is answered as %s", path, kind)
			}
		}
	})
}

func TestAKeyIsAnsweredInJSONOrAsTextForATerminal(t *testing.T) {
	bubble(t, func(r *rig) {
		r.queue.Add(build, workqueue.Cause{Source: "test", Event: "update"})
		h := r.inspector.Handler()
		for accept, want := range map[string]string{
			"":                             "application/json",
			"*/*":                          "application/json",
			"application/json, text/plain": "application/json",
			"text/plain":                   "text/plain; charset=utf-8",
		} {
			w := get(r.t, h, "/debug/key?controller=taskrun&key=ci/build", accept)
			if got := w.Header().Get("Content-Type"); w.Code != http.StatusOK || got != want {
				r.t.Errorf("Accept: %s is answered with %d, %s, want %s", accept, w.Code, got, want)
			}
			if want != "application/json" {
				continue
			}
			var report inspect.Report
			if err := json.Unmarshal(w.Body.Bytes(), &report); err != nil || report.Key != "ci/build" || len(report.Events) == 0 {
				r.t.Errorf("%v: %s", err, w.Body)
			}
		}
	})
}

// The stream has a snapshot at once and one each second, and ends with whoever
// listens. It is a real server's, since a recorder cannot flush.
func TestTheStreamTellsHowThingsAre(t *testing.T) {
	r := newRig(t)
	defer r.stop()
	r.says("taskruns", "build", 101, 1, "none")
	for r.inspector.Snapshot().Controllers[0].Runs == 0 {
		time.Sleep(time.Millisecond)
	}
	served := make(chan struct{})
	h := r.inspector.Handler()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		defer close(served)
		h.ServeHTTP(w, q)
	}))
	defer server.Close()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, server.URL+"/debug/events", nil)
	if err != nil {
		t.Fatal(err)
	}
	asked := time.Now()
	response, err := server.Client().Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if kind := response.Header.Get("Content-Type"); kind != "text/event-stream" {
		t.Errorf("it is a %s", kind)
	}
	var snapshots []inspect.Snapshot
	for lines := bufio.NewScanner(response.Body); len(snapshots) < 2 && lines.Scan(); {
		data, ok := strings.CutPrefix(lines.Text(), "data: ")
		if !ok {
			continue
		}
		var s inspect.Snapshot
		if err := json.Unmarshal([]byte(data), &s); err != nil {
			t.Fatal(err)
		}
		snapshots = append(snapshots, s)
	}
	if len(snapshots) != 2 {
		t.Fatalf("%d snapshots", len(snapshots))
	}
	last := snapshots[1]
	if came := last.Now.Sub(asked); came < time.Second { // however late the first one was
		t.Errorf("the second comes %v after it was asked for", came)
	}
	if !last.Leads || last.Version != "v1.2.3" || len(last.Resources) != 2 || len(last.Controllers) != 1 {
		t.Fatalf("%+v", last)
	}
	runs, control := last.Resources[0], last.Controllers[0]
	if runs.Name != "taskruns" || runs.PlainObjects != 1 || runs.State != "stopped" || runs.LastEvent != -1 {
		t.Errorf("taskruns: %+v", runs)
	}
	if control.Runs != 1 || control.Workers != 2 || control.Asked["taskruns"] != 1 || len(control.Hottest) != 1 || control.Hottest[0].Key != "ci/build" {
		t.Errorf("taskrun: %+v", control)
	}
	cancel()
	<-served
}

func TestProfilesAreServedToo(t *testing.T) {
	bubble(t, func(r *rig) {
		if w := get(r.t, r.inspector.Handler(), "/debug/pprof/goroutine?debug=1", ""); w.Code != http.StatusOK || !strings.Contains(w.Body.String(), "goroutine profile") {
			r.t.Errorf("%d %s", w.Code, w.Body)
		}
	})
}
