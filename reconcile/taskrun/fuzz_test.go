package taskrun

import (
	"encoding/json"
	"path"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"

	"millrace/crds"
)

// What users write on runs, Tasks and pods decides nothing that is ours to decide:
// whose a pod is, what it is called, which of its labels tell so.
func FuzzLabelsAndAnnotations(f *testing.F) {
	for _, key := range []string{labelTaskRun, labelTaskRunUID, labelTask, labelManagedBy, annotationReady, annotationLastApplied, annotationRelease, annotationOnError, "x"} {
		f.Add(key, "a-value", key, "another")
		f.Add(key, "", "y", "\x00/é")
	}
	f.Fuzz(func(t *testing.T, key, value, other, text string) {
		run := &crds.TaskRun{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: "run", UID: "u", Labels: map[string]string{key: value}, Annotations: map[string]string{other: text}}}
		task := &crds.Task{ObjectMeta: metav1.ObjectMeta{Name: "task", Labels: map[string]string{key: text, other: value}, Annotations: map[string]string{key: value, other: value}}}
		run.Spec.TaskRef = &crds.TaskRef{Name: "task"}

		meta := blueprint{run: run, config: Config{Release: "abcdef0"}}.meta()
		if meta.Name != "run-pod" || meta.Labels[labelTaskRun] != "run" || meta.Labels[labelTaskRunUID] != "u" || meta.Annotations[annotationRelease] != "abcdef0" {
			t.Errorf("%+v", meta)
		}
		if len(meta.OwnerReferences) != 1 || meta.OwnerReferences[0].UID != "u" || meta.OwnerReferences[0].Name != "run" {
			t.Errorf("the pod is owned by %+v", meta.OwnerReferences)
		}
		if _, has := meta.Annotations[annotationLastApplied]; has {
			t.Error("kubectl would take the pod for its own")
		}
		before := run.DeepCopy() // of its metadata: the rest has none
		if taken := (decision{observation: observation{Run: run, Task: task}}).fromTask(); taken != nil {
			for k := range taken.Labels {
				if _, own := before.Labels[k]; own && k != labelTask {
					t.Errorf("the Task's label %q takes the place of the run's", k)
				}
			}
			for k := range taken.Annotations {
				if _, own := before.Annotations[k]; own || k == annotationLastApplied {
					t.Errorf("the Task's annotation %q is taken over", k)
				}
			}
		}
		if diff := cmp.Diff(before, &run.ObjectMeta); diff != "" {
			t.Errorf("the run was changed: %s", diff)
		}
		yes := true
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: "run-pod", Labels: run.Labels, Annotations: run.Annotations,
			OwnerReferences: []metav1.OwnerReference{{Kind: crds.KindTaskRun, Name: "run", UID: types.UID(text), Controller: &yes}}}}
		if is := whose(pod, run) == ours; is != (text == "u") {
			t.Errorf("a pod of the run with UID %q is taken for ours: %t", text, is)
		}
	})
}

// The annotations of a secret reach the entrypoint as they are, each as one argument
// that begins with the name of the secret.
func FuzzSecretAnnotations(f *testing.F) {
	f.Add("tekton.dev/git-0", "https://github.com", "tekton.dev/docker-0", "https://gcr.io", "kubernetes.io/basic-auth")
	f.Add("tekton.dev/git-", "$(HOME)$$", "tekton.dev/git-1", "-x", "kubernetes.io/ssh-auth")
	f.Add("a", "b", "c", "d", "kubernetes.io/dockercfg")
	f.Fuzz(func(t *testing.T, key, value, other, text, kind string) {
		secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "s", Annotations: map[string]string{key: value, other: text}}, Type: corev1.SecretType(kind)}
		flags := credentialFlags(secret)
		if len(flags)%2 != 0 {
			t.Fatalf("%q", flags)
		}
		args := blueprint{credentials: []credential{{"s", flags}}}.credentialArgs()
		for i := 0; i < len(flags); i += 2 {
			if !strings.HasPrefix(flags[i], "-") || flags[i+1] != "s" && !strings.HasPrefix(flags[i+1], "s=") {
				t.Errorf("%q", flags[i:i+2])
			}
			if got := kubelet(args[i+1]); got != flags[i+1] {
				t.Errorf("the container gets %q for %q", got, flags[i+1])
			}
			if _, said, has := strings.Cut(flags[i+1], "="); has && said != secret.Annotations[key] && said != secret.Annotations[other] {
				t.Errorf("nobody wrote %q", said)
			}
		}
	})
}

// Names are legal wherever the run's is, and are never too long for a label.
func FuzzNames(f *testing.F) {
	for _, seed := range []string{"run", strings.Repeat("x", 63), strings.Repeat("a.b-", 63), "-", "a.", strings.Repeat("-", 60), "é"} {
		f.Add(seed, 0)
		f.Add(seed, 12)
	}
	f.Fuzz(func(t *testing.T, text string, attempts int) {
		if len(validation.IsDNS1123Subdomain(text)) > 0 {
			return // the server takes no such name
		}
		run := &crds.TaskRun{ObjectMeta: metav1.ObjectMeta{Name: text}}
		run.Status.RetriesStatus = make([]crds.TaskRunStatus, min(max(attempts, 0), 100))
		pod := podName(run)
		if len(pod) > maxNameLength || len(validation.IsDNS1123Subdomain(pod)) > 0 {
			t.Errorf("the pod of %q is called %q", text, pod)
		}
		if container := containerName(crds.Step{Name: text}, 0); len(container) > maxNameLength || !strings.HasPrefix(container, stepPrefix) {
			t.Errorf("the container of %q is called %q", text, container)
		}
	})
}

// A login goes to the registry that it is for, whatever an image or a secret is called.
func FuzzImageReferences(f *testing.F) {
	f.Add("busybox", "docker.io")
	f.Add("ghcr.io/a/b@sha256:"+strings.Repeat("a", 64), "*.io/a")
	f.Add("registry.example.com:5000/x:latest", "https://registry.example.com:5000/v2/")
	f.Add("evil.com/docker.io/x", "docker.io")
	f.Add("a.b/c", "[/c")
	mirror, err := NewRegistry(RegistryConfig{Mirror: "http://mirror:5000"})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, image, key string) {
		ref, err := name.ParseReference(image, name.WeakValidation)
		if err != nil {
			return
		}
		if at := mirror.where(ref).Context().RegistryStr(); at != "mirror:5000" {
			t.Errorf("%q is asked for at %s", image, at)
		}
		raw, err := json.Marshal(map[string]any{"auths": map[string]any{key: map[string]string{"username": "me", "password": "secret"}}})
		if err != nil {
			t.Fatal(err)
		}
		chain := newKeychain([]corev1.Secret{{Type: corev1.SecretTypeDockerConfigJson, Data: map[string][]byte{corev1.DockerConfigJsonKey: raw}}})
		login, err := chain.Resolve(ref.Context())
		if err != nil || login == authn.Anonymous {
			return
		}
		host := ref.Context().RegistryStr()
		for key := range chain {
			for_, rest, _ := strings.Cut(key, "/")
			if strings.ContainsAny(for_, `*?[\`) {
				if strings.Count(for_, ".") != strings.Count(host, ".") {
					t.Errorf("the login for %q goes to %s", key, host)
				}
				continue
			}
			if for_ != host || !strings.HasPrefix(ref.Context().RepositoryStr()+"/", strings.TrimSuffix(rest, "/")+"/") && rest != "" {
				t.Errorf("the login for %q goes to %s", key, ref.Context())
			}
		}
	})
}

// A workspace that is accepted is mounted where its author said, and over nothing of ours.
func FuzzWorkspaces(f *testing.F) {
	for _, at := range []string{"", "/src", "/tekton/run", "/workspace/../tekton/./bin", "tekton/results", "//tekton//steps/x", "/tekton/home", "/tekton/runs", "/", "."} {
		f.Add(at, "here", at)
		f.Add("/src", "../x", at)
	}
	f.Fuzz(func(t *testing.T, mountPath, subPath, own string) {
		spec := &crds.TaskSpec{Workspaces: []crds.WorkspaceDeclaration{{Name: "w", MountPath: mountPath}}}
		step := crds.Step{Image: "x", Command: []string{"x"}, Workspaces: []crds.WorkspaceUsage{{Name: "w", MountPath: own}}}
		spec.Steps = []crds.Step{step}
		if checkTask(&crds.TaskRun{}, spec, Config{}.options()) != nil {
			return
		}
		w := workspaces{run: "u", declared: spec.Workspaces, bindings: []crds.WorkspaceBinding{{Name: "w", SubPath: subPath, EmptyDir: &corev1.EmptyDirVolumeSource{}}}}
		mounts := w.mounts(spec, step.Workspaces)
		if len(mounts) != 1 || mounts[0].SubPath != subPath {
			t.Fatalf("%+v", mounts)
		}
		at := path.Clean("/" + mounts[0].MountPath)
		for _, dir := range []string{"/tekton/bin", "/tekton/run", "/tekton/steps", "/tekton/results", "/tekton/scripts", "/tekton/creds", "/tekton/creds-secrets", "/tekton/termination"} {
			if at == dir || strings.HasPrefix(at, dir+"/") {
				t.Errorf("mounted at %q", mounts[0].MountPath)
			}
		}
	})
}

// What a run says of its pod stands; what it leaves out, the administrator says.
func FuzzPodTemplates(f *testing.F) {
	f.Add(`{"nodeSelector":{"a":"b"},"env":[{"name":"X","value":"1"}]}`, `{"nodeSelector":{"c":"d"},"env":[{"name":"X","value":"2"},{"name":"Y"}],"hostNetwork":true}`)
	f.Add(`{"volumes":[{"name":"v"}]}`, `{"volumes":[{"name":"v"},{"name":"w"}],"tolerations":[]}`)
	f.Add(`{}`, `{"env":[{"name":"X"},{"name":"X"}]}`)
	f.Fuzz(func(t *testing.T, own, under string) {
		var run crds.TaskRun
		var c Config
		if json.Unmarshal([]byte(own), &run.Spec.PodTemplate) != nil || json.Unmarshal([]byte(under), &c.PodTemplate) != nil || run.Spec.PodTemplate == nil || c.PodTemplate == nil {
			return
		}
		before, otherwise := text(run.Spec.PodTemplate), text(c.PodTemplate)
		got := podTemplate(&run, c)
		if text(run.Spec.PodTemplate) != before || text(c.PodTemplate) != otherwise {
			t.Fatal("a template was changed")
		}
		var said, have map[string]json.RawMessage
		if json.Unmarshal([]byte(before), &said) != nil || json.Unmarshal([]byte(text(got)), &have) != nil {
			t.Fatal("it cannot be read again")
		}
		for field, value := range said {
			if field != "env" && field != "volumes" && string(have[field]) != string(value) {
				t.Errorf("%s is %s, and the run says %s", field, have[field], value)
			}
		}
		for i, e := range run.Spec.PodTemplate.Env {
			if text(got.Env[i]) != text(e) {
				t.Errorf("variable %d is %+v, and the run says %+v", i, got.Env[i], e)
			}
		}
		run.Spec.PodTemplate = &got
		if again := podTemplate(&run, c); text(again) != text(got) {
			t.Errorf("merged once: %s, twice: %s", text(got), text(again))
		}
	})
}

func text(v any) string {
	raw, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(raw)
}
