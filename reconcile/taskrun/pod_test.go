package taskrun

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// podOf is the pod of a run whose images need no look-up.
func podOf(t *testing.T, spec string) *corev1.Pod {
	t.Helper()
	run := parseRun(t, spec)
	resolved, refused := resolve(run, nil, nil, Config{})
	if refused != nil {
		t.Fatal(refused)
	}
	b := blueprint{run: run, spec: resolved, mode: ModeImageVolume, config: Config{EntrypointImage: "entry"}}
	sketch, refused := b.sketch()
	if refused != nil {
		t.Fatal(refused)
	}
	pod, refused := b.pod(sketch)
	if refused != nil {
		t.Fatal(refused)
	}
	return pod
}

// A step's variable takes the place of the template's, whatever each of them is:
// mixed, they would be one that the server refuses.
func TestVariableOfTheStepReplacesThatOfTheTemplate(t *testing.T) {
	pod := podOf(t, `
taskSpec:
  stepTemplate:
    env:
    - {name: FIRST, value: template}
    - {name: FIELD, valueFrom: {fieldRef: {fieldPath: metadata.name}}}
    - {name: SECRET, valueFrom: {secretKeyRef: {name: s, key: k, optional: true}}}
    - {name: PLAIN, value: template}
  steps:
  - image: x
    script: x
    env:
    - {name: OWN, value: step}
    - {name: FIELD, value: step}
    - {name: SECRET, valueFrom: {configMapKeyRef: {name: c, key: k}}}
    - {name: PLAIN, valueFrom: {fieldRef: {fieldPath: metadata.uid}}}
`)
	from := func(source corev1.EnvVarSource) *corev1.EnvVarSource { return &source }
	want := []corev1.EnvVar{ // in Tekton's order: what is the template's alone comes after what is the step's alone
		{Name: "OWN", Value: "step"},
		{Name: "FIRST", Value: "template"},
		{Name: "FIELD", Value: "step"},
		{Name: "SECRET", ValueFrom: from(corev1.EnvVarSource{ConfigMapKeyRef: &corev1.ConfigMapKeySelector{LocalObjectReference: corev1.LocalObjectReference{Name: "c"}, Key: "k"}})},
		{Name: "PLAIN", ValueFrom: from(corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: "metadata.uid"}})},
	}
	if diff := cmp.Diff(want, pod.Spec.Containers[0].Env); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// One claim, bound to be read in one place and written in another: one volume
// that can be written, one mount that cannot.
func TestClaimIsReadOnlyWhereItsBindingIs(t *testing.T) {
	pod := podOf(t, `
workspaces:
- {name: in, subPath: one, persistentVolumeClaim: {claimName: c, readOnly: true}}
- {name: out, subPath: two, persistentVolumeClaim: {claimName: c}}
- {name: other, persistentVolumeClaim: {claimName: d, readOnly: true}}
taskSpec: {steps: [{image: x, script: x}]}
`)
	claims := map[string]bool{}
	for _, volume := range pod.Spec.Volumes {
		if claim := volume.PersistentVolumeClaim; claim != nil {
			claims[claim.ClaimName] = claim.ReadOnly
		}
	}
	mounts := map[string]bool{}
	for _, mount := range pod.Spec.Containers[0].VolumeMounts[:3] {
		mounts[mount.MountPath+" "+mount.SubPath] = mount.ReadOnly
	}
	if diff := cmp.Diff(map[string]bool{"c": false, "d": true}, claims); diff != "" {
		t.Errorf("claims -want +got:\n%s", diff)
	}
	if diff := cmp.Diff(map[string]bool{"/workspace/in one": true, "/workspace/out two": false, "/workspace/other ": true}, mounts); diff != "" {
		t.Errorf("mounts -want +got:\n%s", diff)
	}
}

// Two workspaces of a run with one volume name would silently be one volume. With
// five digits of the hash that happened among these.
func TestVolumeNamesOfWorkspacesDiffer(t *testing.T) {
	seen := map[string]bool{}
	for run := range 100 {
		for workspace := range 100 {
			seen[volumeName(types.UID(fmt.Sprint("run", run)), fmt.Sprint("workspace", workspace))] = true
		}
	}
	if len(seen) != 100*100 {
		t.Errorf("%d names", len(seen))
	}
}

// A value put in for a variable is not looked at again: not in the status, and
// not when the pod is made from the status.
func TestMountPathIsReplacedOnce(t *testing.T) {
	const params = `
params: [{name: p, value: "/x/$(params.q)"}, {name: q, value: token}]
workspaces: [{name: w, emptyDir: {}}]
`
	for name, spec := range map[string]string{
		"of the task": params + `
taskSpec:
  workspaces: [{name: w, mountPath: $(params.p)}]
  steps: [{image: x, command: [$(workspaces.w.path)]}]
`,
		"of the step": params + `
taskSpec:
  workspaces: [{name: w}]
  steps: [{image: x, command: [$(workspaces.w.path)], workspaces: [{name: w, mountPath: $(params.p)}]}]
`,
	} {
		step := podOf(t, spec).Spec.Containers[0]
		const want = "/x/$(params.q)"
		if path, command := step.VolumeMounts[0].MountPath, step.Args[len(step.Args)-2]; path != want || command != want {
			t.Errorf("mount path %s: mounted at %s, known as %s, want %s", name, path, command, want)
		}
	}
}

// What the kubelet would cut off the messages of many containers, the entrypoint
// is told not to write.
func TestMessagesFitTheirPod(t *testing.T) {
	for steps, want := range map[int]string{1: "", 3: "", 4: "3072", 8: "1536"} {
		spec := "taskSpec:\n  steps:\n" + strings.Repeat("  - {image: x, script: x}\n", steps)
		if got := flagOf(podOf(t, spec).Spec.Containers[0], "-max_message"); got != want {
			t.Errorf("%d steps: %q, want %q", steps, got, want)
		}
	}
}

// Where only the steps say that they do not run as root, a namespace under the
// restricted profile would refuse the pod for the controller's own container.
func TestPrepareIsRestrictedByItself(t *testing.T) {
	for user, want := range map[string]bool{"{}": true, "{securityContext: {runAsUser: 1}}": true, "{securityContext: {runAsUser: 0}}": false} {
		run := parseRun(t, "podTemplate: "+user)
		got := blueprint{mode: ModeInitContainer}.prepare(*run.Spec.PodTemplate)[0].SecurityContext
		if *got.RunAsNonRoot != want || *got.AllowPrivilegeEscalation || got.Capabilities.Drop[0] != "ALL" || got.SeccompProfile.Type != corev1.SeccompProfileTypeRuntimeDefault {
			t.Errorf("%s: %v, want runAsNonRoot %v", user, got, want)
		}
	}
}

// A directory in the workspace is for the entrypoint to make, any other for the
// container runtime.
func TestWorkingDir(t *testing.T) {
	for dir, want := range map[string]struct{ container, entrypoint string }{
		"":                  {"", ""},
		"/":                 {"/", ""},
		"/workspace":        {"/workspace", ""},
		"/workspaces/x":     {"/workspaces/x", ""},
		"/workspace/../etc": {"/workspace/../etc", ""},
		"/workspace/x":      {"/workspace", "/workspace/x"},
		"sub/dir":           {"/workspace", "/workspace/sub/dir"},
		"../etc":            {"/etc", ""},
	} {
		c := podOf(t, "taskSpec: {steps: [{image: x, script: x, workingDir: '"+dir+"'}]}").Spec.Containers[0]
		if got := flagOf(c, "-working_dir"); c.WorkingDir != want.container || got != want.entrypoint {
			t.Errorf("%q: container in %q, entrypoint to %q, want %+v", dir, c.WorkingDir, got, want)
		}
	}
}

// flagOf is the value of a flag of the step's entrypoint, empty if it is not there.
func flagOf(step corev1.Container, name string) string {
	if i := slices.Index(step.Args, name); i >= 0 {
		return step.Args[i+1]
	}
	return ""
}
