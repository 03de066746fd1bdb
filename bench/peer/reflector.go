package peer

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache" //nolint:depguard // The peer.
)

// Reflector is client-go's reflector of pods, with a store; run returns some
// time after its context has ended.
func Reflector(url string) (run func(context.Context), err error) {
	client, err := kubernetes.NewForConfig(&rest.Config{Host: url, QPS: -1})
	if err != nil {
		return nil, fmt.Errorf("client-go's client: %w", err)
	}
	lw := cache.NewListWatchFromClient(client.CoreV1().RESTClient(), "pods", metav1.NamespaceAll, fields.Everything())
	r := cache.NewReflectorWithOptions(lw, &corev1.Pod{}, cache.NewStore(cache.DeletionHandlingMetaNamespaceKeyFunc), cache.ReflectorOptions{})
	return r.RunWithContext, nil
}
