package why

import (
	"context"
	"fmt"
	"slices"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	coordination "k8s.io/client-go/kubernetes/typed/coordination/v1"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"

	"millrace/shard"
)

// claimAnnotation is where the Lease of a shard says what its holder works on, as people
// read it too (docs/operating.md).
const claimAnnotation = "millrace/claim"

// whom are the pods to ask about a namespace, one at least, and in which order: who leads;
// who has claimed the namespace, for which one who leads may wait yet and stand by until
// then; and, where no Lease names a pod or not all may be read, any that is ready. A claim
// stays on the Lease of a pod that was killed until another takes it; but then there is no
// such pod any more.
func (at Install) whom(ctx context.Context, core typedcorev1.PodsGetter, leases coordination.LeasesGetter, namespace string) (found []string, err error) {
	pods, err := core.Pods(at.Namespace).List(ctx, metav1.ListOptions{LabelSelector: at.Labels})
	if err != nil {
		return nil, fmt.Errorf("look for the controller's pods: %w", err)
	}
	if len(pods.Items) == 0 {
		return nil, fmt.Errorf("namespace %s has no pods with the labels %s: is it installed elsewhere? (--namespace)", at.Namespace, at.Labels)
	}
	add := func(which func(*corev1.Pod) bool) {
		for i := range pods.Items {
			if p := &pods.Items[i]; which(p) && !slices.Contains(found, p.Name) {
				found = append(found, p.Name)
			}
		}
	}
	held, hidden := leases.Leases(at.Namespace), false
	for _, look := range []func() (map[string]bool, error){
		func() (map[string]bool, error) { return at.leader(ctx, held) },
		func() (map[string]bool, error) { return claimants(ctx, held, namespace) },
	} {
		holders, err := look()
		if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsForbidden(err) {
			return nil, fmt.Errorf("look who works on namespace %s: %w", namespace, err)
		}
		hidden = hidden || apierrors.IsForbidden(err)
		add(func(p *corev1.Pod) bool { return holders[p.Name] })
	}
	if hidden || len(found) == 0 {
		add(isReady)
	}
	if len(found) == 0 {
		return nil, fmt.Errorf("none of the controller's %d pods is ready", len(pods.Items))
	}
	return found, nil
}

// leader is who works on all namespaces, or will when nobody claims one any more.
func (at Install) leader(ctx context.Context, leases coordination.LeaseInterface) (map[string]bool, error) {
	lease, err := leases.Get(ctx, at.Lease, metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	return map[string]bool{holderOf(lease): true}, nil
}

// claimants are who works on that namespace, of those who share them: one, but for the
// moment in which the later of two claims is taken back.
func claimants(ctx context.Context, leases coordination.LeaseInterface, namespace string) (map[string]bool, error) {
	list, err := leases.List(ctx, metav1.ListOptions{LabelSelector: shard.Selector})
	if err != nil {
		return nil, err
	}
	holders := map[string]bool{}
	for i := range list.Items {
		claim, err := shard.ParseRange(list.Items[i].Annotations[claimAnnotation])
		if err == nil && claim.Holds(shard.Hash(namespace)) {
			holders[holderOf(&list.Items[i])] = true
		}
	}
	return holders, nil
}

// holderOf is "" where nobody holds it, as no pod is called.
func holderOf(lease *coordinationv1.Lease) string {
	if lease.Spec.HolderIdentity == nil {
		return ""
	}
	return *lease.Spec.HolderIdentity
}

func isReady(p *corev1.Pod) bool {
	for _, c := range p.Status.Conditions {
		if c.Type == corev1.PodReady {
			return c.Status == corev1.ConditionTrue
		}
	}
	return false
}
