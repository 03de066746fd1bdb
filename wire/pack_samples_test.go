package wire_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/json"

	"millrace/wire"
)

// samples writes pods and TaskRuns as a cluster has them: alike in shape,
// different in everything that a server, a kubelet or a runtime makes up.
type samples struct{ *rand.Rand }

func newSamples(seed uint64) samples { return samples{rand.New(rand.NewPCG(seed, 9))} }

func (s samples) hex(n int) string {
	b := make([]byte, n)
	for i := range b {
		b[i] = "0123456789abcdef"[s.IntN(16)]
	}
	return string(b)
}

func (s samples) suffix(n int) string {
	b := make([]byte, n)
	for i := range b {
		b[i] = "bcdfghjklmnpqrstvwxz2456789"[s.IntN(27)]
	}
	return string(b)
}

func (s samples) uid() types.UID {
	return types.UID(s.hex(8) + "-" + s.hex(4) + "-4" + s.hex(3) + "-a" + s.hex(3) + "-" + s.hex(12))
}

func (s samples) time() metav1.Time {
	return metav1.NewTime(time.Date(2026, 9, 1+s.IntN(28), s.IntN(24), s.IntN(60), s.IntN(60), 0, time.UTC))
}

// One of a few, as teams, tasks and images are.
func (s samples) of(all ...string) string { return all[s.IntN(len(all))] }

func (s samples) meta(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{
		Name: name, Namespace: s.of("ci", "team-a", "team-b", "nightly"), UID: s.uid(),
		ResourceVersion: fmt.Sprint(1000000 + s.IntN(9000000)), Generation: 1, CreationTimestamp: s.time(),
	}
}

var tasks = []string{"build-image", "unit-test", "git-clone", "lint", "deploy", "scan-vulnerabilities", "publish-docs"}

var images = []string{
	"registry.example.com/ci/git-init@sha256:2c1f0d3a90bd4d5c9d550e6a59d0f6a27b0d2c9e4c1f4f0e8f437f7a0c2b9a11",
	"registry.example.com/ci/golang@sha256:9f0d2c9e4c1f4f0e8f437f7a0c2b9a112c1f0d3a90bd4d5c9d550e6a59d0f6a2",
	"docker.io/library/busybox:1.37", "gcr.io/kaniko-project/executor:v1.23.2", "docker.io/library/node:22-alpine",
}

func (s samples) pod() *corev1.Pod {
	run, task, node := s.of(tasks...)+"-"+s.suffix(5), s.of(tasks...), fmt.Sprint("node-", s.IntN(40))
	p := &corev1.Pod{ObjectMeta: s.meta(run + "-pod")}
	owner, yes := s.uid(), true
	p.OwnerReferences = []metav1.OwnerReference{{APIVersion: "tekton.dev/v1", Kind: "TaskRun", Name: run, UID: owner, Controller: &yes, BlockOwnerDeletion: &yes}}
	p.Labels = map[string]string{"app.kubernetes.io/managed-by": "millrace", "tekton.dev/task": task, "tekton.dev/taskRun": run, "tekton.dev/taskRunUID": string(owner)}
	p.Annotations = map[string]string{"pipeline.tekton.dev/release": "v1.4.0", "tekton.dev/ready": "READY"}
	token := "kube-api-access-" + s.suffix(5)
	empty := corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}
	var mounts []corev1.VolumeMount
	for _, v := range []string{"workspace", "home", "results", "steps", "run", "scripts"} {
		p.Spec.Volumes = append(p.Spec.Volumes, corev1.Volume{Name: "tekton-internal-" + v, VolumeSource: empty})
		mounts = append(mounts, corev1.VolumeMount{Name: "tekton-internal-" + v, MountPath: "/tekton/" + v})
	}
	expiry := int64(3607)
	p.Spec.Volumes = append(p.Spec.Volumes, corev1.Volume{Name: token, VolumeSource: corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{Sources: []corev1.VolumeProjection{
		{ServiceAccountToken: &corev1.ServiceAccountTokenProjection{ExpirationSeconds: &expiry, Path: "token"}},
		{ConfigMap: &corev1.ConfigMapProjection{LocalObjectReference: corev1.LocalObjectReference{Name: "kube-root-ca.crt"}, Items: []corev1.KeyToPath{{Key: "ca.crt", Path: "ca.crt"}}}},
	}}}})
	mounts = append(mounts, corev1.VolumeMount{Name: token, ReadOnly: true, MountPath: "/var/run/secrets/kubernetes.io/serviceaccount"})
	for i := range 2 + s.IntN(5) {
		name, image, container := fmt.Sprint("step-", s.of("clone", "build", "test", "push", "report"), i), s.of(images...), s.hex(64)
		p.Spec.Containers = append(p.Spec.Containers, corev1.Container{
			Name: name, Image: image, Command: []string{"/tekton/bin/entrypoint"},
			Args: []string{"-wait_file", fmt.Sprintf("/tekton/run/%d/out", i-1), "-post_file", fmt.Sprintf("/tekton/run/%d/out", i),
				"-termination_path", "/tekton/termination", "-step_metadata_dir", "/tekton/steps/" + name, "-entrypoint", "/tekton/scripts/script-0",
				"--", "--revision=" + s.hex(40), "--url=https://git.example.com/" + s.of("shop", "search", "billing", "web") + ".git"},
			Env:          []corev1.EnvVar{{Name: "HOME", Value: "/tekton/home"}, {Name: "BUILD_ID", Value: fmt.Sprint(s.IntN(100000))}},
			Resources:    corev1.ResourceRequirements{Requests: corev1.ResourceList{"cpu": resource.MustParse(s.of("100m", "250m", "1")), "memory": resource.MustParse(s.of("64Mi", "256Mi", "1Gi"))}},
			VolumeMounts: mounts, TerminationMessagePath: "/tekton/termination", TerminationMessagePolicy: "File", ImagePullPolicy: "IfNotPresent",
		})
		p.Status.ContainerStatuses = append(p.Status.ContainerStatuses, corev1.ContainerStatus{
			Name: name, Image: image, ImageID: image, ContainerID: "containerd://" + container,
			State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{
				Reason: "Completed", StartedAt: s.time(), FinishedAt: s.time(), ContainerID: "containerd://" + container,
				Message: fmt.Sprintf(`[{"key":"StartedAt","value":"2026-09-%02dT%02d:%02d:%02d.%03dZ","type":3}]`, 1+s.IntN(28), s.IntN(24), s.IntN(60), s.IntN(60), s.IntN(1000)),
			}},
		})
	}
	grace := int64(30)
	p.Spec.RestartPolicy, p.Spec.TerminationGracePeriodSeconds, p.Spec.DNSPolicy = "Never", &grace, "ClusterFirst"
	p.Spec.ServiceAccountName, p.Spec.DeprecatedServiceAccount, p.Spec.NodeName, p.Spec.SchedulerName = "default", "default", node, "default-scheduler"
	p.Spec.Tolerations = []corev1.Toleration{
		{Key: "node.kubernetes.io/not-ready", Operator: "Exists", Effect: "NoExecute", TolerationSeconds: &expiry},
		{Key: "node.kubernetes.io/unreachable", Operator: "Exists", Effect: "NoExecute", TolerationSeconds: &expiry},
	}
	p.Status.Phase, p.Status.QOSClass = "Succeeded", "Burstable"
	p.Status.HostIP, p.Status.PodIP = fmt.Sprint("192.168.7.", s.IntN(40)), fmt.Sprintf("10.244.%d.%d", s.IntN(40), s.IntN(250))
	p.Status.HostIPs, p.Status.PodIPs = []corev1.HostIP{{IP: p.Status.HostIP}}, []corev1.PodIP{{IP: p.Status.PodIP}}
	start := s.time()
	p.Status.StartTime = &start
	for _, c := range []corev1.PodConditionType{"PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady", "PodScheduled"} {
		p.Status.Conditions = append(p.Status.Conditions, corev1.PodCondition{Type: c, Status: "True", LastTransitionTime: s.time(), Reason: "PodCompleted"})
	}
	return p
}

// taskRun is one that has ended.
func (s samples) taskRun() string {
	task := s.of(tasks...)
	run := task + "-" + s.suffix(5)
	meta, err := json.Marshal(s.meta(run))
	if err != nil {
		panic(err)
	}
	var steps, spec []string
	for i := range 2 + s.IntN(4) {
		name, image := fmt.Sprint(s.of("clone", "build", "test", "push", "report"), i), s.of(images...)
		spec = append(spec, fmt.Sprintf(`{"computeResources":{},"image":%q,"name":%q,"script":"#!/bin/sh\nset -e\ngit clone $(params.url) /workspace\ncd /workspace && make %s REVISION=%s\n","workingDir":"/workspace","env":[{"name":"HOME","value":"/tekton/home"}],"volumeMounts":[{"name":"cache","mountPath":"/cache"}]}`, image, name, task, s.hex(40)))
		steps = append(steps, fmt.Sprintf(`{"container":"step-%s","imageID":%q,"name":%q,"terminated":{"containerID":"containerd://%s","exitCode":0,"finishedAt":%q,"reason":"Completed","startedAt":%q},"terminationReason":"Completed"}`,
			name, image, name, s.hex(64), s.time().Format(time.RFC3339), s.time().Format(time.RFC3339)))
	}
	params := fmt.Sprintf(`[{"name":"url","value":"https://git.example.com/%s.git"},{"name":"revision","value":"%s"}]`, s.of("shop", "search", "billing", "web"), s.hex(40))
	return fmt.Sprintf(`{"apiVersion":"tekton.dev/v1","kind":"TaskRun","metadata":%s,"spec":{"params":%s,"serviceAccountName":"default","taskRef":{"kind":"Task","name":%q},"timeout":"1h0m0s"},`+
		`"status":{"completionTime":%q,"conditions":[{"lastTransitionTime":%q,"message":"All Steps have completed executing","reason":"Succeeded","status":"True","type":"Succeeded"}],"podName":"%s-pod","provenance":{"featureFlags":{"awaitSidecarReadiness":true,"coschedule":"workspaces","enableAPIFields":"beta","enforceNonfalsifiability":"none","maxResultSize":4096,"resultExtractionMethod":"termination-message","runningInEnvWithInjectedSidecars":true,"verificationNoMatchPolicy":"ignore"}},"results":[{"name":"commit","type":"string","value":%q},{"name":"digest","type":"string","value":"sha256:%s"}],"startTime":%q,"steps":[%s],"taskSpec":{"params":[{"name":"url","type":"string"},{"name":"revision","type":"string"}],"results":[{"name":"commit","type":"string"},{"name":"digest","type":"string"}],"steps":[%s],"volumes":[{"name":"cache","emptyDir":{}}]}}}`,
		meta, params, task, s.time().Format(time.RFC3339), s.time().Format(time.RFC3339), run, s.hex(40), s.hex(64), s.time().Format(time.RFC3339), strings.Join(steps, ","), strings.Join(spec, ","))
}

// kind is objects of one resource in one format, as a store would hold them.
type packable struct {
	name string
	make func(tb testing.TB, s samples) *wire.Object
}

var packables = []packable{
	{"pod-protobuf", func(tb testing.TB, s samples) *wire.Object { tb.Helper(); return scanProtobuf(tb, s.pod()) }},
	{"pod-json", func(tb testing.TB, s samples) *wire.Object {
		tb.Helper()
		raw, err := json.Marshal(s.pod())
		if err != nil {
			tb.Fatal(err)
		}
		return scan(tb, string(raw))
	}},
	{"taskrun-json", func(tb testing.TB, s samples) *wire.Object { tb.Helper(); return scan(tb, s.taskRun()) }},
}

// some is n objects of a kind.
func (p packable) some(tb testing.TB, seed uint64, n int) []*wire.Object {
	tb.Helper()
	s := newSamples(seed)
	objects := make([]*wire.Object, n)
	for i := range objects {
		objects[i] = p.make(tb, s)
	}
	return objects
}
