package main

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/record"
	"k8s.io/klog/v2"
	"k8s.io/klog/v2/textlogger"

	"millrace/internal/metrics"
	"millrace/internal/settings"
)

// A wrong setting is told in the log, in a metric, and in an event of the ConfigMap:
// each names the key; and /readyz says why nothing is worked on. When it is corrected,
// the metric is gone, and the log says what is in force.
func TestAWrongSettingIsToldToWhoeverCanCorrectIt(t *testing.T) {
	var log strings.Builder
	ctx := klog.NewContext(t.Context(), textlogger.NewLogger(textlogger.NewConfig(textlogger.Output(&log))))
	registry, events := metrics.New(), record.NewFakeRecorder(10)
	found := map[string]*corev1.ConfigMap{"config-defaults": {
		ObjectMeta: metav1.ObjectMeta{UID: "u1"}, Data: map[string]string{"default-timeout-minutes": "1h", "default-timeout-minuets": "5"},
	}}
	s := newSettings(ctx, "tekton-pipelines", found, registry, events)

	const gauge = `settings_invalid{configmap="config-defaults",key="default-timeout-minutes"} 1`
	told := func(what, in string, words ...string) {
		t.Helper()
		for _, word := range words {
			if !strings.Contains(in, word) {
				t.Errorf("%s does not say %q:\n%s", what, word, in)
			}
		}
	}
	told("the log", log.String(), `key="default-timeout-minutes" value="1h"`, "number of minutes", "nothing is worked on", `key="default-timeout-minuets"`)
	told("the event", <-events.Events, "Warning InvalidSetting", `default-timeout-minutes: "1h"`, "number of minutes")
	told("the metrics", scraped(registry), gauge)
	if err := notGood(s); err == nil {
		t.Error("/readyz does not mind")
	} else {
		told("/readyz", err.Error(), "config-defaults", "default-timeout-minutes", `"1h"`)
	}

	s.Take("config-defaults", "u1", map[string]string{"default-timeout-minutes": "7"})
	told("the log", log.String(), `key="default-timeout-minutes" from="60" to="7"`, "for runs that start after it")
	if err := notGood(s); err != nil || strings.Contains(scraped(registry), gauge) || !awaitGood(t.Context(), s) {
		t.Errorf("it is corrected: %v\n%s", err, scraped(registry))
	}

	s.Take("config-defaults", "u1", map[string]string{"default-timeout-minutes": "seven"})
	told("the event", <-events.Events, `default-timeout-minutes: "seven"`, `the last good value stays in force: "7"`)
	if err := notGood(s); err != nil {
		t.Errorf("there is a good value, and yet: %v", err)
	}
}

func scraped(r *metrics.Registry) string {
	w := httptest.NewRecorder()
	r.Handler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	return w.Body.String()
}

// What the ConfigMaps say is what admission fills in, and holds objects to.
func TestAdmissionGoesByTheSettings(t *testing.T) {
	s := settings.New(settings.Trace{})
	s.Take(settings.FeatureFlags, "1", map[string]string{"enable-param-enum": "true", "enable-cel-in-whenexpression": "true"})
	s.Take(settings.ConfigDefaults, "2", map[string]string{
		"default-timeout-minutes": "7", "default-service-account": "builder", "default-managed-by-label-value": "us", "default-resolver-type": "git",
		"default-max-matrix-combinations-count": "12", "default-forbidden-env": "A,B", "default-pod-template": "nodeSelector: {disk: ssd}",
	})
	o := admissionOptions(config{resolvers: []string{"git"}}, s.Now())
	d := o.Defaults
	if !o.ParamEnum || !o.CEL || o.MaxMatrix != 12 || len(o.ForbiddenEnv) != 2 || !o.Resolver("git") || o.Resolver("hub") ||
		d.RunTimeout() != 7*time.Minute || d.ServiceAccount != "builder" || d.Manager() != "us" || d.Resolver != "git" || d.PodTemplate.NodeSelector["disk"] != "ssd" {
		t.Errorf("%+v", o)
	}
}
