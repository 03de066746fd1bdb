package taskrun

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"millrace/crds"
)

// Sidecars are Kubernetes' own: init containers that go on (KEP-753). The kubelet
// starts them in their order before any step, waits for their startup probes, starts
// them again when they end and stops them after the last step, without a word from
// the controller. See decision 11.

const sidecarPrefix = "sidecar-"

// sidecarName is the sidecar's container; unnamed sidecars are numbered.
func sidecarName(sidecar crds.Sidecar, i int) string {
	if sidecar.Name == "" {
		return fmt.Sprintf("%sunnamed-%d", sidecarPrefix, i)
	}
	return cutName(sidecarPrefix, sidecar.Name)
}

func (b blueprint) sidecars(w workspaces) []corev1.Container {
	containers := make([]corev1.Container, len(b.spec.Sidecars))
	for i, sidecar := range b.spec.Sidecars {
		containers[i] = sidecarContainer(sidecar, i)
		containers[i].Resources = sidecarResources(b.run, sidecar)
		containers[i].VolumeMounts = withMounts(sidecar.VolumeMounts, w.mounts(b.spec, sidecar.Workspaces))
		if sidecar.Script != "" {
			b.runScript(&containers[i], sidecar, i)
		}
	}
	return containers
}

func sidecarContainer(s crds.Sidecar, i int) corev1.Container {
	always := corev1.ContainerRestartPolicyAlways
	return corev1.Container{
		Name:                     sidecarName(s, i),
		Image:                    s.Image,
		Command:                  s.Command,
		Args:                     s.Args,
		WorkingDir:               s.WorkingDir,
		Ports:                    s.Ports,
		EnvFrom:                  s.EnvFrom,
		Env:                      s.Env,
		VolumeDevices:            s.VolumeDevices,
		LivenessProbe:            s.LivenessProbe,
		ReadinessProbe:           s.ReadinessProbe,
		StartupProbe:             startupProbe(s),
		Lifecycle:                s.Lifecycle,
		TerminationMessagePath:   s.TerminationMessagePath,
		TerminationMessagePolicy: s.TerminationMessagePolicy,
		ImagePullPolicy:          s.ImagePullPolicy,
		SecurityContext:          s.SecurityContext,
		Stdin:                    s.Stdin,
		StdinOnce:                s.StdinOnce,
		TTY:                      s.TTY,
		RestartPolicy:            &always,
	}
}

// startupProbe has the kubelet wait until the sidecar is ready. It waits for
// startup probes only, so a readiness probe is one, too; but unlike one it never
// gets the sidecar killed, and where nobody says how often to ask it asks each second.
func startupProbe(s crds.Sidecar) *corev1.Probe {
	if s.StartupProbe != nil || s.ReadinessProbe == nil {
		return s.StartupProbe
	}
	probe := *s.ReadinessProbe
	probe.SuccessThreshold = 0 // which is 1, and the only one allowed
	probe.FailureThreshold = math.MaxInt32
	if probe.PeriodSeconds == 0 {
		probe.PeriodSeconds = 1
	}
	return &probe
}

// runScript has the entrypoint write the script and run it.
func (b blueprint) runScript(c *corev1.Container, s crds.Sidecar, i int) {
	file := scriptsDir + "/sidecar-script-" + strconv.Itoa(i)
	args := append([]string{"-stay", "-termination_path", ""}, scriptArgs(s.Script, file)...)
	args = append(args, "-entrypoint", file, "--")
	c.Command, c.Args = []string{entrypoint}, slices.Concat(args, s.Args)
	c.VolumeMounts = withMounts(c.VolumeMounts, []corev1.VolumeMount{
		{Name: binVolume, MountPath: binDir, ReadOnly: true},
		{Name: sidecarScripts, MountPath: scriptsDir},
	})
}

// sidecarStatuses are the statuses of the task's sidecars, in the order of the
// pod's spec.
func sidecarStatuses(pod *corev1.Pod) []corev1.ContainerStatus {
	var statuses []corev1.ContainerStatus
	for _, container := range pod.Spec.InitContainers {
		if !goesOn(container) || !strings.HasPrefix(container.Name, sidecarPrefix) {
			continue
		}
		if status, ok := statusOf(pod.Status.InitContainerStatuses, container.Name); ok {
			statuses = append(statuses, status)
		}
	}
	return statuses
}

// goesOn tells init containers that run beside the steps.
func goesOn(container corev1.Container) bool {
	return container.RestartPolicy != nil && *container.RestartPolicy == corev1.ContainerRestartPolicyAlways
}

// sidecarStates is the sidecars part of a run's status.
func sidecarStates(pod *corev1.Pod) []crds.SidecarState {
	statuses := sidecarStatuses(pod)
	states := make([]crds.SidecarState, 0, len(statuses))
	for _, status := range statuses {
		states = append(states, crds.SidecarState{
			ContainerState: crds.ContainerState(status.State),
			Name:           strings.TrimPrefix(status.Name, sidecarPrefix),
			Container:      status.Name,
			ImageID:        status.ImageID,
		})
	}
	return states
}

// endSidecars marks sidecars as ended with the run: the kubelet stops those that
// run when the steps have ended, and a run that is done is not written again to tell.
func endSidecars(states []crds.SidecarState, reason string, at metav1.Time) []crds.SidecarState {
	ended := slices.Clone(states)
	for i, state := range ended {
		if state.Terminated != nil {
			continue
		}
		terminated := corev1.ContainerStateTerminated{ExitCode: 1, Reason: reason, FinishedAt: at}
		if state.Running != nil {
			terminated = corev1.ContainerStateTerminated{Reason: "Completed", Message: "the sidecar is stopped with the run", FinishedAt: at, StartedAt: state.Running.StartedAt}
		}
		ended[i].ContainerState = crds.ContainerState{Terminated: &terminated}
	}
	return ended
}

// A sidecar that ends badly is started again by the kubelet, which waits longer
// each time. While steps run that is all; but one that has never come up so often
// keeps the steps from starting, and is not waited for until the time-out.
const sidecarTries = 4

// brokenSidecar is why the steps will not start; nil if they may.
func brokenSidecar(pod *corev1.Pod) *refusal {
	if podBegun(pod) {
		return nil
	}
	for _, status := range sidecarStatuses(pod) {
		last := lastEnd(status)
		started := status.Started != nil && *status.Started
		if last == nil || last.ExitCode == 0 || started || int(status.RestartCount) < sidecarTries-1 || status.State.Running != nil {
			continue
		}
		reason := crds.TaskRunReasonSidecarFailed
		if last.Reason == oomKilled {
			reason = crds.TaskRunReasonSidecarOOM
		}
		return &refusal{reason, fmt.Sprintf("%q exited with code %d: %s; it was started %d times, and the steps wait for it", status.Name, last.ExitCode, last.Reason, status.RestartCount+1)}
	}
	return nil
}

func lastEnd(status corev1.ContainerStatus) *corev1.ContainerStateTerminated {
	if status.State.Terminated != nil {
		return status.State.Terminated
	}
	return status.LastTerminationState.Terminated
}

// sidecarTrouble tells of sidecars that have ended badly beside a step that
// failed: they may be why.
func sidecarTrouble(pod *corev1.Pod) string {
	var trouble strings.Builder
	for _, status := range sidecarStatuses(pod) {
		if last := status.LastTerminationState.Terminated; last != nil && last.ExitCode != 0 {
			fmt.Fprintf(&trouble, "; %q had exited with code %d: %s", status.Name, last.ExitCode, last.Reason)
		}
	}
	return trouble.String()
}
