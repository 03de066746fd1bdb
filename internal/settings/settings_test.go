package settings_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"millrace/internal/settings"
	"millrace/reconcile/pipelinerun"
	"millrace/reconcile/taskrun"
)

// diary writes down what a Trace is told.
type diary struct{ lines []string }

func (d *diary) trace() settings.Trace {
	return settings.Trace{
		Changed: func(c settings.Change) { d.addf("%s is now %q, and was %q", c.Key.Name, c.To, c.From) },
		Complains: func(c settings.Complaint) {
			d.addf("%s: %s: %q %s", c.ConfigMap, c.Key, c.Value, c.Fault)
		},
		Righted: func(c settings.Complaint) { d.addf("%s: %s is right", c.ConfigMap, c.Key) },
	}
}

func (d *diary) addf(format string, args ...any) {
	d.lines = append(d.lines, fmt.Sprintf(format, args...))
}

// told are the lines since the last time.
func (d *diary) told(t *testing.T, want ...string) {
	t.Helper()
	if !slices.Equal(d.lines, want) {
		t.Errorf("told\n  %s\nwant\n  %s", strings.Join(d.lines, "\n  "), strings.Join(want, "\n  "))
	}
	d.lines = nil
}

func good(s *settings.Settings) bool {
	select {
	case <-s.Good():
		return true
	default:
		return false
	}
}

// of are the settings that two ConfigMaps come to.
func of(flags, defaults map[string]string) (taskrun.Config, pipelinerun.Config, []settings.Complaint) {
	s := settings.New(settings.Trace{})
	s.Take(settings.FeatureFlags, "1", flags)
	s.Take(settings.ConfigDefaults, "2", defaults)
	var runs taskrun.Config
	var pipelines pipelinerun.Config
	s.Now().TaskRuns(&runs)
	s.Now().PipelineRuns(&pipelines)
	return runs, pipelines, s.Complaints()
}

func TestWithoutConfigMapsThereAreTektonsDefaults(t *testing.T) {
	c, p, complaints := of(nil, nil)
	if c.DefaultTimeout != time.Hour || c.MaxResultSize != 4096 || c.ResultsFrom != taskrun.ResultsFromMessages || c.ManagedByLabel != "tekton-pipelines" ||
		c.CompressMessages || c.KeepPodOnCancel || c.DisableCredentials || c.ParamEnum || c.CEL || c.Provenance == nil || c.PodTemplate != nil {
		t.Errorf("%+v", c)
	}
	if p.MaxMatrix != 256 || p.DefaultTimeout != time.Hour || p.ParamEnum || p.CEL || p.Provenance == nil {
		t.Errorf("%+v", p)
	}
	if len(complaints) > 0 {
		t.Error(complaints)
	}
}

func TestSettingsAreRead(t *testing.T) {
	c, p, complaints := of(map[string]string{
		"results-from": "sidecar-logs", "max-result-size": "8192", "keep-pod-on-cancel": "true", "disable-creds-init": "true",
		"enable-termination-message-compression": "true", "enable-provenance-in-status": "false", "enable-param-enum": "true", "enable-cel-in-whenexpression": "true",
	}, map[string]string{
		"default-timeout-minutes": "5", "default-service-account": "builder", "default-managed-by-label-value": "us", "default-max-matrix-combinations-count": "12",
		"default-imagepullbackoff-timeout": "2m", "default-create-container-error-timeout": "3m", "default-forbidden-env": "A, B\nC",
	})
	if c.ResultsFrom != taskrun.ResultsFromLogs || c.MaxResultSize != 8192 || !c.KeepPodOnCancel || !c.DisableCredentials || !c.CompressMessages || !c.ParamEnum || !c.CEL || c.Provenance != nil ||
		c.DefaultTimeout != 5*time.Minute || c.DefaultServiceAccount != "builder" || c.ManagedByLabel != "us" ||
		c.ImagePullBackOffTimeout != 2*time.Minute || c.CreateContainerErrorTimeout != 3*time.Minute || len(c.ForbiddenEnv) != 3 {
		t.Errorf("%+v", c)
	}
	if !p.ParamEnum || !p.CEL || p.DefaultTimeout != 5*time.Minute || p.MaxMatrix != 12 || p.Provenance != nil {
		t.Errorf("%+v", p)
	}
	if len(complaints) > 0 {
		t.Error(complaints)
	}
}

// The larger settings are documents of their own, and strict ones.
func TestDocumentsAreRead(t *testing.T) {
	c, _, complaints := of(nil, map[string]string{
		"default-pod-template":                    "nodeSelector: {disk: ssd}\nhostNetwork: true\n",
		"default-container-resource-requirements": "prepare: {requests: {cpu: 10m}}\ndefault: {limits: {memory: 1Gi}}\n",
		"default-task-run-workspace-binding":      "emptyDir: {}\n",
	})
	if len(complaints) > 0 {
		t.Fatal(complaints)
	}
	cpu, memory := c.ContainerResources["prepare"].Requests["cpu"], c.ContainerResources["default"].Limits["memory"]
	if c.PodTemplate.NodeSelector["disk"] != "ssd" || !c.PodTemplate.HostNetwork || c.WorkspaceBinding.EmptyDir == nil ||
		cpu.MilliValue() != 10 || memory.Value() != 1<<30 {
		t.Errorf("%+v", c)
	}
	for _, key := range []string{"default-pod-template", "default-container-resource-requirements", "default-task-run-workspace-binding"} {
		_, _, complaints := of(nil, map[string]string{key: "a: {nodeSelektor: 1}"})
		if len(complaints) != 1 || complaints[0].Key != key || complaints[0].Fault != settings.Invalid {
			t.Errorf("%s: %v", key, complaints)
		}
	}
}

func TestNoTimeoutByDefault(t *testing.T) {
	c, p, _ := of(nil, map[string]string{"default-timeout-minutes": "0"})
	if c.DefaultTimeout >= 0 || p.DefaultTimeout >= 0 { // negative is none
		t.Errorf("default timeout %v, %v", c.DefaultTimeout, p.DefaultTimeout)
	}
}

func TestWrongValuesAreComplainedOf(t *testing.T) {
	for _, c := range []struct{ configMap, key, value, wants string }{
		{settings.FeatureFlags, "results-from", "magic", "termination-message, sidecar-logs"},
		{settings.FeatureFlags, "max-result-size", "0", "from 1 to 1572863"},
		{settings.FeatureFlags, "keep-pod-on-cancel", "maybe", "true or false"},
		{settings.FeatureFlags, "enable-informer-cache-transforms", "x", "true or false"},
		{settings.ConfigDefaults, "default-timeout-minutes", "-1", "minutes"},
		{settings.ConfigDefaults, "default-timeout-minutes", "1h", "minutes"},
		{settings.ConfigDefaults, "default-imagepullbackoff-timeout", "5", "duration"},
		{settings.ConfigDefaults, "default-max-matrix-combinations-count", "0", "from 1"},
	} {
		s := settings.New(settings.Trace{})
		s.Take(c.configMap, "1", map[string]string{c.key: c.value})
		all := s.Complaints()
		if len(all) != 1 || all[0].ConfigMap != c.configMap || all[0].Key != c.key || all[0].Value != c.value || all[0].Fault != settings.Invalid || !strings.Contains(all[0].Wants, c.wants) {
			t.Errorf("%s: %q: %+v", c.key, c.value, all)
		}
	}
}

func TestAWrongValueLeavesTheLastGoodOne(t *testing.T) {
	var d diary
	s := settings.New(d.trace())
	s.Take(settings.FeatureFlags, "1", nil)
	s.Take(settings.ConfigDefaults, "2", map[string]string{"default-timeout-minutes": "5", "default-service-account": "builder"})
	d.told(t)

	// Somebody mistypes the one, and changes the other.
	s.Take(settings.ConfigDefaults, "2", map[string]string{"default-timeout-minutes": "5m", "default-service-account": "robot"})
	d.told(t, `default-service-account is now "robot", and was "builder"`, `config-defaults: default-timeout-minutes: "5m" is not valid`)
	if v := s.Now(); v.DefaultTimeout != 5*time.Minute || v.DefaultServiceAccount != "robot" {
		t.Errorf("%+v", v)
	}
	if c := s.Complaints(); len(c) != 1 || c[0].InForce != "5" || c[0].UID != "2" {
		t.Errorf("%+v", c)
	}

	// It stays so, whatever happens to others, until it is corrected.
	s.Take(settings.FeatureFlags, "1", map[string]string{"keep-pod-on-cancel": "true"})
	d.told(t, `keep-pod-on-cancel is now "true", and was "false"`)
	if v := s.Now(); v.DefaultTimeout != 5*time.Minute {
		t.Errorf("%+v", v)
	}
	s.Take(settings.ConfigDefaults, "2", map[string]string{"default-timeout-minutes": "7", "default-service-account": "robot"})
	d.told(t, `default-timeout-minutes is now "7", and was "5"`, `config-defaults: default-timeout-minutes is right`)
}

func TestADeletedConfigMapIsDefaults(t *testing.T) {
	var d diary
	s := settings.New(d.trace())
	s.Take(settings.FeatureFlags, "1", map[string]string{"keep-pod-on-cancel": "true"})
	s.Take(settings.ConfigDefaults, "2", map[string]string{"default-timeout-minutes": "5"})
	s.Gone(settings.ConfigDefaults, "2")
	d.told(t, `default-timeout-minutes is now "60", and was "5"`)
	if v := s.Now(); v.DefaultTimeout != time.Hour || !v.KeepPodOnCancel {
		t.Errorf("%+v", v)
	}
}

// That a ConfigMap is gone may be told late, when there is another one of its name.
func TestALateDeletionIsNotThatOfTheNextOne(t *testing.T) {
	s := settings.New(settings.Trace{})
	s.Take(settings.ConfigDefaults, "1", map[string]string{"default-timeout-minutes": "5"})
	s.Take(settings.ConfigDefaults, "2", map[string]string{"default-timeout-minutes": "7"})
	s.Gone(settings.ConfigDefaults, "1")
	if v := s.Now(); v.DefaultTimeout != 7*time.Minute {
		t.Errorf("%+v", v)
	}
}

// Who starts with a value that was never good has nothing to fall back on: it waits,
// and says for what.
func TestWhatWasNeverGoodIsWaitedFor(t *testing.T) {
	var d diary
	s := settings.New(d.trace())
	s.Take(settings.FeatureFlags, "1", map[string]string{"disable-creds-init": "ture"})
	s.Gone(settings.ConfigDefaults, "")
	d.told(t, `feature-flags: disable-creds-init: "ture" is not valid`)
	if good(s) {
		t.Error("nobody knows whether credentials are to be kept from steps")
	}
	s.Take(settings.FeatureFlags, "1", map[string]string{"disable-creds-init": "true"})
	d.told(t, `disable-creds-init is now "true", and was "false"`, `feature-flags: disable-creds-init is right`)
	if !good(s) || !s.Now().DisableCredentials {
		t.Errorf("good: %v, %+v", good(s), s.Now())
	}
	// It is so whichever of the two is told of first.
	other := settings.New(settings.Trace{})
	other.Gone(settings.ConfigDefaults, "")
	other.Take(settings.FeatureFlags, "1", map[string]string{"disable-creds-init": "ture"})
	if good(other) {
		t.Error("it was told of last, and nobody minds")
	}
	// Later mistakes have something to fall back on.
	s.Take(settings.FeatureFlags, "1", map[string]string{"disable-creds-init": "flase"})
	if !good(s) || !s.Now().DisableCredentials {
		t.Errorf("good: %v, %+v", good(s), s.Now())
	}
}

func TestOneConfigMapIsNotAll(t *testing.T) {
	s := settings.New(settings.Trace{})
	if s.Take(settings.FeatureFlags, "1", nil); good(s) {
		t.Error("nobody has said anything of config-defaults")
	}
	if s.Gone(settings.ConfigDefaults, ""); !good(s) {
		t.Error("both were told of")
	}
}

func TestEachComplaintIsToldOnce(t *testing.T) {
	var d diary
	s := settings.New(d.trace())
	wrong := map[string]string{"enable-artifacts": "true", "enable-magic": "true", "max-result-size": "many"}
	for range 3 {
		s.Take(settings.FeatureFlags, "1", wrong)
	}
	d.told(t, `feature-flags: enable-artifacts: "true" is not served`, `feature-flags: enable-magic: "true" is not known`, `feature-flags: max-result-size: "many" is not valid`)
	s.Take(settings.FeatureFlags, "1", map[string]string{"enable-artifacts": "false", "enable-magic": "true", "max-result-size": "few"})
	d.told(t, `feature-flags: enable-artifacts is right`, `feature-flags: max-result-size is right`, `feature-flags: max-result-size: "few" is not valid`)
	s.Take(settings.FeatureFlags, "1", wrong)
	d.told(t, `feature-flags: max-result-size is right`, `feature-flags: enable-artifacts: "true" is not served`, `feature-flags: max-result-size: "many" is not valid`)
}

// A setting that makes no difference is complained of by its name. One whose value
// asks for what is done anyway, as in Tekton's own ConfigMaps, is not.
func TestSettingsThatMakeNoDifferenceAreNamed(t *testing.T) {
	_, _, complaints := of(map[string]string{
		"_example": "words", "keep-pod-on-cancel": "true", "coschedule": "workspaces", "enable-api-fields": "stable",
		"enable-artifacts": "true", "disable-inline-spec": "", "enable-kubernetes-sidecar": "true", "enable-magic": "true",
	}, map[string]string{"default-cloud-events-sink": "http://here", "default-max-matrix-combinations-count": "256", "default-timeout-minuets": "5"})
	keys := make([]string, len(complaints))
	for i, c := range complaints {
		keys[i] = c.Key
	}
	if want := []string{"enable-api-fields", "enable-artifacts", "enable-magic", "default-cloud-events-sink", "default-timeout-minuets"}; !slices.Equal(keys, want) {
		t.Errorf("complains of %v, want %v", keys, want)
	}
}

// These are the keys of the ConfigMaps that Tekton 1.15 installs, with their values.
func TestTektonsOwnConfigMapsAreNoReasonToComplain(t *testing.T) {
	_, _, complaints := of(map[string]string{
		"enable-api-fields": "beta", "coschedule": "workspaces", "results-from": "termination-message", "max-result-size": "4096", "keep-pod-on-cancel": "false",
		"await-sidecar-readiness": "true", "running-in-environment-with-injected-sidecars": "true", "disable-creds-init": "false", "disable-inline-spec": "",
		"set-security-context": "false", "set-security-context-read-only-root-filesystem": "false", "enable-kubernetes-sidecar": "false", "enable-step-actions": "true",
		"enable-cel-in-whenexpression": "false", "enable-param-enum": "false", "enable-artifacts": "false", "enable-provenance-in-status": "true",
		"enable-termination-message-compression": "false", "enable-wait-exponential-backoff": "false", "enable-concise-resolver-syntax": "false",
		"enforce-nonfalsifiability": "none", "require-git-ssh-secret-known-hosts": "false", "send-cloudevents-for-runs": "true",
		"trusted-resources-verification-no-match-policy": "ignore", "enable-informer-cache-transforms": "true",
	}, map[string]string{"_example": "default-timeout-minutes: 60"})
	if len(complaints) > 0 {
		t.Errorf("%+v", complaints)
	}
}

// Who reads while others write sees one of the moments, and no mixture.
func TestValuesAreOneMoment(t *testing.T) {
	s := settings.New(settings.Trace{})
	s.Take(settings.FeatureFlags, "1", map[string]string{"keep-pod-on-cancel": "false", "max-result-size": "1000"})
	var writing sync.WaitGroup
	over := make(chan struct{})
	writing.Go(func() {
		defer close(over)
		for i := range 2000 {
			odd := i%2 == 1
			s.Take(settings.FeatureFlags, "1", map[string]string{"keep-pod-on-cancel": fmt.Sprint(odd), "max-result-size": map[bool]string{false: "1000", true: "2000"}[odd]})
		}
	})
	for done := false; !done; {
		select {
		case <-over:
			done = true
		default:
		}
		if v := s.Now(); v.KeepPodOnCancel != (v.MaxResultSize == 2000) {
			t.Fatalf("%v with %d", v.KeepPodOnCancel, v.MaxResultSize)
		}
	}
	writing.Wait()
}

// Every key has what people read about it, and a default that it takes itself.
func TestEveryKeySaysWhatItIs(t *testing.T) {
	seen := map[string]bool{}
	for _, k := range settings.Keys() {
		if k.Effect == "" || k.Help == "" || k.Type() == "" || seen[k.Name] || !slices.Contains(settings.Names(), k.ConfigMap) {
			t.Errorf("%+v", k)
		}
		seen[k.Name] = true
		s := settings.New(settings.Trace{})
		s.Take(k.ConfigMap, "1", map[string]string{k.Name: k.Text()})
		if c := s.Complaints(); len(c) > 0 {
			t.Errorf("%s does not take its own default: %+v", k.Name, c)
		}
	}
}
