package apiserver_test

import (
	"context"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

func TestANetworkThatStandsStillLosesNothing(t *testing.T) {
	bubble(t, runtime.ContentTypeJSON, nil, func(ctx context.Context, r *rig) {
		if _, err := r.pods.Create(ctx, pod("a"), metav1.CreateOptions{}); err != nil {
			r.Fatal(err)
		}
		begun := time.Now()
		r.link.Stall()
		time.AfterFunc(5*time.Minute, r.link.GoOn)
		if _, err := r.pods.Get(ctx, "a", metav1.GetOptions{}); err != nil || time.Since(begun) != 5*time.Minute {
			r.Errorf("after %s: %v", time.Since(begun), err)
		}
		r.link.Stall()
		defer r.link.GoOn()
		ctx, cancel := context.WithTimeout(ctx, time.Minute)
		defer cancel()
		if _, err := r.pods.Create(ctx, pod("b"), metav1.CreateOptions{}); err == nil {
			r.Error("an answer came through")
		}
	})
}
