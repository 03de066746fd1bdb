package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// cluster is what runs are made on. Its clients send and get JSON as it is.
type cluster struct {
	kubeconfig string

	core, tekton rest.Interface
}

// writers is how many requests are under way at once when many are made: enough for
// the server to be what is waited for.
const writers = 16

func connect() (*cluster, error) {
	path := os.Getenv("KUBECONFIG")
	if path == "" {
		return nil, errors.New("no cluster to measure on: KUBECONFIG is not set")
	}
	rc, err := clientcmd.BuildConfigFromFlags("", path)
	if err != nil {
		return nil, fmt.Errorf("KUBECONFIG=%s: %w", path, err)
	}
	c, err := clientsOf(rc)
	if err != nil {
		return nil, err
	}
	c.kubeconfig = path
	return c, nil
}

func clientsOf(rc *rest.Config) (*cluster, error) {
	c := &cluster{}
	for _, each := range []struct {
		client *rest.Interface
		path   string
		gv     schema.GroupVersion
	}{
		{&c.core, "/api", corev1.SchemeGroupVersion},
		{&c.tekton, "/apis", schema.GroupVersion{Group: "tekton.dev", Version: "v1"}},
	} {
		of := rest.CopyConfig(rc)
		of.QPS, of.UserAgent = -1, "scale"
		of.GroupVersion, of.APIPath = &each.gv, each.path
		of.NegotiatedSerializer = scheme.Codecs.WithoutConversion()
		client, err := rest.RESTClientFor(of)
		if err != nil {
			return nil, fmt.Errorf("client of %s: %w", each.gv, err)
		}
		*each.client = client
	}
	return c, nil
}

// A head is what is read of an object.
type head struct {
	Metadata struct {
		Namespace       string `json:"namespace"`
		Name            string `json:"name"`
		UID             string `json:"uid"`
		ResourceVersion string `json:"resourceVersion"`
	} `json:"metadata"`
	Status struct {
		Phase      string             `json:"phase"`
		PodName    string             `json:"podName"`
		Conditions []metav1.Condition `json:"conditions"`
		Results    []struct {
			Name  string `json:"name"`
			Value string `json:"value"`
		} `json:"results"`
	} `json:"status"`
}

// succeeded is how a run has ended: True, False, or Unknown if it has not.
func (h head) succeeded() string {
	for _, c := range h.Status.Conditions {
		if c.Type == "Succeeded" {
			return string(c.Status)
		}
	}
	return "Unknown"
}

// create makes an object, and says what the server made of it.
func create(ctx context.Context, client rest.Interface, resource, namespace string, body []byte) (h head, err error) {
	answer, err := client.Post().Namespace(namespace).Resource(resource).Body(body).Do(ctx).Raw()
	if err != nil {
		return h, fmt.Errorf("create one of %s: %w", resource, err)
	}
	return h, json.Unmarshal(answer, &h)
}

// namespace makes one, and waits for the ServiceAccount that its pods need.
func (c *cluster) namespace(ctx context.Context, name string) error {
	body, err := json.Marshal(map[string]any{"metadata": map[string]any{"name": name}})
	if err != nil {
		return err
	}
	err = c.core.Post().Resource("namespaces").Body(body).Do(ctx).Error()
	if err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("create namespace %s: %w", name, err)
	}
	return poll(ctx, "the ServiceAccount of "+name, func() (bool, error) {
		err := c.core.Get().Namespace(name).Resource("serviceaccounts").Name("default").Do(ctx).Error()
		return err == nil, ignoreNotFound(err)
	})
}

func (c *cluster) namespaces(ctx context.Context, names []string) error {
	all, ctx := errgroup.WithContext(ctx)
	for _, name := range names {
		all.Go(func() error { return c.namespace(ctx, name) })
	}
	return all.Wait()
}

// each calls see with every object of a resource in a namespace, page by page.
func each(ctx context.Context, client rest.Interface, resource, namespace string, see func(head)) error {
	for next := ""; ; {
		var list struct {
			Metadata struct {
				Continue string `json:"continue"`
			} `json:"metadata"`
			Items []head `json:"items"`
		}
		answer, err := client.Get().Namespace(namespace).Resource(resource).
			Param("limit", "500").Param("continue", next).Do(ctx).Raw()
		if err != nil {
			return fmt.Errorf("list %s of %q: %w", resource, namespace, err)
		}
		if err := json.Unmarshal(answer, &list); err != nil {
			return fmt.Errorf("list %s of %q: %w", resource, namespace, err)
		}
		for _, h := range list.Items {
			see(h)
		}
		if next = list.Metadata.Continue; next == "" {
			return nil
		}
	}
}

// clear deletes the runs of namespaces and their pods, and returns when they have
// gone: garbage of one part is no load for the next.
func (c *cluster) clear(ctx context.Context, names []string) error {
	background := []byte(`{"propagationPolicy":"Background"}`)
	all, ctx := errgroup.WithContext(ctx)
	for _, name := range names {
		all.Go(func() error {
			for _, each := range []struct {
				client   rest.Interface
				resource string
			}{{c.tekton, "pipelineruns"}, {c.tekton, "taskruns"}, {c.core, "pods"}, {c.core, "events"}} {
				err := each.client.Delete().Namespace(name).Resource(each.resource).Body(background).Do(ctx).Error()
				if err != nil {
					return fmt.Errorf("delete %s of %s: %w", each.resource, name, err)
				}
			}
			return poll(ctx, "the end of the pods of "+name, func() (bool, error) {
				left := 0
				err := each(ctx, c.core, "pods", name, func(head) { left++ })
				return left == 0, err
			})
		})
	}
	return all.Wait()
}

func ignoreNotFound(err error) error {
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}
