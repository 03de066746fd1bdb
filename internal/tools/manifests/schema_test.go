package main

import (
	"bufio"
	"bytes"
	"cmp"
	"errors"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	monitoringv1 "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/yaml"
)

const (
	image, version = "registry.example:5000/ci/millrace:v1", "v0.1.0-0-gabcdef1"
	runbooks       = "https://git.example/ci/millrace/docs/operating.md?plain=0"
)

// decoder refuses fields that the types do not have, and those that are there twice.
func decoder(t *testing.T) runtime.Decoder {
	t.Helper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		corev1.AddToScheme, appsv1.AddToScheme, rbacv1.AddToScheme, policyv1.AddToScheme, networkingv1.AddToScheme,
		admissionv1.AddToScheme, apiextensionsv1.AddToScheme, monitoringv1.AddToScheme,
	} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	return serializer.NewCodecFactory(scheme, serializer.EnableStrict).UniversalDeserializer()
}

// rendered is each object of a file.
func rendered(t *testing.T, overlay string) (objects []runtime.Object) {
	t.Helper()
	roots, err := Overlays(tree)
	if err != nil {
		t.Fatal(err)
	}
	text, err := Render(roots[overlay], Release{Image: image, Version: version, Runbooks: runbooks})
	if err != nil {
		t.Fatal(err)
	}
	return decoded(t, overlay, text)
}

// decoded is each object of a text, decoded strictly.
func decoded(t *testing.T, what string, text []byte) (objects []runtime.Object) {
	t.Helper()
	decode := decoder(t)
	for docs := yaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(text))); ; {
		doc, err := docs.Read()
		if errors.Is(err, io.EOF) {
			return objects
		} else if err != nil {
			t.Fatal(err)
		}
		object, _, err := decode.Decode(doc, nil, nil)
		if err != nil {
			t.Fatalf("%s: %v\n%s", what, err, doc)
		}
		objects = append(objects, object)
	}
}

// withComponent is the overlay ha with a component, as a user puts it above: one with
// nothing but patches is nothing by itself.
func withComponent(t *testing.T, name string) []runtime.Object {
	t.Helper()
	above := t.TempDir()
	text, err := kustomization(above, filepath.Join(tree, "overlays", "ha"), Release{Image: image, Version: version})
	if err != nil {
		t.Fatal(err)
	}
	overlay := regexp.MustCompile(`resources: \[(.*)\]`).FindStringSubmatch(text)[1]
	text += "components: [" + filepath.Join(overlay, "..", "..", "components", name) + "]\n"
	if err := os.WriteFile(filepath.Join(above, "kustomization.yaml"), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	built, err := build(above)
	if err != nil {
		t.Fatal(err)
	}
	return decoded(t, name, built)
}

// of are the objects of one type.
func of[T any](objects []runtime.Object) (found []*T) {
	for _, each := range objects {
		if object, is := any(each).(*T); is {
			found = append(found, object)
		}
	}
	return found
}

// the is the one object of its type.
func the[T any](t *testing.T, objects []runtime.Object) *T {
	t.Helper()
	found := of[T](objects)
	if len(found) != 1 {
		t.Fatalf("there are %d of %T: want one", len(found), *new(T))
	}
	return found[0]
}

// overlays are the objects of each.
type overlays map[string][]runtime.Object

// Each is rendered once for all of these: that takes longer than to look at it.
func TestOverlays(t *testing.T) {
	in := overlays{}
	roots, err := Overlays(tree)
	if err != nil {
		t.Fatal(err)
	}
	for name := range roots {
		in[name] = rendered(t, name)
	}
	components, err := os.ReadDir(filepath.Join(tree, "components"))
	if err != nil {
		t.Fatal(err)
	}
	for _, each := range components {
		in["ha with "+each.Name()] = withComponent(t, each.Name())
	}
	t.Run("EachObjectIsWhatTheTypesSay", func(t *testing.T) { eachObjectIsWhatTheTypesSay(t, in) })
	t.Run("SelectorsFindThePodsAndPortsAreTheirs", func(t *testing.T) { selectorsFindThePodsAndPortsAreTheirs(t, in) })
	t.Run("TwoReplicasHaveALeader", func(t *testing.T) { twoReplicasHaveALeader(t, in) })
	t.Run("ReplicasThatShareHaveAShardEach", func(t *testing.T) { replicasThatShareHaveAShardEach(t, in) })
	t.Run("TheImageIsTheOneThatWasAskedFor", func(t *testing.T) { theImageIsTheOneThatWasAskedFor(t, in) })
	t.Run("TheRuntimeIsToldLessThanTheContainerMayHave", func(t *testing.T) { theRuntimeIsToldLessThanTheContainerMayHave(t, in) })
	t.Run("ANamespaceNeedsNoRightBeyondIt", func(t *testing.T) { aNamespaceNeedsNoRightBeyondIt(t, in) })
	t.Run("WhoMaySpeakToTheController", func(t *testing.T) { whoMaySpeakToTheController(t, in) })
	t.Run("WhoMayEditMayEditRuns", func(t *testing.T) { whoMayEditMayEditRuns(t, in) })
	t.Run("WhoMayLookAtDebugMayNothingElse", func(t *testing.T) { whoMayLookAtDebugMayNothingElse(t, in) })
}

func eachObjectIsWhatTheTypesSay(t *testing.T, in overlays) {
	t.Helper()
	least := map[string]int{"single": 28, "ha": 29, "sharded": 31, "namespaced": 8, "monitoring": 3, "crds": 7,
		"ha with monitoring": 32, "ha with tracing": 29}
	for name := range least {
		if in[name] == nil {
			t.Errorf("%s is not rendered", name)
		}
	}
	for overlay, objects := range in {
		if want := cmp.Or(least[overlay], least["single"]); len(objects) < want {
			t.Errorf("%s: has %d objects: want %d at least", overlay, len(objects), want)
		}
		for _, each := range objects {
			object, is := each.(metav1.Object)
			if !is || object.GetLabels()["app.kubernetes.io/version"] != version || object.GetLabels()["app.kubernetes.io/part-of"] != "millrace" {
				t.Errorf("%s: %T %s has not the labels of all objects: %v", overlay, each, object.GetName(), object.GetLabels())
			}
		}
	}
}

// A decoder that took everything would make the test above pass.
func TestAnUnknownFieldIsRefused(t *testing.T) {
	for _, doc := range []string{
		"apiVersion: policy/v1\nkind: PodDisruptionBudget\nspec: {maxUnavailible: 1}",
		"apiVersion: monitoring.coreos.com/v1\nkind: PodMonitor\nspec: {podMetricsEndpoints: [{ports: metrics}]}",
		"apiVersion: v1\nkind: Service\nspec: {type: ClusterIP, type: NodePort}",
	} {
		if _, _, err := decoder(t).Decode([]byte(doc), nil, nil); !runtime.IsStrictDecodingError(err) {
			t.Errorf("%v:\n%s", err, doc)
		}
	}
}

// A file that no kustomization names is installed by nobody.
func TestEveryFileIsNamed(t *testing.T) {
	n := 0
	err := filepath.WalkDir(tree, func(path string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() || entry.Name() == "kustomization.yaml" {
			return err
		}
		n++
		text, err := os.ReadFile(filepath.Join(filepath.Dir(path), "kustomization.yaml"))
		if err != nil {
			return err
		}
		if !strings.Contains(string(text), entry.Name()) {
			t.Errorf("%s is named in no kustomization", path)
		}
		return nil
	})
	if err != nil || n < 10 {
		t.Errorf("looked at %d files: %v", n, err)
	}
}

// Whatever selects the controller's pods by labels, or names one of their ports, finds
// it: a policy that selects nothing protects nobody, and no server complains.
func selectorsFindThePodsAndPortsAreTheirs(t *testing.T, in overlays) {
	t.Helper()
	objects := slices.Concat(in["ha"], in["monitoring"])
	pod := the[appsv1.Deployment](t, objects).Spec.Template
	ports := map[string]bool{}
	for _, p := range pod.Spec.Containers[0].Ports {
		ports[p.Name] = true
	}
	finds := func(what string, selector *metav1.LabelSelector, names ...string) {
		t.Helper()
		s, err := metav1.LabelSelectorAsSelector(selector)
		if err != nil || s.Empty() || !s.Matches(labels.Set(pod.Labels)) {
			t.Errorf("%s: %v selects not the pods of the Deployment (%v): %v", what, selector, pod.Labels, err)
		}
		for _, name := range names {
			if !ports[name] {
				t.Errorf("%s: the pods have no port %q", what, name)
			}
		}
	}
	for _, service := range of[corev1.Service](objects) {
		for _, p := range service.Spec.Ports {
			finds("Service "+service.Name, &metav1.LabelSelector{MatchLabels: service.Spec.Selector}, p.TargetPort.String())
		}
	}
	policy := the[networkingv1.NetworkPolicy](t, objects)
	for _, rule := range policy.Spec.Ingress {
		for _, p := range rule.Ports {
			finds("NetworkPolicy", &policy.Spec.PodSelector, p.Port.String())
		}
	}
	monitor := the[monitoringv1.PodMonitor](t, objects)
	finds("PodMonitor", &monitor.Spec.Selector, *monitor.Spec.PodMetricsEndpoints[0].Port)
	if job := pod.Labels[monitor.Spec.JobLabel]; job != "millrace" {
		t.Errorf("the job of the metrics is %q, and rules ask for millrace", job)
	}
	finds("PodDisruptionBudget", the[policyv1.PodDisruptionBudget](t, objects).Spec.Selector)
	for _, spread := range pod.Spec.TopologySpreadConstraints {
		finds("spread over "+spread.TopologyKey, spread.LabelSelector)
	}
	if len(pod.Spec.TopologySpreadConstraints) != 2 {
		t.Errorf("pods are spread over %d topologies: want nodes and zones", len(pod.Spec.TopologySpreadConstraints))
	}
}

func twoReplicasHaveALeader(t *testing.T, in overlays) {
	t.Helper()
	deployment := the[appsv1.Deployment](t, in["ha"])
	if n := *deployment.Spec.Replicas; n != 2 {
		t.Errorf("there are %d replicas", n)
	}
	if args := deployment.Spec.Template.Spec.Containers[0].Args; !slices.Contains(args, "--leader-elect=true") {
		t.Errorf("nobody is elected: %v", args)
	}
	if budget := the[policyv1.PodDisruptionBudget](t, in["ha"]).Spec.MaxUnavailable; *budget != intstr.FromInt32(1) {
		t.Errorf("%v may be unavailable", budget)
	}
}

func theImageIsTheOneThatWasAskedFor(t *testing.T, in overlays) {
	t.Helper()
	container := the[appsv1.Deployment](t, in["single"]).Spec.Template.Spec.Containers[0]
	if container.Image != image {
		t.Errorf("the image is %q, want %q", container.Image, image)
	}
	digest := "@sha256:" + strings.Repeat("0", 64)
	for name, want := range map[string]string{
		"a/b":            `{name: millrace, newName: "a/b", newTag: "latest"}`,
		"host:5000/a":    `{name: millrace, newName: "host:5000/a", newTag: "latest"}`,
		"a:v1":           `{name: millrace, newName: "a", newTag: "v1"}`,
		"a:v1" + digest:  `{name: millrace, newName: "a", digest: "` + digest[1:] + `"}`,
		"h:1/a" + digest: `{name: millrace, newName: "h:1/a", digest: "` + digest[1:] + `"}`,
	} {
		if got := imageOf(name); got != want {
			t.Errorf("%s is %s, want %s", name, got, want)
		}
	}
}

// The Go runtime knows nothing of a cgroup's memory. It is told a limit that is made of
// the container's, whatever that is patched to, and a little less: pages of the kernel
// and of the program's file count as well.
func theRuntimeIsToldLessThanTheContainerMayHave(t *testing.T, in overlays) {
	t.Helper()
	container := the[appsv1.Deployment](t, in["single"]).Spec.Template.Spec.Containers[0]
	limit := container.Resources.Limits.Memory()
	var mebibytes string
	for _, env := range container.Env {
		switch {
		case env.ValueFrom != nil && env.ValueFrom.ResourceFieldRef != nil:
			if ref := env.ValueFrom.ResourceFieldRef; ref.Resource != "limits.memory" || ref.Divisor.String() != "1Mi" {
				t.Errorf("%s is %s by %s", env.Name, ref.Resource, ref.Divisor.String())
			}
			mebibytes = env.Name
		case env.Name == "GOMEMLIMIT":
			if mebibytes == "" || env.Value != "$("+mebibytes+")000000" {
				t.Errorf("GOMEMLIMIT is %s, after %q", env.Value, mebibytes)
			}
			told := limit.Value() / (1 << 20) * 1_000_000
			if share := float64(told) / float64(limit.Value()); share < 0.9 || share > 0.96 {
				t.Errorf("the runtime is told %.2f of the limit", share)
			}
			return
		}
	}
	t.Error("GOMEMLIMIT is not set")
}

func whoMaySpeakToTheController(t *testing.T, in overlays) {
	t.Helper()
	policy := the[networkingv1.NetworkPolicy](t, in["single"])
	open := map[string]bool{}
	for _, rule := range policy.Spec.Ingress {
		for _, p := range rule.Ports {
			open[p.Port.String()] = len(rule.From) == 0
		}
	}
	if everybody, is := open["webhook"]; !is || !everybody {
		t.Error("an API server cannot reach the webhook from wherever it is")
	}
	if everybody, is := open["debug"]; !is || !everybody {
		t.Error("an API server's proxy cannot reach /debug from wherever it is")
	}
	if everybody, is := open["metrics"]; !is || everybody {
		t.Error("metrics are not for the monitoring's namespaces alone")
	}
	if len(open) != 3 || len(policy.Spec.Egress) != 1 || len(policy.Spec.Egress[0].Ports)+len(policy.Spec.Egress[0].To) != 0 {
		t.Errorf("the policy is another: %v, %v", open, policy.Spec.Egress)
	}
}

// A token of this ServiceAccount passes through hands that are not its owner's.
func whoMayLookAtDebugMayNothingElse(t *testing.T, in overlays) {
	t.Helper()
	const name = "millrace-debug"
	var roles []string
	for _, binding := range of[rbacv1.ClusterRoleBinding](in["single"]) {
		for _, subject := range binding.Subjects {
			if subject.Name == name {
				roles = append(roles, binding.RoleRef.Name)
			}
		}
	}
	for _, binding := range of[rbacv1.RoleBinding](in["single"]) {
		for _, subject := range binding.Subjects {
			if subject.Name == name {
				t.Errorf("it has the Role %s as well", binding.RoleRef.Name)
			}
		}
	}
	if !slices.Equal(roles, []string{name}) {
		t.Fatalf("its ClusterRoles are %v", roles)
	}
	for _, role := range of[rbacv1.ClusterRole](in["single"]) {
		if role.Name != name {
			continue
		}
		want := []rbacv1.PolicyRule{{Verbs: []string{"get"}, NonResourceURLs: []string{"/debug/*"}}}
		if !reflect.DeepEqual(role.Rules, want) {
			t.Errorf("its rules are %v", role.Rules)
		}
		return
	}
	t.Error("there is no ClusterRole of that name")
}
