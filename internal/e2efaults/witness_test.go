//go:build e2e

package e2efaults

import (
	"context"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
)

// A witness knows every pod that the server has made. What a proxy saw does not tell:
// the answer to a creation may be lost on its way to the proxy, too.
type witness struct {
	core typedcorev1.CoreV1Interface

	mu   sync.Mutex
	pods map[types.NamespacedName]map[types.UID]bool
}

func newWitness(core typedcorev1.CoreV1Interface) *witness {
	return &witness{core: core, pods: map[types.NamespacedName]map[types.UID]bool{}}
}

// run looks until ctx ends. It goes on where it was when a watch ends, so that it
// misses a pod only if that is made and gone while history is thrown away.
func (w *witness) run(ctx context.Context) {
	version := ""
	for ctx.Err() == nil {
		if version == "" {
			version = w.list(ctx)
		} else {
			version = w.watch(ctx, version)
		}
		select {
		case <-ctx.Done():
		case <-time.After(time.Second / 4):
		}
	}
}

func (w *witness) list(ctx context.Context) (version string) {
	list, err := w.core.Pods("").List(ctx, metav1.ListOptions{})
	if err != nil {
		return ""
	}
	for i := range list.Items {
		w.see(&list.Items[i])
	}
	return list.ResourceVersion
}

// watch returns the version to go on from; none: that is gone.
func (w *witness) watch(ctx context.Context, version string) string {
	events, err := w.core.Pods("").Watch(ctx, metav1.ListOptions{ResourceVersion: version, AllowWatchBookmarks: true})
	if apierrors.IsResourceExpired(err) || apierrors.IsGone(err) {
		return ""
	}
	if err != nil {
		return version
	}
	defer events.Stop()
	for e := range events.ResultChan() {
		pod, ok := e.Object.(*corev1.Pod)
		if !ok { // an error, of which the one that matters is that the version has expired
			return ""
		}
		w.see(pod)
		version = pod.ResourceVersion
	}
	return version
}

func (w *witness) see(pod *corev1.Pod) {
	if pod.UID == "" {
		return // a bookmark
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	key := types.NamespacedName{Namespace: pod.Namespace, Name: pod.Name}
	if w.pods[key] == nil {
		w.pods[key] = map[types.UID]bool{}
	}
	w.pods[key][pod.UID] = true
}

// made counts the pods that were made in a namespace, by their runs.
func (w *witness) made(ns string) map[string]int {
	w.mu.Lock()
	defer w.mu.Unlock()
	made := map[string]int{}
	for key, uids := range w.pods {
		if key.Namespace == ns {
			made[runOf(key.Name)] += len(uids)
		}
	}
	return made
}
