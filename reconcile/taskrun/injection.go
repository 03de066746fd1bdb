package taskrun

import (
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// Mode says how the entrypoint gets into the pods of runs.
type Mode string

const (
	// ModeAuto mounts the image, and copies where that turns out not to work.
	ModeAuto Mode = "auto"
	// ModeImageVolume mounts the image of the entrypoint (KEP-4639): nothing is
	// copied and no container runs before the steps.
	ModeImageVolume Mode = "image-volume"
	// ModeInitContainer has an init container copy the entrypoint, on any cluster.
	ModeInitContainer Mode = "init-container"
)

// fallbackFor is how long one failure of an image volume counts for all pods.
// Nodes get replaced; a cluster that has learned them is to be used so.
const fallbackFor = 10 * time.Minute

// An injector remembers, in ModeAuto, that image volumes do not work. The
// memory is a convenience: without it each run would find out by itself.
type injector struct {
	mu    sync.Mutex
	until time.Time // image volumes are not tried before
}

func (i *injector) mode(configured Mode, now time.Time) (mode Mode, mayFallBack bool) {
	if configured == ModeInitContainer || configured == ModeImageVolume {
		return configured, false
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	if now.Before(i.until) {
		return ModeInitContainer, true
	}
	return ModeImageVolume, true
}

func (i *injector) fallBack(now time.Time) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.until = now.Add(fallbackFor)
}

// usesImageVolume tells by the pod itself, which may be older than this process.
func usesImageVolume(pod *corev1.Pod) bool {
	for _, volume := range pod.Spec.Volumes {
		if volume.Name == binVolume {
			return volume.Image != nil
		}
	}
	return false
}

// imageVolumeTrouble says why the entrypoint's image volume keeps the pod from
// starting; empty if it does not. A runtime that does not know image volumes
// fails to create the container, or starts it without the mount so that there is
// nothing to execute.
func imageVolumeTrouble(pod *corev1.Pod, c Config) string {
	if !usesImageVolume(pod) || podBegun(pod) {
		return ""
	}
	for _, h := range holds(pod) {
		if h.reason == waitCreateError || h.reason == waitRunError {
			return h.reason + ": " + h.message
		}
		if h.isPull() && h.image != c.EntrypointImage && strings.Contains(h.message, c.EntrypointImage) {
			return h.reason + ": " + h.message
		}
	}
	for _, status := range slices.Concat(stepStatuses(pod), sidecarStatuses(pod)) {
		if t := lastEnd(status); t != nil && !hasRun(t) && strings.Contains(t.Message, entrypoint) {
			return t.Reason + ": " + t.Message
		}
	}
	return ""
}

// refusesImageVolume tells a server without image volumes: it drops the field it
// does not know and then finds the pod's first volume to be of no kind.
func refusesImageVolume(err error) bool {
	return apierrors.IsInvalid(err) && strings.Contains(err.Error(), "spec.volumes[0]")
}
