package settings_test

import (
	"strings"
	"testing"

	"millrace/internal/settings"
	"millrace/reconcile/pipelinerun"
	"millrace/reconcile/taskrun"
)

// What administrators write into ConfigMaps is taken as what it says, within bounds,
// or complained of by the name of its key; a value that is refused changes nothing.
func FuzzSettings(f *testing.F) {
	for key, value := range map[string]string{
		"default-timeout-minutes": "999999999999999999", "max-result-size": "4096", "results-from": "sidecar-logs", "keep-pod-on-cancel": "t",
		"default-pod-template": "nodeSelector: {a: b}\nhostNetwork: true", "default-container-resource-requirements": "default: {limits: {cpu: 1}}",
		"default-task-run-workspace-binding": "emptyDir: {}", "default-forbidden-env": "A,B C\n", "default-imagepullbackoff-timeout": "-5m",
		"default-max-matrix-combinations-count": "0", "enable-informer-cache-transforms": "no", "default-service-account": " ",
	} {
		f.Add(key, value)
	}
	f.Fuzz(func(t *testing.T, key, value string) {
		runs, pipelines, complaints := of(map[string]string{key: value}, map[string]string{key: value})
		for _, c := range complaints {
			if c.Key != key || c.Value != strings.TrimSpace(value) {
				t.Errorf("%s: %q: %+v", key, value, c)
			}
			if c.Fault == settings.Invalid && c.Wants == "" {
				t.Errorf("%s: %q is not valid, and nobody says what is", key, value)
			}
		}
		if wellBehaved := bounds(runs, pipelines); wellBehaved != "" {
			t.Errorf("%s: %q: %s", key, value, wellBehaved)
		}
	})
}

// bounds says what is out of them.
func bounds(runs taskrun.Config, pipelines pipelinerun.Config) string {
	switch {
	case runs.DefaultTimeout == 0 || runs.DefaultTimeout < -1: // none is -1
		return "the time-out is " + runs.DefaultTimeout.String()
	case runs.MaxResultSize <= 0 || runs.MaxResultSize >= 1572864:
		return "so large may results be"
	case pipelines.MaxMatrix < 1:
		return "so large may a matrix be"
	case runs.ImagePullBackOffTimeout < 0 || runs.CreateContainerErrorTimeout < 0:
		return "so little patience"
	}
	for _, name := range runs.ForbiddenEnv {
		if name == "" || strings.ContainsAny(name, ", \n") {
			return "forbids " + name
		}
	}
	return ""
}
