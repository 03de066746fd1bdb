package shard

import (
	"context"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// A share with nothing in it has been weighed: it would else never get a part of what
// the others have.
func TestAShareWithNothingInItIsWeighed(t *testing.T) {
	l := NewLeases(nil, Config{Shards: 2, Identity: "a", LeaseDuration: time.Minute})
	half, holder := Range{To: 1 << 63}, "a"
	lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: leaseName(0), Annotations: map[string]string{onClaim: half.String()}}}
	lease.Spec.HolderIdentity = &holder
	l.sightLocked(lease, time.Now())
	if s := l.slotLocked(context.Background(), lease, time.Now()); s.knows() {
		t.Error("nobody has weighed it yet")
	}
	l.claim = &half
	l.weigh(half, Weights{})
	l.inscribe(lease)
	if s := l.slotLocked(context.Background(), lease, time.Now()); !s.knows() || len(s.cells) > 0 {
		t.Errorf("it was weighed: %+v", s)
	}
}
