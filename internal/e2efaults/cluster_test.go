//go:build e2e

package e2efaults

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"
	admission "k8s.io/client-go/kubernetes/typed/admissionregistration/v1"
	coordination "k8s.io/client-go/kubernetes/typed/coordination/v1"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	typedrbacv1 "k8s.io/client-go/kubernetes/typed/rbac/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/yaml"

	"millrace/crds"
)

// A cluster is the devcluster that faults.sh has started, as its administrator
// sees it: not through any proxy.
type cluster struct {
	core      typedcorev1.CoreV1Interface
	rbac      typedrbacv1.RbacV1Interface
	leases    coordination.CoordinationV1Interface
	hooks     admission.AdmissionregistrationV1Interface
	witness   *witness
	tekton    rest.Interface
	server    *url.URL
	transport http.RoundTripper // without credentials

	root    string // of the repository
	state   string // of the cluster: its folder
	program string
	image   string // that holds the entrypoint
}

func newCluster() (*cluster, error) {
	c := &cluster{state: os.Getenv("CLUSTER"), program: os.Getenv("PROGRAM"), image: os.Getenv("IMAGE")}
	if c.state == "" || c.program == "" || c.image == "" {
		return nil, fmt.Errorf("CLUSTER, PROGRAM and IMAGE say what to try, and on what: make e2e-faults sets them")
	}
	root, err := filepath.Abs("../..")
	if err != nil {
		return nil, err
	}
	c.root = root
	rc, err := clientcmd.BuildConfigFromFlags("", filepath.Join(c.state, "kubeconfig"))
	if err != nil {
		return nil, err
	}
	rc.QPS, rc.Timeout = -1, 15*time.Second
	if c.core, err = typedcorev1.NewForConfig(rc); err != nil {
		return nil, err
	}
	if c.rbac, err = typedrbacv1.NewForConfig(rc); err != nil {
		return nil, err
	}
	if c.leases, err = coordination.NewForConfig(rc); err != nil {
		return nil, err
	}
	if c.hooks, err = admission.NewForConfig(rc); err != nil {
		return nil, err
	}
	c.witness = newWitness(c.core)
	tekton := rest.CopyConfig(rc)
	tekton.GroupVersion, tekton.APIPath = &schema.GroupVersion{Group: crds.Group, Version: crds.Version}, "/apis"
	tekton.NegotiatedSerializer = scheme.Codecs.WithoutConversion()
	if c.tekton, err = rest.RESTClientFor(tekton); err != nil {
		return nil, err
	}
	if c.server, err = url.Parse(rc.Host); err != nil {
		return nil, err
	}
	c.transport, err = rest.TransportFor(rest.AnonymousClientConfig(rc))
	return c, err
}

// admit makes a namespace with all that the shipped RBAC gives a controller: the
// names in it are the namespace's, so that scenarios do not share rights.
func (c *cluster) admit(ctx context.Context, ns string) error {
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: ns}}
	if _, err := c.core.Namespaces().Create(ctx, namespace, metav1.CreateOptions{}); err != nil {
		return err
	}
	text, err := os.ReadFile(filepath.Join(c.root, "manifests/base/rbac.yaml"))
	if err != nil {
		return err
	}
	for doc := range bytes.SplitSeq(text, []byte("\n---\n")) {
		if err := c.grant(ctx, ns, doc); err != nil {
			return fmt.Errorf("shipped RBAC: %w", err)
		}
	}
	return nil
}

func (c *cluster) grant(ctx context.Context, ns string, doc []byte) error {
	var kind metav1.TypeMeta
	if err := yaml.Unmarshal(doc, &kind); err != nil {
		return err
	}
	made := metav1.CreateOptions{}
	switch kind.Kind {
	case "ServiceAccount":
		account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: account}}
		_, err := c.core.ServiceAccounts(ns).Create(ctx, account, made)
		return err
	case "ClusterRole":
		role := &rbacv1.ClusterRole{}
		if err := yaml.Unmarshal(doc, role); err != nil {
			return err
		}
		role.Name = own(ns, role.Name)
		_, err := c.rbac.ClusterRoles().Create(ctx, role, made)
		return err
	case "ClusterRoleBinding":
		binding := &rbacv1.ClusterRoleBinding{}
		if err := yaml.Unmarshal(doc, binding); err != nil {
			return err
		}
		binding.Name, binding.RoleRef.Name, binding.Subjects[0].Namespace = own(ns, binding.Name), own(ns, binding.RoleRef.Name), ns
		_, err := c.rbac.ClusterRoleBindings().Create(ctx, binding, made)
		return err
	case "Role":
		role := &rbacv1.Role{}
		if err := yaml.Unmarshal(doc, role); err != nil {
			return err
		}
		role.Namespace = ns
		_, err := c.rbac.Roles(ns).Create(ctx, role, made)
		return err
	case "RoleBinding":
		binding := &rbacv1.RoleBinding{}
		if err := yaml.Unmarshal(doc, binding); err != nil {
			return err
		}
		binding.Namespace, binding.Subjects[0].Namespace = ns, ns
		_, err := c.rbac.RoleBindings(ns).Create(ctx, binding, made)
		return err
	default:
		return fmt.Errorf("what is a %q?", kind.Kind)
	}
}

// account is the name of the ServiceAccount in the shipped RBAC, and of the ClusterRole
// for runs; unbounded is the one for what is in no namespace.
const account, unbounded = "millrace-controller", "millrace-cluster"

// own is a name of the shipped RBAC as a namespace has it for itself.
func own(ns, name string) string {
	if name == account {
		return ns
	}
	return ns + "-" + name
}

// dismiss takes away what admit has made, and all that is in the namespace.
func (c *cluster) dismiss(ctx context.Context, ns string) error {
	for _, err := range []error{
		c.rbac.ClusterRoleBindings().Delete(ctx, ns, metav1.DeleteOptions{}),
		c.rbac.ClusterRoles().Delete(ctx, ns, metav1.DeleteOptions{}),
		c.rbac.ClusterRoleBindings().Delete(ctx, own(ns, unbounded), metav1.DeleteOptions{}),
		c.rbac.ClusterRoles().Delete(ctx, own(ns, unbounded), metav1.DeleteOptions{}),
		c.core.Namespaces().Delete(ctx, ns, metav1.DeleteOptions{}),
	} {
		if err != nil {
			return err
		}
	}
	return nil
}

// pid is the process of a part of the control plane, which devcluster started.
func (c *cluster) pid(part string) (int, error) {
	text, err := os.ReadFile(filepath.Join(c.state, "pid", part))
	if err != nil {
		return 0, err
	}
	var pid int
	var started uint64
	if _, err := fmt.Sscan(string(text), &pid, &started); err != nil {
		return 0, err
	}
	if now, err := startOf(pid); err != nil || now != started {
		return 0, fmt.Errorf("%s does not run", part)
	}
	return pid, nil
}

// startOf is when a process was started (proc(5), stat, field 22): a pid alone may
// by now be another's.
func startOf(pid int) (started uint64, err error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, err
	}
	_, fields, _ := strings.Cut(string(text), ") ")
	words := strings.Fields(fields)
	if len(words) < 20 {
		return 0, fmt.Errorf("stat of %d: %q", pid, text)
	}
	_, err = fmt.Sscan(words[19], &started)
	return started, err
}

func (c *cluster) kill(part string, signal syscall.Signal) error {
	pid, err := c.pid(part)
	if err != nil {
		return err
	}
	return syscall.Kill(pid, signal)
}

// kubelet is its process: a child of the node's first one.
func (c *cluster) kubelet() (int, error) {
	node, err := c.pid("node")
	if err != nil {
		return 0, err
	}
	for _, first := range childrenOf(node) {
		for _, pid := range childrenOf(first) {
			if comm, err := os.ReadFile(fmt.Sprintf("/proc/%d/comm", pid)); err == nil && strings.TrimSpace(string(comm)) == "kubelet" {
				return pid, nil
			}
		}
	}
	return 0, fmt.Errorf("the node has no kubelet")
}

func childrenOf(pid int) (children []int) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", pid, pid))
	if err != nil {
		return nil
	}
	for word := range strings.FieldsSeq(string(text)) {
		var child int
		if _, err := fmt.Sscan(word, &child); err == nil {
			children = append(children, child)
		}
	}
	return children
}

// mend starts what has died.
func (c *cluster) mend(ctx context.Context) error { return c.sh(ctx, "devcluster/up.sh") }

// sh runs a command in the repository, where KUBECONFIG and NAME mean this cluster.
func (c *cluster) sh(ctx context.Context, command string, args ...string) error {
	cmd := exec.CommandContext(ctx, command, args...)
	cmd.Dir = c.root
	cmd.Env = append(os.Environ(), "NAME="+filepath.Base(c.state), "KUBECONFIG="+filepath.Join(c.state, "kubeconfig"))
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w: %s", cmd, err, out)
	}
	return nil
}

// etcd asks etcd itself, through its gateway for JSON.
func (c *cluster) etcd(ctx context.Context, path string, ask, answer any) error {
	body, err := json.Marshal(ask)
	if err != nil {
		return err
	}
	out, err := c.curlEtcd(ctx, path, body, 1)
	if err != nil {
		return err
	}
	return json.Unmarshal(out, answer)
}

// etcdOften asks the same n times, and looks at no answer.
func (c *cluster) etcdOften(ctx context.Context, path, ask string, n int) error {
	_, err := c.curlEtcd(ctx, path, []byte(ask), n)
	return err
}

func (c *cluster) curlEtcd(ctx context.Context, path string, body []byte, n int) ([]byte, error) {
	node, err := c.pid("node")
	if err != nil {
		return nil, err
	}
	args := []string{fmt.Sprintf("--net=/proc/%d/ns/net", node), "curl", "-sf", "-d", string(body)}
	for range n {
		args = append(args, "http://127.0.0.1:2379/v3/"+path)
	}
	cmd := exec.CommandContext(ctx, "nsenter", args...)
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("asking etcd for %s: %w", path, err)
	}
	return out, nil
}

// revision is the number of etcd's last change.
func (c *cluster) revision(ctx context.Context) (int, error) {
	var now struct {
		Header struct{ Revision string }
	}
	if err := c.etcd(ctx, "kv/range", map[string]any{"key": "AA=="}, &now); err != nil {
		return 0, err
	}
	return strconv.Atoi(now.Header.Revision)
}

// compact has etcd forget every version but the last one.
func (c *cluster) compact(ctx context.Context) error {
	now, err := c.revision(ctx)
	if err != nil {
		return err
	}
	return c.etcd(ctx, "kv/compaction", map[string]any{"revision": now, "physical": true}, &struct{}{})
}
