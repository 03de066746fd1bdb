package settings

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"sigs.k8s.io/yaml"

	"millrace/internal/option"
	"millrace/reconcile/taskrun"
)

// The two ConfigMaps.
const (
	FeatureFlags   = "feature-flags"
	ConfigDefaults = "config-defaults"
)

// Names are those of the ConfigMaps.
func Names() []string { return []string{FeatureFlags, ConfigDefaults} }

// An Effect is when a change of a setting makes a difference, in words for people.
type Effect string

// What is frozen for whom: a run keeps what it began with, a pod what it was made with.
const (
	AtOnce   Effect = "at once, for runs at work as well"
	NextRun  Effect = "for runs that start after it"
	NextPod  Effect = "for pods that are made after it"
	NextTask Effect = "for tasks of pipelines that begin after it"
	Created  Effect = "for what is created after it, by the webhook"
	Restart  Effect = "at the next start of the program"
)

// A Key is a setting that is served: a row of the table that the parser, the
// documentation and millrace config all come from.
type Key struct {
	ConfigMap, Name string
	Effect          Effect
	Help            string

	value option.Value
}

// Text is the value as text.
func (k Key) Text() string { return k.value.String() }

// Type is what the key takes, in a word.
func (k Key) Type() string { return k.value.Type() }

// Keys are the settings that are served, with their defaults.
func Keys() []Key { return new(Values).keys() }

// keys is the table, of values that have their defaults then.
func (v *Values) keys() []Key {
	flags, defaults := FeatureFlags, ConfigDefaults
	return []Key{
		{flags, "enable-api-fields", NextRun, "with alpha, a task of a pipeline may be a pipeline; without, a pipeline that has one is refused", option.Choice(&v.APIFields, Beta, Alpha)},
		{flags, "results-from", NextPod, "how results come from steps: in termination messages (4 KiB for a step, 12 KiB for a pod), or in the log of a sidecar", option.Choice(&v.ResultsFrom, taskrun.ResultsFromMessages, taskrun.ResultsFromLogs)},
		{flags, "max-result-size", NextPod, "how many bytes one result may have, with results-from: sidecar-logs", option.Number(&v.MaxResultSize, 4096, 1, tooLarge-1)},
		{flags, "enable-termination-message-compression", NextPod, "steps compress a termination message that would be too large", option.Boolean(&v.CompressMessages, false)},
		{flags, "keep-pod-on-cancel", AtOnce, "the pod of a cancelled run is stopped, and stays with its logs", option.Boolean(&v.KeepPodOnCancel, false)},
		{flags, "disable-creds-init", NextPod, "steps do not get the credentials of their ServiceAccount", option.Boolean(&v.DisableCredentials, false)},
		{flags, "enable-provenance-in-status", NextRun, "status.provenance of a run says what it was made with", option.Boolean(&v.ProvenanceInStatus, true)},
		{flags, "enable-param-enum", NextRun, "params may have an enum, and values are held to it; without, a task or pipeline that has one is refused", option.Boolean(&v.ParamEnum, false)},
		{flags, "enable-cel-in-whenexpression", NextRun, "conditions may be in CEL; without, a task or pipeline that has one is refused", option.Boolean(&v.CEL, false)},
		{flags, "enable-informer-cache-transforms", Restart, "managedFields and kubectl's last-applied annotation are cut from objects before they are cached", option.Boolean(&v.CacheTransforms, true)},

		{defaults, "default-timeout-minutes", NextRun, "how long a run may take that does not say; 0 for ever", option.Of(&v.DefaultTimeout, time.Hour, "minutes", minutes, printMinutes)},
		{defaults, "default-service-account", NextPod, "the ServiceAccount of runs that name none; empty for what Kubernetes takes, which is default", option.Text(&v.DefaultServiceAccount, "")},
		{defaults, "default-managed-by-label-value", NextPod, "the label app.kubernetes.io/managed-by of pods", option.Text(&v.ManagedByLabel, "tekton-pipelines")},
		{defaults, "default-max-matrix-combinations-count", NextTask, "how many runs a matrix may make", option.Number(&v.MaxMatrix, 256, 1, math.MaxInt32)},
		{defaults, "default-imagepullbackoff-timeout", AtOnce, "how long a run waits for an image that cannot be pulled, from its first failure; 0 for not at all", patience(&v.ImagePullBackOffTimeout)},
		{defaults, "default-create-container-error-timeout", AtOnce, "the same for a container that cannot be created", patience(&v.CreateContainerErrorTimeout)},
		{defaults, "default-resolver-type", Created, "the resolver of references that name neither an object nor a resolver", option.Text(&v.DefaultResolver, "")},
		{defaults, "default-forbidden-env", NextPod, "variables that pod templates must not set, separated by commas", option.Of(&v.ForbiddenEnv, nil, "list", words, commas)},
		{defaults, "default-pod-template", NextPod, "what pods get where the pod template of a run leaves it out, field by field", document(&v.PodTemplate)},
		{defaults, "default-container-resource-requirements", NextPod, "resources of containers that have none, by container name, by prefix-NAME, or by default", document(&v.ContainerResources)},
		{defaults, "default-task-run-workspace-binding", NextPod, "what workspaces get that a task needs and its run does not bind", document(&v.WorkspaceBinding)},
	}
}

// tooLarge is the bound that Tekton has for results: what is larger than an object can
// be is no limit that anybody means.
const tooLarge = 1572864

func patience(to *time.Duration) option.Value {
	return option.Of(to, 0, "duration", func(text string) (time.Duration, error) {
		d, err := time.ParseDuration(text)
		if err != nil || d < 0 {
			return 0, errors.New("want a duration of 0 or more, as 90s or 1h30m")
		}
		return d, nil
	}, time.Duration.String)
}

// minutes is a time-out; "0" is none, which the reconcilers have negative numbers for.
func minutes(text string) (time.Duration, error) {
	const most = int(math.MaxInt64 / time.Minute)
	n, err := strconv.Atoi(text)
	switch {
	case err != nil || n < 0 || n > most:
		return 0, fmt.Errorf("want a number of minutes from 0 to %d", most)
	case n == 0:
		return -1, nil
	default:
		return time.Duration(n) * time.Minute, nil
	}
}

func printMinutes(d time.Duration) string {
	if d < 0 {
		return "0"
	}
	return strconv.Itoa(int(d / time.Minute))
}

func words(text string) ([]string, error) {
	return strings.FieldsFunc(text, func(r rune) bool { return r == ',' || r == ' ' || r == '\n' }), nil
}

func commas(words []string) string { return strings.Join(words, ",") }

// document is YAML, in which a field that nobody knows would be passed over.
func document[T any](to *T) option.Value {
	var none T
	parse := func(text string) (value T, err error) {
		if err = yaml.UnmarshalStrict([]byte(text), &value); err != nil {
			return none, fmt.Errorf("want the YAML of %T: %w", none, err)
		}
		return value, nil
	}
	return option.Of(to, none, "YAML", parse, func(value T) string {
		text, err := yaml.Marshal(value)
		if err != nil || string(text) == "null\n" {
			return ""
		}
		return string(text)
	})
}
