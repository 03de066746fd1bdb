package main

import (
	"strings"
	"testing"

	"millrace/reconcile/pipelinerun"
	"millrace/reconcile/taskrun"
)

// What administrators write into ConfigMaps is taken as what it says, within bounds,
// or refused by the name of its key; a value that is refused changes nothing.
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
		take := func() (*settings, taskrun.Config, pipelinerun.Config) {
			data := map[string]string{key: value}
			s := &settings{flags: settingsOf{name: "feature-flags", data: data}, defaults: settingsOf{name: "config-defaults", data: data}}
			var runs taskrun.Config
			var pipelines pipelinerun.Config
			s.transform()
			s.taskRuns(&runs)
			s.pipelineRuns(&pipelines)
			return s, runs, pipelines
		}
		s, runs, pipelines := take()
		if err := s.err(); err != nil {
			if !strings.Contains(err.Error(), key) {
				t.Errorf("%s: %q: %v", key, value, err)
			}
			return
		}
		switch {
		case runs.DefaultTimeout == 0 || runs.DefaultTimeout < -1: // none is -1
			t.Errorf("%s: %q makes a time-out of %d", key, value, runs.DefaultTimeout)
		case runs.MaxResultSize <= 0 || runs.MaxResultSize >= 1572864:
			t.Errorf("%s: %q makes results of %d bytes", key, value, runs.MaxResultSize)
		case pipelines.MaxMatrix < 1:
			t.Errorf("%s: %q makes a matrix of %d", key, value, pipelines.MaxMatrix)
		case runs.ImagePullBackOffTimeout < 0 || runs.CreateContainerErrorTimeout < 0:
			t.Errorf("%s: %q makes a patience of %s", key, value, min(runs.ImagePullBackOffTimeout, runs.CreateContainerErrorTimeout))
		}
		for _, name := range runs.ForbiddenEnv {
			if name == "" || strings.ContainsAny(name, ", \n") {
				t.Errorf("%q forbids %q", value, name)
			}
		}
	})
}
