package taskrun

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"millrace/crds"
)

// Results that do not fit termination messages are printed by a container beside
// the steps (feature flag results-from: sidecar-logs) and read from its log. The
// name is Tekton's; unlike there it ends by itself when the steps have.
const collectorName = sidecarPrefix + "tekton-log-results"

// ResultsFrom says how results come from the steps to the controller.
type ResultsFrom string

const (
	// ResultsFromMessages: in termination messages, 4 KiB for a step, 12 KiB for a pod.
	ResultsFromMessages ResultsFrom = "termination-message"
	// ResultsFromLogs: in the log of a container that prints them; Config.MaxResultSize
	// for each, and as many as fit into the run's status.
	ResultsFromLogs ResultsFrom = "sidecar-logs"
)

// maxLog is how much of that log is read: more than a run's status can hold.
const maxLog = 4 << 20

// collects tells whether the pod is to have a collector.
func (b blueprint) collects() bool {
	return b.config.ResultsFrom == ResultsFromLogs && hasResults(b.spec)
}

func hasResults(spec *crds.TaskSpec) bool {
	if len(spec.Results) > 0 {
		return true
	}
	for _, step := range spec.Steps {
		if len(step.Results) > 0 {
			return true
		}
	}
	return false
}

func (b blueprint) collector(template crds.PodTemplate) corev1.Container {
	var results []string
	wait := make([]string, 0, len(b.spec.Steps))
	args := []string{"results"}
	for i, step := range b.spec.Steps {
		wait = append(wait, runDir+"/"+strconv.Itoa(i)+"/out")
		for _, result := range step.Results {
			args = append(args, "-step_result", containerName(step, i)+"/"+result.Name)
		}
	}
	for _, result := range b.spec.Results {
		if result.Value == nil {
			results = append(results, result.Name)
		}
	}
	args = append(args, "-wait_file", strings.Join(wait, ","), "-results", strings.Join(results, ","), maxSizeFlag, strconv.Itoa(b.config.maxResultSize()))
	return corev1.Container{
		Name:            collectorName,
		Image:           b.config.EntrypointImage,
		ImagePullPolicy: b.config.entrypointPullPolicy(),
		WorkingDir:      "/",
		Command:         []string{entrypointInImage},
		Args:            args,
		SecurityContext: restricted(template),
		Resources:       b.config.resources(collectorName, corev1.ResourceRequirements{}),
		VolumeMounts: []corev1.VolumeMount{
			{Name: volumePrefix + "results", MountPath: resultsDir, ReadOnly: true},
			{Name: volumePrefix + "steps", MountPath: stepsDir, ReadOnly: true},
			{Name: volumePrefix + "run", MountPath: runDir, ReadOnly: true},
		},
	}
}

// hasCollector tells by the pod itself, since the configuration may have changed.
func hasCollector(pod *corev1.Pod) bool {
	for _, container := range pod.Spec.Containers {
		if container.Name == collectorName {
			return true
		}
	}
	return false
}

// maxSizeFlag is the collector's, and comes before the size.
const maxSizeFlag = "-max_size"

// maxSize is what the collector of the pod was told, in words; it may be another size
// by now.
func maxSize(pod *corev1.Pod) string {
	for _, container := range pod.Spec.Containers {
		if at := slices.Index(container.Args, maxSizeFlag); container.Name == collectorName && at >= 0 && at+1 < len(container.Args) {
			return container.Args[at+1]
		}
	}
	return "fewer"
}

// collected tells whether the results are all in the log, or never will be.
func collected(pod *corev1.Pod) bool {
	if !hasCollector(pod) {
		return true
	}
	status, ok := statusOf(pod.Status.ContainerStatuses, collectorName)
	return ok && status.State.Terminated != nil
}

// logPatience is how long after the steps the log of the collector is asked for while
// nobody answers: the node may be away, and come back.
const logPatience = time.Hour

// lostResults is why there may be results that nobody has read; nil if there are none.
func lostResults(pod *corev1.Pod, log error) *refusal {
	if !hasCollector(pod) {
		return nil
	}
	status, _ := statusOf(pod.Status.ContainerStatuses, collectorName)
	terminated := status.State.Terminated
	switch {
	case terminated == nil:
		return &refusal{crds.TaskRunReasonSidecarFailed, fmt.Sprintf("the results are lost: the pod ended before %q did", collectorName)}
	case terminated.Reason == oomKilled:
		return &refusal{crds.TaskRunReasonSidecarOOM, "the results are lost: " + exitMessage(status)}
	case terminated.ExitCode != 0:
		return &refusal{crds.TaskRunReasonSidecarFailed, "the results are lost: " + exitMessage(status)}
	case log != nil:
		return &refusal{crds.TaskRunReasonSidecarFailed, fmt.Sprintf("the results are lost: the log of %q cannot be read: %v", collectorName, log)}
	default:
		return nil
	}
}

// findings are the results that steps have left, declared or not, before anybody
// has looked at what they are.
type findings struct {
	task  map[string]string
	steps map[string]map[string]string // by container
	large []string                     // those that were too large to be told, in words
}

// find reads the messages of the steps, and the log of the collector if the pod
// has one. A line of the log that cannot be read is nobody's result.
func findResults(pod *corev1.Pod, log []byte) findings {
	f := findings{task: map[string]string{}, steps: map[string]map[string]string{}}
	for _, status := range stepStatuses(pod) {
		if status.State.Terminated == nil {
			continue
		}
		told := readReport(status.State.Terminated.Message)
		for _, result := range told.results {
			f.task[result.Key] = result.Value
		}
		for _, result := range told.stepResults {
			f.add(status.Name, result.Key, result.Value)
		}
	}
	for raw := range bytes.Lines(log) {
		var line struct {
			Step  string `json:"step"`
			Name  string `json:"name"`
			Value string `json:"value"`
			Size  int64  `json:"size"`
		}
		switch err := json.Unmarshal(raw, &line); {
		case err != nil || line.Name == "":
		case line.Size > 0:
			f.large = append(f.large, fmt.Sprintf("%q has %d bytes", line.Name, line.Size))
		case line.Step == "":
			f.task[line.Name] += line.Value // lines have an end, values need not
		default:
			f.add(line.Step, line.Name, f.steps[line.Step][line.Name]+line.Value)
		}
	}
	return f
}

func (f findings) add(container, name, value string) {
	if f.steps[container] == nil {
		f.steps[container] = map[string]string{}
	}
	f.steps[container][name] = value
}

// ofSteps puts the results of the steps into their states. What is known of a step stays
// where the pod tells of none: on an old view, a step that had ended goes on.
func (f findings) ofSteps(spec *crds.TaskSpec, states []crds.StepState) []crds.StepState {
	for i := range states {
		found, told := f.steps[states[i].Container]
		if !told {
			continue
		}
		states[i].Results = nil
		for _, declared := range stepOf(spec, states[i].Container).Results {
			text, ok := found[declared.Name]
			if !ok {
				continue
			}
			value := readValue(resultType(declared.Type, declared.Properties), text)
			states[i].Results = append(states[i].Results, crds.TaskRunResult{Name: declared.Name, Type: value.Type, Value: value})
		}
	}
	return states
}
