package oracle

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	apiresource "k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// object is one state of an object as the server has it.
type object struct {
	key     types.NamespacedName
	uid     types.UID
	version int
	item    []byte // as a list shows it
}

// newObject makes up fields. The same key, UID and version have the same fields,
// on both servers.
func (r resource) newObject(key types.NamespacedName, uid types.UID, version int) object {
	random := rand.New(rand.NewPCG(uint64(version), uint64(len(uid))))
	meta := metav1.ObjectMeta{
		Namespace: key.Namespace, Name: key.Name, UID: uid, ResourceVersion: strconv.Itoa(version), Generation: int64(version),
		CreationTimestamp: metav1.NewTime(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)),
		Labels:            map[string]string{"colour": colours[random.IntN(3)], "managedFields": "a trap"},
		Annotations:       someAnnotations(random),
	}
	if random.IntN(2) == 0 {
		meta.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "m", FieldsV1: metav1.NewFieldsV1(`{"f:metadata":{}}`)}}
	}
	if random.IntN(3) == 0 {
		of := types.UID(fmt.Sprint("owner-", random.IntN(2)))
		meta.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "Any", Name: "o", UID: of}}
	}
	if r.typed {
		return object{key, uid, version, r.encode(somePod(random, meta))}
	}
	fields := map[string]any{"metadata": meta, "spec": someValue(random, 3), "status": someValue(random, 2)}
	return object{key, uid, version, mustMarshal(fields)}
}

// encode is a pod as a list shows it.
func (r resource) encode(pod *corev1.Pod) []byte {
	if r.protobuf() {
		return marshal(pod)
	}
	return mustMarshal(pod)
}

func mustMarshal(v any) []byte {
	raw, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return raw
}

func someAnnotations(r *rand.Rand) map[string]string {
	annotations := map[string]string{}
	if r.IntN(2) == 0 {
		annotations[lastApplied] = `{"a":"\"b"}`
	}
	if r.IntN(2) == 0 {
		annotations["note"] = "é \u2028 \"quoted\" \\ </script> \x01 𝄞"
	}
	return annotations
}

// somePod is a pod of which each part is there or not.
func somePod(r *rand.Rand, meta metav1.ObjectMeta) *corev1.Pod {
	pod := &corev1.Pod{ObjectMeta: meta}
	some := func(do func()) {
		if r.IntN(2) == 0 {
			do()
		}
	}
	some(func() { pod.Spec.NodeName = "node-é" })
	some(func() { pod.Spec.NodeSelector = map[string]string{"a": "", "": "b"} })
	some(func() { pod.Spec.TerminationGracePeriodSeconds = new(int64) })
	some(func() {
		pod.Spec.Tolerations = []corev1.Toleration{{Key: "k", TolerationSeconds: new(int64(-7))}}
	})
	for i := range r.IntN(3) {
		pod.Spec.Containers = append(pod.Spec.Containers, someContainer(fmt.Sprint("c", i), some))
	}
	some(func() { pod.Status.Phase = corev1.PodRunning })
	some(func() {
		pod.Status.Conditions = []corev1.PodCondition{{Type: "Ready", Status: "True", LastTransitionTime: meta.CreationTimestamp}}
	})
	some(func() {
		pod.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "c0", State: corev1.ContainerState{
			Terminated: &corev1.ContainerStateTerminated{ExitCode: -1, Message: `[{"key":"a"}]`},
		}}}
	})
	return pod
}

func someContainer(name string, some func(func())) corev1.Container {
	c := corev1.Container{Name: name}
	some(func() { c.Args = []string{"", "$(a)", "\xe2\x80\xa8"} })
	some(func() { c.Env = []corev1.EnvVar{{Name: "A", Value: "b"}, {Name: "EMPTY"}} })
	some(func() {
		c.Resources.Limits = corev1.ResourceList{"cpu": apiresource.MustParse("1500m"), "memory": apiresource.MustParse("1Gi")}
	})
	some(func() {
		c.LivenessProbe = &corev1.Probe{ProbeHandler: corev1.ProbeHandler{TCPSocket: &corev1.TCPSocketAction{Port: intstr.FromString("http")}}}
	})
	some(func() { c.SecurityContext = &corev1.SecurityContext{Privileged: new(bool)} })
	return c
}

// someValue is any JSON value, at most so deep.
func someValue(r *rand.Rand, depth int) any {
	leaves := []any{nil, true, "", "text", 0, -7, int64(1) << 53, 1.5, 1e21, "0x", "\t\n"}
	n := r.IntN(len(leaves) + 2*depth)
	switch {
	case n < len(leaves):
		return leaves[n]
	case n%2 == 0:
		list := []any{}
		for range r.IntN(3) {
			list = append(list, someValue(r, depth-1))
		}
		return list
	}
	fields := map[string]any{}
	for i := range r.IntN(4) {
		fields[[]string{"a", "metadata", "é", "managedFields"}[i]] = someValue(r, depth-1)
	}
	return fields
}
