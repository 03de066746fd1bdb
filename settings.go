package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"

	"sigs.k8s.io/yaml"

	"millrace/crds"
	"millrace/reconcile/pipelinerun"
	"millrace/reconcile/taskrun"
	"millrace/transform"
)

// settings are what the cluster's administrator has said in Tekton's ConfigMaps,
// as far as it is served. They are read once: a change takes a restart.
type settings struct {
	flags    settingsOf // feature-flags
	defaults settingsOf // config-defaults
}

// settingsOf is one ConfigMap. A key that is not there, or is empty, has Tekton's
// default; one that is not what it must be ends the program with a word about it.
type settingsOf struct {
	name  string
	data  map[string]string
	asked map[string]bool // keys that somebody has read
	err   error           // the first
}

func readSettings(ctx context.Context, namespace string, core typedcorev1.CoreV1Interface) (s settings, err error) {
	s.flags.name, s.defaults.name = "feature-flags", "config-defaults"
	for _, of := range []*settingsOf{&s.flags, &s.defaults} {
		config, err := core.ConfigMaps(namespace).Get(ctx, of.name, metav1.GetOptions{})
		if err != nil && !apierrors.IsNotFound(err) {
			return s, fmt.Errorf("read ConfigMap %s/%s: %w", namespace, of.name, err)
		}
		if err == nil {
			of.data = config.Data
		}
	}
	return s, nil
}

func read[T any](s *settingsOf, key string, otherwise T, parse func(string) (T, error)) T {
	if s.asked == nil {
		s.asked = map[string]bool{}
	}
	s.asked[key] = true
	text := strings.TrimSpace(s.data[key])
	if text == "" {
		return otherwise
	}
	value, err := parse(text)
	if err != nil {
		if s.err == nil {
			s.err = fmt.Errorf("ConfigMap %s: %s: %q: %w", s.name, key, text, err)
		}
		return otherwise
	}
	return value
}

func (s *settingsOf) bool(key string, otherwise bool) bool {
	return read(s, key, otherwise, strconv.ParseBool)
}

func (s *settingsOf) duration(key string) time.Duration {
	return read(s, key, 0, func(text string) (time.Duration, error) {
		d, err := time.ParseDuration(text)
		if err == nil && d < 0 {
			err = errors.New("want 0 or more")
		}
		return d, err
	})
}

func (s *settingsOf) text(key string) string {
	return read(s, key, "", func(text string) (string, error) { return text, nil })
}

func (s *settingsOf) list(key string) []string {
	return read(s, key, nil, func(text string) ([]string, error) {
		return strings.FieldsFunc(text, func(r rune) bool { return r == ',' || r == ' ' || r == '\n' }), nil
	})
}

// transform is what is cut from objects before they are kept.
func (s *settings) transform() transform.Func {
	if s.flags.bool("enable-informer-cache-transforms", true) {
		return transform.Default()
	}
	return transform.Chain()
}

// taskRuns fills in what the ConfigMaps say about TaskRuns.
func (s *settings) taskRuns(c *taskrun.Config) {
	c.ResultsFrom = read(&s.flags, "results-from", taskrun.ResultsFromMessages, resultsFrom)
	c.MaxResultSize = read(&s.flags, "max-result-size", 4096, resultSize)
	c.CompressMessages = s.flags.bool("enable-termination-message-compression", false)
	c.KeepPodOnCancel = s.flags.bool("keep-pod-on-cancel", false)
	c.DisableCredentials = s.flags.bool("disable-creds-init", false)
	c.ParamEnum = s.flags.bool("enable-param-enum", false)
	c.CEL = s.flags.bool("enable-cel-in-whenexpression", false)
	c.Provenance = s.provenance()
	c.DefaultTimeout = read(&s.defaults, "default-timeout-minutes", time.Hour, minutes)
	c.DefaultServiceAccount = s.defaults.text("default-service-account")
	c.ManagedByLabel = s.defaults.text("default-managed-by-label-value")
	c.ImagePullBackOffTimeout = s.defaults.duration("default-imagepullbackoff-timeout")
	c.CreateContainerErrorTimeout = s.defaults.duration("default-create-container-error-timeout")
	c.ForbiddenEnv = s.defaults.list("default-forbidden-env")
	c.PodTemplate = read(&s.defaults, "default-pod-template", nil, document[*crds.PodTemplate])
	c.ContainerResources = read(&s.defaults, "default-container-resource-requirements", nil, document[map[string]corev1.ResourceRequirements])
	c.WorkspaceBinding = read(&s.defaults, "default-task-run-workspace-binding", nil, document[*crds.WorkspaceBinding])
}

// err is the first thing that is wrong with what was read so far.
func (s *settings) err() error {
	if s.flags.err != nil {
		return s.flags.err
	}
	return s.defaults.err
}

func resultsFrom(text string) (taskrun.ResultsFrom, error) {
	switch from := taskrun.ResultsFrom(text); from {
	case taskrun.ResultsFromMessages, taskrun.ResultsFromLogs:
		return from, nil
	default:
		return "", fmt.Errorf("want %s or %s", taskrun.ResultsFromMessages, taskrun.ResultsFromLogs)
	}
}

// resultSize is bounded as in Tekton: what is larger than an object can be is no
// limit that anybody means.
func resultSize(text string) (int, error) {
	const most = 1572864
	size, err := strconv.Atoi(text)
	if err == nil && (size <= 0 || size >= most) {
		err = fmt.Errorf("want more than 0 and less than %d", most)
	}
	return size, err
}

// document is YAML, in which a field that nobody knows would be passed over.
func document[T any](text string) (value T, err error) {
	if err = yaml.UnmarshalStrict([]byte(text), &value); err != nil {
		return value, fmt.Errorf("not the YAML that belongs here: %w", err)
	}
	return value, nil
}

// minutes is a timeout; "0" is none, which taskrun.Config has negative numbers for.
func minutes(text string) (time.Duration, error) {
	n, err := strconv.Atoi(text)
	switch {
	case err != nil:
		return 0, err
	case n < 0 || n > int(math.MaxInt64/time.Minute):
		return 0, fmt.Errorf("want 0 or more minutes, and less than %d", int(math.MaxInt64/time.Minute))
	case n == 0:
		return -1, nil
	default:
		return time.Duration(n) * time.Minute, nil
	}
}

// pipelineRuns fills in what they say about PipelineRuns.
func (s *settings) pipelineRuns(c *pipelinerun.Config) {
	c.ParamEnum = s.flags.bool("enable-param-enum", false)
	c.CEL = s.flags.bool("enable-cel-in-whenexpression", false)
	c.Provenance = s.provenance()
	c.DefaultTimeout = read(&s.defaults, "default-timeout-minutes", time.Hour, minutes)
	c.MaxMatrix = read(&s.defaults, "default-max-matrix-combinations-count", 256, positive)
}

// provenance is what the status of a run says it was made with: Tekton's flags, by the
// names that they have there, as far as they are served; nil where it is to say nothing.
func (s *settings) provenance() *crds.Provenance {
	flags := map[string]any{
		"enableProvenanceInStatus":  true,
		"maxResultSize":             read(&s.flags, "max-result-size", 4096, resultSize),
		"resultExtractionMethod":    string(read(&s.flags, "results-from", taskrun.ResultsFromMessages, resultsFrom)),
		"disableCredsInit":          s.flags.bool("disable-creds-init", false),
		"keepPodOnCancel":           s.flags.bool("keep-pod-on-cancel", false),
		"enableParamEnum":           s.flags.bool("enable-param-enum", false),
		"enableCELInWhenExpression": s.flags.bool("enable-cel-in-whenexpression", false),
	}
	if !s.flags.bool("enable-provenance-in-status", true) {
		return nil
	}
	return &crds.Provenance{FeatureFlags: flags}
}

func positive(text string) (int, error) {
	n, err := strconv.Atoi(text)
	if err == nil && n < 1 {
		return 0, fmt.Errorf("want 1 or more")
	}
	return n, err
}
