package peer

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"
	"sigs.k8s.io/controller-runtime/pkg/cache" //nolint:depguard // The peer.
	"sigs.k8s.io/controller-runtime/pkg/log"   //nolint:depguard // The peer.
)

// Quiet keeps controller-runtime from telling that nobody has told it where to
// log.
func Quiet() { log.SetLogger(logr.Discard()) }

// Getter reads pods from controller-runtime's cache, which it starts and waits
// for; stop ends it.
func Getter(ctx context.Context, url string) (get func(types.NamespacedName) error, stop func(), err error) {
	core := schema.GroupVersion{Version: "v1"}
	mapper := meta.NewDefaultRESTMapper([]schema.GroupVersion{core})
	mapper.Add(core.WithKind("Pod"), meta.RESTScopeNamespace)
	cfg := &rest.Config{Host: url, QPS: -1}
	cfg.Insecure = strings.HasPrefix(url, "https:") // the certificate is made for an hour
	pods, err := cache.New(cfg, cache.Options{Scheme: scheme.Scheme, Mapper: mapper, DefaultTransform: Transform})
	if err != nil {
		return nil, nil, fmt.Errorf("controller-runtime's cache: %w", err)
	}
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan error, 1)
	go func() { done <- pods.Start(ctx) }()
	stop = func() {
		cancel()
		if err := <-done; err != nil {
			klog.ErrorS(err, "controller-runtime's cache has failed")
		}
	}
	if _, err := pods.GetInformer(ctx, &corev1.Pod{}); err != nil {
		stop()
		return nil, nil, fmt.Errorf("controller-runtime's informer: %w", err)
	}
	if !pods.WaitForCacheSync(ctx) {
		stop()
		return nil, nil, errors.New("controller-runtime's cache has not come into step")
	}
	return func(key types.NamespacedName) error {
		var pod corev1.Pod
		if err := pods.Get(ctx, key, &pod); err != nil || pod.Name != key.Name {
			return fmt.Errorf("get %s: %w", key, err)
		}
		return nil
	}, stop, nil
}
