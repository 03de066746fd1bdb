package shard

import (
	"context"
	"errors"
	"strconv"
	"sync"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	coordination "k8s.io/client-go/kubernetes/typed/coordination/v1"
)

// A shelf is a server with nothing but Leases.
type shelf struct {
	coordination.LeaseInterface

	mu      sync.Mutex
	leases  map[string]*coordinationv1.Lease
	version int
	slow    time.Duration // how long a list takes to come
	mute    bool          // nothing is answered
	refuse  bool          // nothing is written
}

var errRefused = errors.New("it is refused")

// ask holds nothing while it waits: whoever waited for a mutex meanwhile would keep the
// bubble's clock from moving.
func (s *shelf) ask(ctx context.Context, do func() error) error {
	s.mu.Lock()
	if s.mute {
		s.mu.Unlock()
		<-ctx.Done()
		return ctx.Err()
	}
	defer s.mu.Unlock()
	return do()
}

func (s *shelf) put(lease *coordinationv1.Lease) (*coordinationv1.Lease, error) {
	if s.refuse {
		return nil, errRefused
	}
	if there := s.leases[lease.Name]; there != nil && there.ResourceVersion != lease.ResourceVersion {
		return nil, apierrors.NewConflict(schema.GroupResource{Resource: "leases"}, lease.Name, errors.New("it has changed"))
	}
	s.version++
	stored := lease.DeepCopy()
	stored.ResourceVersion = strconv.Itoa(s.version)
	s.leases[lease.Name] = stored
	return stored.DeepCopy(), nil
}

func (s *shelf) Create(ctx context.Context, lease *coordinationv1.Lease, _ metav1.CreateOptions) (made *coordinationv1.Lease, err error) {
	return made, s.ask(ctx, func() error { made, err = s.put(lease); return err })
}

func (s *shelf) Update(ctx context.Context, lease *coordinationv1.Lease, _ metav1.UpdateOptions) (made *coordinationv1.Lease, err error) {
	return made, s.ask(ctx, func() error { made, err = s.put(lease); return err })
}

func (s *shelf) Get(ctx context.Context, name string, _ metav1.GetOptions) (found *coordinationv1.Lease, err error) {
	return found, s.ask(ctx, func() error {
		if found = s.leases[name].DeepCopy(); found == nil {
			return apierrors.NewNotFound(schema.GroupResource{Resource: "leases"}, name)
		}
		return nil
	})
}

// List is as of when it was asked for, however long it takes to come.
func (s *shelf) List(ctx context.Context, _ metav1.ListOptions) (list *coordinationv1.LeaseList, err error) {
	err = s.ask(ctx, func() error {
		list = &coordinationv1.LeaseList{}
		for _, lease := range s.leases {
			list.Items = append(list.Items, *lease.DeepCopy())
		}
		return nil
	})
	time.Sleep(s.slow)
	return list, err
}

// stands puts a Lease there as somebody has left it.
func (s *shelf) stands(t *testing.T, name, holder string, annotations map[string]string) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: annotations}}
	lease.Spec.HolderIdentity = &holder
	if there := s.leases[name]; there != nil {
		lease.ResourceVersion = there.ResourceVersion
	}
	if _, err := s.put(lease); err != nil {
		t.Fatal(err)
	}
}
