// Bench measures what Millrace adds to a pod: it creates a bare pod, a
// one-step TaskRun with a command and one with a script, one after another,
// again and again on one cluster, and prints how long each took from the
// create call to the watch event that says Succeeded. Of the pod it also
// measures the event that says that its container has ended, which comes
// earlier, and is all that a TaskRun waits for.
//
//	bench [-n 20] [-image busybox] [-audit FILE]
//
// With the API server's audit log it also prints the controller's API calls
// for each TaskRun, events aside.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"os/signal"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/clientcmd"

	"millrace/internal/audit"
)

func namespaces() schema.GroupVersionResource {
	return schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}
}

func pods() schema.GroupVersionResource {
	return schema.GroupVersionResource{Version: "v1", Resource: "pods"}
}

func taskRuns() schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: "tekton.dev", Version: "v1", Resource: "taskruns"}
}

const controller = "system:serviceaccount:tekton-pipelines:millrace-controller"

func main() {
	n := flag.Int("n", 20, "how often each is measured")
	image := flag.String("image", "busybox", "image of the step and of the pod")
	log := flag.String("audit", "", "the API server's audit log, to count the controller's calls")
	flag.Parse()
	if err := run(*n, *image, *log); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// A contender is one way to run the same container.
type contender struct {
	name     string
	resource schema.GroupVersionResource
	object   func(image string) map[string]any
	done     func(*unstructured.Unstructured) (bool, error)
	took     []time.Duration
}

func contenders() []*contender {
	return []*contender{
		{name: "bare pod", resource: pods(), object: barePod, done: podDone},
		{name: "bare pod, container", resource: pods(), object: barePod, done: containerDone},
		{name: "TaskRun, command", resource: taskRuns(), object: taskRun(map[string]any{"command": command()}), done: runDone},
		{name: "TaskRun, script", resource: taskRuns(), object: taskRun(map[string]any{"script": "sleep 0.5\n"}), done: runDone},
	}
}

func run(n int, image, log string) error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	config, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(
		clientcmd.NewDefaultClientConfigLoadingRules(), nil).ClientConfig()
	if err != nil {
		return fmt.Errorf("no cluster to measure on: %w (set KUBECONFIG)", err)
	}
	config.QPS = -1
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return err
	}
	ns, err := client.Resource(namespaces()).Create(ctx, object("v1", "Namespace", "bench-", nil), metav1.CreateOptions{})
	if err != nil {
		return fmt.Errorf("making a namespace: %w", err)
	}
	defer client.Resource(namespaces()).Delete(context.WithoutCancel(ctx), ns.GetName(), metav1.DeleteOptions{}) //nolint:errcheck // the cluster is a test's
	all := contenders()
	if err := measure(ctx, client, ns.GetName(), image, n, all); err != nil {
		return err
	}
	report(all)
	if log == "" {
		return nil
	}
	return reportCalls(log, ns.GetName(), 2*(n+1))
}

// measure takes turns, so that what else the machine does hits all alike. The
// first turn is not counted: it pulls images and warms caches.
func measure(ctx context.Context, client dynamic.Interface, ns, image string, n int, all []*contender) error {
	for turn := range n + 1 {
		for _, c := range all {
			took, err := once(ctx, client.Resource(c.resource).Namespace(ns), c, image)
			if err != nil {
				return fmt.Errorf("%s, turn %d: %w", c.name, turn, err)
			}
			if turn > 0 {
				c.took = append(c.took, took)
			}
		}
		fmt.Fprintf(os.Stderr, "\rturn %d of %d", turn, n)
	}
	fmt.Fprint(os.Stderr, "\r\033[K")
	return nil
}

func once(ctx context.Context, client dynamic.ResourceInterface, c *contender, image string) (time.Duration, error) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	body := &unstructured.Unstructured{Object: c.object(image)}
	start := time.Now()
	made, err := client.Create(ctx, body, metav1.CreateOptions{})
	if err != nil {
		return 0, err
	}
	w, err := client.Watch(ctx, metav1.ListOptions{
		FieldSelector: "metadata.name=" + made.GetName(), ResourceVersion: made.GetResourceVersion()})
	if err != nil {
		return 0, err
	}
	defer w.Stop()
	for e := range w.ResultChan() {
		o, ok := e.Object.(*unstructured.Unstructured)
		if !ok {
			continue
		}
		if done, err := c.done(o); done || err != nil {
			return time.Since(start), err
		}
	}
	return 0, errors.New("the watch ended before the end")
}

func object(apiVersion, kind, prefix string, spec map[string]any) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": apiVersion, "kind": kind, "metadata": map[string]any{"generateName": prefix}, "spec": spec}}
}

func barePod(image string) map[string]any {
	return object("v1", "Pod", "pod-", map[string]any{"restartPolicy": "Never", "containers": []any{
		map[string]any{"name": "step", "image": image, "command": command()}}}).Object
}

func taskRun(what map[string]any) func(string) map[string]any {
	return func(image string) map[string]any {
		step := map[string]any{"name": "step", "image": image}
		maps.Copy(step, what)
		return object("tekton.dev/v1", "TaskRun", "run-", map[string]any{
			"taskSpec": map[string]any{"steps": []any{step}}}).Object
	}
}

// command lasts long enough for kubelet to see it run: a container that is gone
// before its start was noticed is found by the next full look only, which can
// take a second and has nothing to do with us.
func command() []any { return []any{"sleep", "0.5"} }

func podDone(o *unstructured.Unstructured) (bool, error) {
	switch phase, _, _ := unstructured.NestedString(o.Object, "status", "phase"); phase {
	case "Succeeded":
		return true, nil
	case "Failed":
		return false, errors.New("the pod failed")
	}
	return false, nil
}

// containerDone is what a TaskRun is made of: kubelet tells first that the
// container has ended, and ends the pod up to a second later.
func containerDone(o *unstructured.Unstructured) (bool, error) {
	statuses, _, _ := unstructured.NestedSlice(o.Object, "status", "containerStatuses")
	for _, each := range statuses {
		status, _ := each.(map[string]any)
		if code, ended, _ := unstructured.NestedInt64(status, "state", "terminated", "exitCode"); ended {
			if code != 0 {
				return false, fmt.Errorf("the container failed with code %d", code)
			}
			return true, nil
		}
	}
	return podDone(o)
}

func runDone(o *unstructured.Unstructured) (bool, error) {
	conditions, _, _ := unstructured.NestedSlice(o.Object, "status", "conditions")
	for _, each := range conditions {
		c, ok := each.(map[string]any)
		if !ok || c["type"] != "Succeeded" {
			continue
		}
		switch c["status"] {
		case "True":
			return true, nil
		case "False":
			return false, fmt.Errorf("the TaskRun failed: %v: %v", c["reason"], c["message"])
		}
	}
	return false, nil
}

func report(all []*contender) {
	fmt.Printf("%-20s  %8s  %8s  %8s  %14s  %s\n", "create→Succeeded", "median", "min", "max", "over the pod", "over its container")
	pod, container := median(all[0].took), median(all[1].took)
	for i, c := range all {
		m := median(c.took)
		more := ""
		if i > 1 {
			more = fmt.Sprintf("%+11d ms  %+15d ms", (m - pod).Milliseconds(), (m - container).Milliseconds())
		}
		fmt.Printf("%-20s  %5d ms  %5d ms  %5d ms  %s\n", c.name, m.Milliseconds(),
			slices.Min(c.took).Milliseconds(), slices.Max(c.took).Milliseconds(), more)
	}
}

func median(d []time.Duration) time.Duration {
	sorted := slices.Sorted(slices.Values(d))
	return (sorted[(len(sorted)-1)/2] + sorted[len(sorted)/2]) / 2
}

func reportCalls(log, ns string, runs int) error {
	calls, err := audit.Calls(log, controller, ns)
	if err != nil {
		return err
	}
	total := 0
	var kinds []string
	for kind, n := range calls {
		total += n
		kinds = append(kinds, fmt.Sprintf("%s %.1f", kind, float64(n)/float64(runs)))
	}
	slices.Sort(kinds)
	fmt.Printf("API calls by the controller for each TaskRun, events aside: %.1f (%s)\n", float64(total)/float64(runs), strings.Join(kinds, ", "))
	return nil
}
