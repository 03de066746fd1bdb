package kubelet

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"millrace/internal/simulation/apiserver"
)

// FirstConsumer is the storage class whose volumes are made when a pod wants them;
// those of any other class are made as soon as there is a claim.
const FirstConsumer = "first-consumer"

// claim is what the provisioner and the scheduler know of one. A name that is used
// again is another claim.
type claim struct {
	lives int // claims that had the name
	there bool
	bound bool
	asked bool // a volume is being made for it
	waits bool // for its first consumer
}

// sawClaim has volumes made for claims, and pods be looked at again that may wait
// for one.
func (k *Kubelet) sawClaim(e apiserver.Exchange) {
	k.mu.Lock()
	defer k.mu.Unlock()
	c := k.claims[e.Key]
	if c == nil {
		c = &claim{}
		k.claims[e.Key] = c
	}
	if e.After == nil {
		c.there = false
		return
	}
	object := apiserver.As[corev1.PersistentVolumeClaim](e.After)
	if e.Before == nil {
		class := object.Spec.StorageClassName
		*c = claim{lives: c.lives + 1, there: true, waits: class != nil && *class == FirstConsumer}
		if !c.waits {
			k.provisionLocked(e.Key, c)
		}
	}
	c.bound = object.Status.Phase == corev1.ClaimBound
	for _, m := range k.sortedLocked() {
		if m.unbound && m.key.Namespace == e.Key.Namespace {
			k.laterLocked(m, 10*time.Millisecond, 300*time.Millisecond, "bind again", k.bind)
		}
	}
}

func (k *Kubelet) sortedLocked() []*machine {
	return slices.SortedFunc(maps.Values(k.machines), func(a, b *machine) int { return strings.Compare(a.name, b.name) })
}

// provisionLocked has a volume made and bound.
func (k *Kubelet) provisionLocked(key types.NamespacedName, c *claim) {
	if c.asked {
		return
	}
	c.asked = true
	life := c.lives
	wait := k.cfg.Seed.Between(100*time.Millisecond, 5*time.Second, "provisioner", key.String(), fmt.Sprint(life))
	k.cfg.Agenda.After(wait, func() {
		k.mu.Lock()
		same := c.there && c.lives == life
		k.mu.Unlock()
		if !same {
			return
		}
		// A claim that was deleted meanwhile has nothing to write; that is no error.
		provisioner := k.cfg.Server.Actor("provisioner")
		_, _ = apiserver.Change(provisioner, "persistentvolumeclaims", "", key, func(p *corev1.PersistentVolumeClaim) { p.Spec.VolumeName = "pv-" + string(p.UID) })
		_, _ = apiserver.Change(provisioner, "persistentvolumeclaims", "status", key, func(p *corev1.PersistentVolumeClaim) { p.Status.Phase = corev1.ClaimBound })
	})
}

// claimsBound is the scheduler's look at the claims of a pod. Of a claim that is
// not there, or has no volume, the pod's condition tells; of one whose volume is
// being made for this very pod it does not.
func (k *Kubelet) claimsBound(m *machine) bool {
	k.mu.Lock()
	var why string
	ready := true
	for _, v := range m.spec.Volumes {
		if v.PersistentVolumeClaim == nil {
			continue
		}
		key := types.NamespacedName{Namespace: m.key.Namespace, Name: v.PersistentVolumeClaim.ClaimName}
		c := k.claims[key]
		switch {
		case c == nil || !c.there:
			ready, why = false, fmt.Sprintf("0/1 nodes are available: persistentvolumeclaim %q not found.", key.Name)
		case c.bound:
		case c.waits:
			ready = false
			k.provisionLocked(key, c)
		default:
			ready, why = false, "0/1 nodes are available: pod has unbound immediate PersistentVolumeClaims."
		}
	}
	m.unbound = !ready
	k.mu.Unlock()
	if why != "" {
		m.put(corev1.PodCondition{
			Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable, Message: why, LastTransitionTime: now(),
		})
		k.addCondition(m)
	}
	return ready
}
