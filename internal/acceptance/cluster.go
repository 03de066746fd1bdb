package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// A cluster takes files as a user would give them: through kubectl. Only the
// waiting is done by API calls of our own.
type cluster struct {
	kubectl    string
	client     dynamic.Interface
	namespaces dynamic.ResourceInterface
	discovery  discovery.DiscoveryInterface
}

func newCluster(kubectl string) (*cluster, error) {
	config, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(
		clientcmd.NewDefaultClientConfigLoadingRules(), nil).ClientConfig()
	if err != nil {
		return nil, fmt.Errorf("no cluster to try on: %w (set KUBECONFIG)", err)
	}
	config.QPS = -1 // polls of many files at once; the server has its own limits
	config.WarningHandler = rest.NoWarnings{}
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	namespaces := client.Resource(schema.GroupVersionResource{Version: "v1", Resource: "namespaces"})
	resources, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return nil, err
	}
	return &cluster{kubectl, client, namespaces, resources}, nil
}

type result struct {
	took time.Duration
	saw  string
	err  error
}

func (r result) why() string {
	if r.err != nil {
		return strings.ReplaceAll(r.err.Error(), "\n", " ")
	}
	return r.saw
}

// try creates what a file holds in a new namespace, waits for its runs, and
// removes the namespace.
func (c *cluster) try(ctx context.Context, path string) result {
	start := time.Now()
	saw, err := c.outcome(ctx, path)
	return result{time.Since(start), saw, err}
}

var namespaceDefault = regexp.MustCompile(`(?m)^(\s*namespace:\s*)["']?default["']?\s*$`)

func (c *cluster) outcome(ctx context.Context, path string) (string, error) {
	raw, err := os.ReadFile(path)
	if err != nil {
		return "", err
	}
	want, err := parseExpectation(string(raw))
	if err != nil {
		return "", err
	}
	ns, err := c.namespace(ctx)
	if err != nil {
		return "", err
	}
	defer c.remove(ns)
	text := namespaceDefault.ReplaceAllString(string(raw), "${1}"+ns)
	names, err := c.create(ctx, ns, text)
	if want.refused {
		return refusal(want, names, err)
	}
	if err != nil {
		return "", err
	}
	runs := runsIn(names)
	if len(runs) == 0 {
		return "", errors.New("the file creates no run")
	}
	return c.waitAll(ctx, ns, runs, want)
}

func refusal(want expectation, names []string, err error) (string, error) {
	switch {
	case err == nil:
		return "", fmt.Errorf("accepted %s, though it should be refused", strings.Join(names, " "))
	case !strings.Contains(err.Error(), want.message):
		return "", fmt.Errorf("refused, but without %q: %w", want.message, err)
	}
	return "refused: " + strings.TrimSpace(err.Error()), nil
}

func (c *cluster) namespace(ctx context.Context) (string, error) {
	ns := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"generateName": "acceptance-"}}}
	made, err := c.namespaces.Create(ctx, ns, metav1.CreateOptions{})
	if err != nil {
		return "", fmt.Errorf("making a namespace: %w", err)
	}
	return made.GetName(), nil
}

// remove does not wait: a namespace takes seconds to go, and no other file uses it.
func (c *cluster) remove(ns string) {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	if err := c.namespaces.Delete(ctx, ns, metav1.DeleteOptions{}); err != nil {
		fmt.Fprintf(os.Stderr, "acceptance: namespace %s stays behind: %v\n", ns, err)
	}
}

// create returns kubectl's names of what it made, such as taskrun.tekton.dev/x.
func (c *cluster) create(ctx context.Context, ns, text string) ([]string, error) {
	cmd := exec.CommandContext(ctx, c.kubectl, "create", "-n", ns, "-f", "-", "-o", "name")
	cmd.Stdin = strings.NewReader(text)
	var out, complaint bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &complaint
	if err := cmd.Run(); err != nil {
		return strings.Fields(out.String()), fmt.Errorf("kubectl create: %w: %s", err, strings.TrimSpace(complaint.String()))
	}
	return strings.Fields(out.String()), nil
}

type testedRun struct {
	resource schema.GroupVersionResource
	name     string
}

func runsIn(names []string) (runs []testedRun) {
	kinds := map[string]schema.GroupVersionResource{
		"taskrun.tekton.dev":     {Group: "tekton.dev", Version: "v1", Resource: "taskruns"},
		"pipelinerun.tekton.dev": {Group: "tekton.dev", Version: "v1", Resource: "pipelineruns"},
		"customrun.tekton.dev":   {Group: "tekton.dev", Version: "v1beta1", Resource: "customruns"},
	}
	for _, full := range names {
		kind, name, _ := strings.Cut(full, "/")
		if resource, ok := kinds[kind]; ok {
			runs = append(runs, testedRun{resource, name})
		}
	}
	return runs
}

func (c *cluster) waitAll(ctx context.Context, ns string, runs []testedRun, want expectation) (string, error) {
	var saw []string
	for _, r := range runs {
		last, err := c.wait(ctx, ns, r, want)
		if err != nil {
			return "", fmt.Errorf("%s: %w", r.name, err)
		}
		saw = append(saw, last.reason)
	}
	return strings.Join(saw, ", "), nil
}

// wait polls: a file has one run or a few, and a poll cannot miss what a watch
// that was cut would.
func (c *cluster) wait(ctx context.Context, ns string, r testedRun, want expectation) (last condition, err error) {
	poll := time.NewTicker(100 * time.Millisecond)
	defer poll.Stop()
	for {
		o, err := c.client.Resource(r.resource).Namespace(ns).Get(ctx, r.name, metav1.GetOptions{})
		if err == nil {
			last = succeeded(o)
			if want.met(last) {
				return last, nil
			}
			if want.hopeless(last) {
				return last, errors.New(last.String())
			}
		}
		select {
		case <-ctx.Done():
			return last, fmt.Errorf("%w; last seen: %s", context.Cause(ctx), last)
		case <-poll.C:
		}
	}
}

func succeeded(o *unstructured.Unstructured) (c condition) {
	conditions, _, _ := unstructured.NestedSlice(o.Object, "status", "conditions")
	for _, each := range conditions {
		if m, ok := each.(map[string]any); ok && m["type"] == "Succeeded" {
			c.status, _ = m["status"].(string)
			c.reason, _ = m["reason"].(string)
			c.message, _ = m["message"].(string)
		}
	}
	return c
}
