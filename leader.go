package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/uuid"
	coordination "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"k8s.io/klog/v2"

	"millrace/reconcile"
)

// leaseName is also the name in leader_election_master_status.
const leaseName = "millrace-controller"

var errLeaseLost = errors.New("the Lease was lost to another replica or could not be renewed")

// lead runs work while this process holds the Lease, and at most once. It
// returns when work has returned, with its error; the Lease is given back only
// then, so that a successor never meets our last writes.
//
// When the Lease is lost, a successor may be at work already: lose is called
// with errLeaseLost, for everything to stop at once, and so is work's ctx
// cancelled; lead then returns that error, and the process should end.
func lead(ctx context.Context, cfg config, lock resourcelock.Interface, work func(context.Context) error, lose context.CancelCauseFunc) error {
	// The election outlives ctx: it keeps renewing until work has returned.
	electing, resign := context.WithCancel(context.WithoutCancel(ctx))
	defer resign()
	leading := make(chan struct{})
	held := &heldLock{Interface: lock, deadline: cfg.renewDeadline, lapsed: make(chan struct{})}
	defer held.stop()
	elector, err := leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
		Name:            lock.Describe(),
		Lock:            held,
		LeaseDuration:   cfg.leaseDuration,
		RenewDeadline:   cfg.renewDeadline,
		RetryPeriod:     cfg.retryPeriod,
		ReleaseOnCancel: true,
		Callbacks: leaderelection.LeaderCallbacks{
			OnStartedLeading: func(context.Context) { close(leading) },
			OnStoppedLeading: func() {}, // it must be there; ended says it
			OnNewLeader: func(who string) {
				if who != lock.Identity() {
					klog.FromContext(ctx).Info("another replica holds the Lease", "lease", lock.Describe(), "holder", who)
				}
			},
		},
	})
	if err != nil {
		return fmt.Errorf("leader election: %w", err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		elector.Run(electing)
	}()
	defer func() {
		held.giveBack()
		resign()
		<-ended
	}()

	select {
	case <-leading:
	case <-ctx.Done():
		return nil
	}
	working, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	unwatch := watchLoss(ended, held.lapsed, func(err error) { lose(err); stop(err) })
	defer unwatch()
	if err = work(working); errors.Is(context.Cause(working), errLeaseLost) {
		return errLeaseLost
	}
	return err
}

// while is fn for as long as ctx lives: its end is the end of every reconcile.
func while(ctx context.Context, fn reconcile.Func) reconcile.Func {
	return func(one context.Context, key types.NamespacedName) (reconcile.Result, error) {
		one, cancel := context.WithCancelCause(one)
		defer cancel(nil)
		defer context.AfterFunc(ctx, func() { cancel(context.Cause(ctx)) })()
		return fn(one, key)
	}
}

// watchLoss calls stop when the election ends by itself or the Lease has lapsed.
// What it returns ends the watching, and waits for it.
func watchLoss(ended, lapsed <-chan struct{}, stop func(error)) func() {
	quit, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		select {
		case <-ended:
			stop(errLeaseLost)
		case <-lapsed:
			stop(errLeaseLost)
		case <-quit:
		}
	}()
	return func() { close(quit); <-done }
}

// leaseLock is the Lease as this replica sees it.
func leaseLock(cfg config, leases coordination.LeasesGetter) (resourcelock.Interface, error) {
	name, err := identity(cfg.podName)
	if err != nil {
		return nil, err
	}
	return &resourcelock.LeaseLock{
		LeaseMeta:  metav1.ObjectMeta{Namespace: cfg.namespace, Name: leaseName},
		Client:     leases,
		LockConfig: resourcelock.ResourceLockConfig{Identity: name},
	}, nil
}

// identity names this replica in the Lease. In a pod it is the pod's name: a
// container that is started again after a crash takes its own Lease up at once,
// since kubelet starts it only when its predecessor is dead. Elsewhere nobody
// vouches for that, so each process is somebody else and waits for the Lease of
// the last one to run out.
func identity(podName string) (string, error) {
	if podName != "" {
		return podName, nil
	}
	host, err := os.Hostname()
	if err != nil {
		return "", fmt.Errorf("naming this replica: %w", err)
	}
	return host + "_" + string(uuid.NewUUID()), nil
}

// unlessStopped is work, but to be told to stop while still waiting for the
// first lists is no failure.
func unlessStopped(told context.Context, work func(context.Context) error) func(context.Context) error {
	return func(ctx context.Context) error {
		err := work(ctx)
		if told.Err() != nil && errors.Is(err, context.Canceled) {
			return nil
		}
		return err
	}
}
