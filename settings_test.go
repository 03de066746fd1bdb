package main

import (
	"testing"
	"time"

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
		c.CompressMessages || c.KeepPodOnCancel || c.DisableCredentials || c.Provenance == nil {
		t.Errorf("%+v", c)
	}
}

func TestSettingsAreRead(t *testing.T) {
	s := settings{
		flags: settingsOf{data: map[string]string{"results-from": "sidecar-logs", "max-result-size": "8192", "keep-pod-on-cancel": "true",
			"disable-creds-init": "true", "enable-termination-message-compression": "true", "enable-provenance-in-status": "false"}},
		defaults: settingsOf{data: map[string]string{"default-timeout-minutes": "5", "default-service-account": "builder", "default-managed-by-label-value": "us",
			"default-imagepullbackoff-timeout": "2m", "default-create-container-error-timeout": "3m", "default-forbidden-env": "A, B\nC"}},
	}
	var c taskrun.Config
	s.taskRuns(&c)
	if err := s.err(); err != nil {
		t.Fatal(err)
	}
	if c.ResultsFrom != taskrun.ResultsFromLogs || c.MaxResultSize != 8192 || !c.KeepPodOnCancel || !c.DisableCredentials || !c.CompressMessages || c.Provenance != nil ||
		c.DefaultTimeout != 5*time.Minute || c.DefaultServiceAccount != "builder" || c.ManagedByLabel != "us" ||
		c.ImagePullBackOffTimeout != 2*time.Minute || c.CreateContainerErrorTimeout != 3*time.Minute || len(c.ForbiddenEnv) != 3 {
		t.Errorf("%+v", c)
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
