package main

import (
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/klog/v2"
	"k8s.io/klog/v2/textlogger"

	"millrace/reconcile/pipelinerun"
	"millrace/reconcile/taskrun"
)

// An empty ConfigMap, or none, is Tekton's defaults.
func TestSettingsHaveTektonsDefaults(t *testing.T) {
	var s settings
	var c taskrun.Config
	s.taskRuns(&c)
	if err := s.err(); err != nil {
		t.Fatal(err)
	}
	if c.DefaultTimeout != time.Hour || c.MaxResultSize != 4096 || c.ResultsFrom != taskrun.ResultsFromMessages ||
		c.CompressMessages || c.KeepPodOnCancel || c.DisableCredentials || c.ParamEnum || c.CEL || c.Provenance == nil {
		t.Errorf("%+v", c)
	}
}

func TestSettingsAreRead(t *testing.T) {
	s := settings{
		flags: settingsOf{data: map[string]string{"results-from": "sidecar-logs", "max-result-size": "8192", "keep-pod-on-cancel": "true",
			"disable-creds-init": "true", "enable-termination-message-compression": "true", "enable-provenance-in-status": "false", "enable-param-enum": "true", "enable-cel-in-whenexpression": "true"}},
		defaults: settingsOf{data: map[string]string{"default-timeout-minutes": "5", "default-service-account": "builder", "default-managed-by-label-value": "us",
			"default-imagepullbackoff-timeout": "2m", "default-create-container-error-timeout": "3m", "default-forbidden-env": "A, B\nC"}},
	}
	var c taskrun.Config
	s.taskRuns(&c)
	if err := s.err(); err != nil {
		t.Fatal(err)
	}
	if c.ResultsFrom != taskrun.ResultsFromLogs || c.MaxResultSize != 8192 || !c.KeepPodOnCancel || !c.DisableCredentials || !c.CompressMessages || !c.ParamEnum || !c.CEL || c.Provenance != nil ||
		c.DefaultTimeout != 5*time.Minute || c.DefaultServiceAccount != "builder" || c.ManagedByLabel != "us" ||
		c.ImagePullBackOffTimeout != 2*time.Minute || c.CreateContainerErrorTimeout != 3*time.Minute || len(c.ForbiddenEnv) != 3 {
		t.Errorf("%+v", c)
	}
}

// PipelineRuns share what is said about runs of both kinds, and have a setting of
// their own.
func TestSettingsOfPipelineRunsAreRead(t *testing.T) {
	s := settings{
		flags:    settingsOf{data: map[string]string{"enable-param-enum": "true", "enable-cel-in-whenexpression": "true"}},
		defaults: settingsOf{data: map[string]string{"default-timeout-minutes": "5", "default-max-matrix-combinations-count": "12"}},
	}
	var c pipelinerun.Config
	s.pipelineRuns(&c)
	if err := s.err(); err != nil {
		t.Fatal(err)
	}
	if !c.ParamEnum || !c.CEL || c.DefaultTimeout != 5*time.Minute || c.MaxMatrix != 12 || c.Provenance == nil {
		t.Errorf("%+v", c)
	}
	s.defaults = settingsOf{data: map[string]string{"default-max-matrix-combinations-count": "0"}}
	if s.pipelineRuns(&c); s.err() == nil {
		t.Error("no matrix may have a combination, and nobody minds")
	}
}

// The larger settings are documents of their own.
func TestDocumentsAreRead(t *testing.T) {
	s := settings{defaults: settingsOf{name: "config-defaults", data: map[string]string{
		"default-pod-template":                    "nodeSelector: {disk: ssd}\nhostNetwork: true\n",
		"default-container-resource-requirements": "prepare: {requests: {cpu: 10m}}\ndefault: {limits: {memory: 1Gi}}\n",
		"default-task-run-workspace-binding":      "emptyDir: {}\n",
	}}}
	var c taskrun.Config
	s.taskRuns(&c)
	if err := s.err(); err != nil {
		t.Fatal(err)
	}
	cpu, memory := c.ContainerResources["prepare"].Requests["cpu"], c.ContainerResources["default"].Limits["memory"]
	if c.PodTemplate.NodeSelector["disk"] != "ssd" || !c.PodTemplate.HostNetwork || c.WorkspaceBinding.EmptyDir == nil ||
		cpu.MilliValue() != 10 || memory.Value() != 1<<30 {
		t.Errorf("%+v", c)
	}
	for _, key := range []string{"default-pod-template", "default-container-resource-requirements", "default-task-run-workspace-binding"} {
		s := settings{defaults: settingsOf{name: "config-defaults", data: map[string]string{key: "a: {nodeSelektor: 1}"}}}
		s.taskRuns(&taskrun.Config{})
		if err := s.err(); err == nil || !strings.Contains(err.Error(), key) {
			t.Errorf("%s: %v", key, err)
		}
	}
}

// A setting that makes no difference is warned about by its name. Tekton's own
// ConfigMaps, which have every key with its default, are not.
func TestSettingsThatMakeNoDifferenceAreNamed(t *testing.T) {
	s := settings{
		flags: settingsOf{name: "feature-flags", data: map[string]string{
			"_example": "words", "keep-pod-on-cancel": "true", "coschedule": "workspaces", "enable-api-fields": "stable",
			"enable-artifacts": "true", "disable-inline-spec": "", "enable-kubernetes-sidecar": "true", "enable-magic": "true"}},
		defaults: settingsOf{name: "config-defaults", data: map[string]string{
			"default-resolver-type": "git", "default-max-matrix-combinations-count": "256", "default-timeout-minuets": "5"}},
	}
	s.transform()
	s.taskRuns(&taskrun.Config{})
	s.pipelineRuns(&pipelinerun.Config{})
	var told strings.Builder
	logger := textlogger.NewLogger(textlogger.NewConfig(textlogger.Output(&told)))
	s.warn(klog.NewContext(t.Context(), logger))
	var keys []string
	for line := range strings.Lines(told.String()) {
		_, after, _ := strings.Cut(line, `key="`)
		key, _, _ := strings.Cut(after, `"`)
		keys = append(keys, key)
	}
	if want := []string{"enable-api-fields", "enable-artifacts", "enable-magic", "default-resolver-type", "default-timeout-minuets"}; !slices.Equal(keys, want) {
		t.Errorf("warned of %v, want %v:\n%s", keys, want, told.String())
	}
}

func TestNoTimeoutByDefault(t *testing.T) {
	s := settings{defaults: settingsOf{data: map[string]string{"default-timeout-minutes": "0"}}}
	var c taskrun.Config
	s.taskRuns(&c)
	if c.DefaultTimeout >= 0 { // taskrun.Config: negative is none
		t.Errorf("default timeout %v", c.DefaultTimeout)
	}
}

func TestWrongSettingsAreNamed(t *testing.T) {
	for key, text := range map[string]string{
		"results-from": "magic", "max-result-size": "0", "keep-pod-on-cancel": "maybe", "enable-informer-cache-transforms": "x",
	} {
		s := settings{flags: settingsOf{name: "feature-flags", data: map[string]string{key: text}}}
		s.transform()
		s.taskRuns(&taskrun.Config{})
		if err := s.err(); err == nil {
			t.Errorf("%s: %s is accepted", key, text)
		}
	}
	for key, text := range map[string]string{"default-timeout-minutes": "-1", "default-imagepullbackoff-timeout": "5"} {
		s := settings{defaults: settingsOf{name: "config-defaults", data: map[string]string{key: text}}}
		s.taskRuns(&taskrun.Config{})
		if err := s.err(); err == nil {
			t.Errorf("%s: %s is accepted", key, text)
		}
	}
}
