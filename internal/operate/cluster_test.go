//go:build e2e

package operate

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"
	coordination "k8s.io/client-go/kubernetes/typed/coordination/v1"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"millrace/crds"
)

const (
	system      = "tekton-pipelines"
	controller  = "system:serviceaccount:" + system + ":millrace-controller"
	leaderLease = "millrace-controller"
)

// A cluster is the devcluster that operate.sh has started, as its administrator sees it.
type cluster struct {
	core   typedcorev1.CoreV1Interface
	leases coordination.LeaseInterface
	tekton rest.Interface
	audit  string // the API server's log
	disk   string // what pods see as /tmp/hostpath_pv
}

func newCluster(t *testing.T) *cluster {
	t.Helper()
	c := &cluster{audit: os.Getenv("AUDIT_LOG"), disk: os.Getenv("DISK")}
	if os.Getenv("KUBECONFIG") == "" || c.audit == "" || c.disk == "" {
		t.Fatal("KUBECONFIG, AUDIT_LOG and DISK name the cluster: make e2e-kill and make e2e-install set them")
	}
	rc, err := clientcmd.BuildConfigFromFlags("", os.Getenv("KUBECONFIG"))
	must(t, err)
	rc.QPS, rc.Timeout = -1, time.Minute
	core, err := typedcorev1.NewForConfig(rc)
	must(t, err)
	leases, err := coordination.NewForConfig(rc)
	must(t, err)
	c.core, c.leases = core, leases.Leases(system)
	rc.GroupVersion, rc.APIPath = &schema.GroupVersion{Group: crds.Group, Version: crds.Version}, "/apis"
	rc.NegotiatedSerializer = scheme.Codecs.WithoutConversion()
	c.tekton, err = rest.RESTClientFor(rc)
	must(t, err)
	return c
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// namespace makes one, and has it removed in the end, if it is there still.
func (c *cluster) namespace(t *testing.T, name string) {
	t.Helper()
	_, err := c.core.Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
	must(t, err)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if err := c.core.Namespaces().Delete(ctx, name, metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
			t.Error(err)
		}
	})
}

// within asks four times a second whether it is so, and ends the test when the time is up.
func within(t *testing.T, limit time.Duration, what string, is func() bool) {
	t.Helper()
	poll := time.NewTicker(time.Second / 4)
	defer poll.Stop()
	for end := time.After(limit); !is(); {
		select {
		case <-poll.C:
		case <-end:
			t.Fatalf("waited %v in vain for %s", limit, what)
		}
	}
}

// load is how many processes of the machine wanted a processor in the last minute.
func load() string {
	text, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return "?"
	}
	one, _, _ := strings.Cut(string(text), " ")
	return one
}

// number is a setting from the environment.
func number(t *testing.T, name string, otherwise int) int {
	t.Helper()
	text := os.Getenv(name)
	if text == "" {
		return otherwise
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		t.Fatalf("%s=%s is no number of at least one", name, text)
	}
	return n
}

// sayf prints a line of progress.
func sayf(format string, args ...any) {
	fmt.Printf("%s  "+format+"\n", append([]any{time.Now().Format("15:04:05")}, args...)...)
}
