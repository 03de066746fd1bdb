package taskrun

import (
	"maps"
	"math"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"millrace/crds"
	"millrace/crds/validation"
	"millrace/reconcile/variables"
)

// Where things are in the containers of a pod.
const (
	workspaceDir   = crds.PathWorkspaces
	homeDir        = crds.PathHome
	resultsDir     = crds.PathResults
	stepsDir       = crds.PathSteps
	runDir         = crds.PathRun
	scriptsDir     = crds.PathScripts
	binDir         = crds.PathBin
	credentialsDir = crds.PathCredentials
	terminationLog = crds.PathTermination
	entrypoint     = binDir + "/entrypoint"
)

// entrypointInImage is where the entrypoint's image has it.
const entrypointInImage = "/entrypoint"

const (
	volumePrefix  = "tekton-internal-"
	binVolume     = volumePrefix + "bin"
	scriptsVolume = volumePrefix + "scripts"
	// sidecarScripts are not where those of steps are: a sidecar runs while steps write
	// theirs, and may be somebody else.
	sidecarScripts = volumePrefix + "sidecar-scripts"
)

// maxArgument is how long a piece of a script, or of conditions, is at most. Linux takes 128 KiB
// for one argument (MAX_ARG_STRLEN); the rest is room for the kubelet.
const maxArgument = 96 << 10

// A blueprint is all that the pod of an attempt follows from.
type blueprint struct {
	run    *crds.TaskRun
	spec   *crds.TaskSpec // resolved: without variables
	images map[string]imageAnswer
	mode   Mode
	config Config

	credentials []credential
	limitRanges []corev1.LimitRange
}

// A sketch is a pod of which it may not be known yet what its images run.
type sketch struct {
	template   crds.PodTemplate
	workspaces workspaces
	steps      []mergedStep
}

func (b *blueprint) sketch() (sketch, *refusal) {
	var s sketch
	var err error
	var refused *refusal
	if b.spec, refused = forAttempt(b.run, b.spec); refused != nil {
		return s, refused
	}
	v := runVariables(b.run, b.spec)
	if s.workspaces, err = bind(b.run, b.spec.Workspaces, v, b.config); err != nil {
		return s, invalid("%v", err)
	}
	if s.template, err = variables.Apply(v, podTemplate(b.run, b.config)); err != nil {
		return s, invalid("spec.podTemplate %v", err)
	}
	if refused := checkRepeated(b.spec, s.template); refused != nil {
		return s, refused
	}
	if s.steps, err = mergeTemplate(b.spec, s.workspaces); err != nil {
		return s, invalid("stepTemplate: %v", err)
	}
	stepResources(b.run, s.steps)
	for i, step := range s.steps {
		s.steps[i].container.Resources = b.config.resources(containerName(step.Step, i), step.container.Resources)
	}
	shareDefaults(s.steps, b.limitRanges)
	return s, nil
}

// pod completes a sketch whose steps all have something to run. The same
// blueprint always gives the same pod: making it twice is making it once.
func (b blueprint) pod(s sketch) (*corev1.Pod, *refusal) {
	pod := &corev1.Pod{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"},
		ObjectMeta: b.meta(),
		Spec:       b.podSpec(s.template),
	}
	pod.Spec.InitContainers = append(b.prepare(s.template), b.sidecars(s.workspaces)...)
	for i, c := range pod.Spec.InitContainers {
		pod.Spec.InitContainers[i].Resources = b.config.resources(c.Name, c.Resources)
	}
	all := len(pod.Spec.InitContainers) + len(s.steps)
	if b.collects() {
		all++
	}
	pod.Spec.Containers = b.containers(s.steps, s.template, messageSize(all))
	if b.collects() {
		pod.Spec.Containers = append(pod.Spec.Containers, b.collector(s.template))
	}
	pod.Spec.Volumes = slices.Concat(b.internalVolumes(), b.credentialVolumes(), b.spec.Volumes, s.workspaces.podVolumes(), s.template.Volumes)
	if name := duplicate(pod.Spec.Volumes); name != "" {
		return nil, invalid("there is more than one volume with the name %q; the names of volumes in the task, in the pod template and of this controller (%s*) must differ", name, volumePrefix)
	}
	return pod, nil
}

func (b blueprint) meta() metav1.ObjectMeta {
	labels := map[string]string{labelManagedBy: b.config.managedByLabel()}
	maps.Copy(labels, b.run.Labels)
	labels[labelTaskRun] = b.run.Name
	labels[labelTaskRunUID] = string(b.run.UID)
	if b.run.Spec.TaskRef != nil {
		labels[labelTask] = taskName(b.run)
	}
	annotations := map[string]string{annotationReady: "READY"}
	for key, value := range b.run.Annotations {
		if !staysWith(key) {
			annotations[key] = value
		}
	}
	if b.config.Release != "" {
		annotations[annotationRelease] = b.config.Release
	}
	return metav1.ObjectMeta{
		Namespace:       b.run.Namespace,
		Name:            podName(b.run),
		Labels:          labels,
		Annotations:     annotations,
		OwnerReferences: []metav1.OwnerReference{owner(b.run)},
	}
}

func (b blueprint) podSpec(t crds.PodTemplate) corev1.PodSpec {
	deadline := activeDeadline(timeout(b.run, b.config))
	spec := corev1.PodSpec{
		RestartPolicy:                corev1.RestartPolicyNever,
		ActiveDeadlineSeconds:        &deadline,
		ServiceAccountName:           serviceAccount(b.run, b.config),
		NodeSelector:                 t.NodeSelector,
		Tolerations:                  t.Tolerations,
		Affinity:                     t.Affinity,
		SecurityContext:              t.SecurityContext,
		RuntimeClassName:             t.RuntimeClassName,
		AutomountServiceAccountToken: t.AutomountServiceAccountToken,
		DNSConfig:                    t.DNSConfig,
		EnableServiceLinks:           t.EnableServiceLinks,
		SchedulerName:                t.SchedulerName,
		ImagePullSecrets:             t.ImagePullSecrets,
		HostAliases:                  t.HostAliases,
		HostNetwork:                  t.HostNetwork,
		HostUsers:                    t.HostUsers,
		TopologySpreadConstraints:    t.TopologySpreadConstraints,
	}
	if t.DNSPolicy != nil {
		spec.DNSPolicy = *t.DNSPolicy
	}
	if t.PriorityClassName != nil {
		spec.PriorityClassName = *t.PriorityClassName
	}
	return spec
}

func serviceAccount(run *crds.TaskRun, c Config) string {
	if run.Spec.ServiceAccountName != "" {
		return run.Spec.ServiceAccountName
	}
	return c.DefaultServiceAccount
}

// activeDeadline is a net under the controller's own time-out, which ends the
// run first and says why; it holds when no controller is there.
func activeDeadline(timeout time.Duration) int64 {
	if timeout == 0 {
		return math.MaxInt32
	}
	return min(max(stopDeadline+1, int64(timeout.Seconds()*1.5)), math.MaxInt32)
}

// internalVolumes begins with the entrypoint's volume: see refusesImageVolume.
func (b blueprint) internalVolumes() []corev1.Volume {
	bin := emptyDir(binVolume)
	if b.mode == ModeImageVolume {
		bin.VolumeSource = corev1.VolumeSource{Image: &corev1.ImageVolumeSource{
			Reference:  b.config.EntrypointImage,
			PullPolicy: b.config.entrypointPullPolicy(),
		}}
	}
	volumes := []corev1.Volume{bin}
	for _, name := range []string{"workspace", "home", "results", "steps", "run"} {
		volumes = append(volumes, emptyDir(volumePrefix+name))
	}
	if slices.ContainsFunc(b.spec.Steps, func(s crds.Step) bool { return s.Script != "" }) {
		volumes = append(volumes, emptyDir(scriptsVolume))
	}
	if slices.ContainsFunc(b.spec.Sidecars, func(s crds.Sidecar) bool { return s.Script != "" }) {
		volumes = append(volumes, emptyDir(sidecarScripts))
	}
	return volumes
}

func emptyDir(name string) corev1.Volume {
	return corev1.Volume{Name: name, VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}}
}

func duplicate(volumes []corev1.Volume) string {
	seen := map[string]bool{}
	for _, volume := range volumes {
		if seen[volume.Name] {
			return volume.Name
		}
		seen[volume.Name] = true
	}
	return ""
}

// prepare copies the entrypoint into the pod where no image volume does.
func (b blueprint) prepare(template crds.PodTemplate) []corev1.Container {
	if b.mode == ModeImageVolume {
		return nil
	}
	return []corev1.Container{{
		Name:            "prepare",
		Image:           b.config.EntrypointImage,
		ImagePullPolicy: b.config.entrypointPullPolicy(),
		WorkingDir:      "/",
		Command:         []string{entrypointInImage, "init", entrypointInImage, entrypoint},
		VolumeMounts:    []corev1.VolumeMount{{Name: binVolume, MountPath: binDir}},
		SecurityContext: restricted(template),
	}}
}

// restricted asks for nothing that a namespace under the restricted profile would
// refuse. Which user it is is for the image, whose user is not root, and the pod
// template to say.
func restricted(template crds.PodTemplate) *corev1.SecurityContext {
	no, yes := false, true
	asRoot := template.SecurityContext != nil && template.SecurityContext.RunAsUser != nil && *template.SecurityContext.RunAsUser == 0
	nonRoot := !asRoot
	return &corev1.SecurityContext{
		AllowPrivilegeEscalation: &no,
		RunAsNonRoot:             &nonRoot,
		ReadOnlyRootFilesystem:   &yes,
		Capabilities:             &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
		SeccompProfile:           &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
	}
}

// containers are those of the steps, each of which may leave a termination message
// of that size.
func (b blueprint) containers(steps []mergedStep, template crds.PodTemplate, size int) []corev1.Container {
	containers := make([]corev1.Container, 0, len(steps))
	for i, step := range steps {
		c := step.container
		c.Name = containerName(step.Step, i)
		c.Args = b.entrypointArgs(step, i, size)
		c.Command = []string{entrypoint}
		c.TerminationMessagePath = terminationLog
		if c.WorkingDir = workingDir(c.WorkingDir); inWorkspace(c.WorkingDir) {
			c.WorkingDir = workspaceDir // from where the entrypoint goes on
		}
		c.Env = append(slices.Clip(c.Env), b.allowedEnv(template.Env)...)
		c.VolumeMounts = append(withInternalMounts(c.VolumeMounts, step.Script != ""), b.credentialMounts(i)...)
		containers = append(containers, c)
	}
	return containers
}

func (b blueprint) allowedEnv(env []corev1.EnvVar) []corev1.EnvVar {
	return slices.DeleteFunc(slices.Clone(env), func(e corev1.EnvVar) bool {
		return slices.Contains(b.config.ForbiddenEnv, e.Name)
	})
}

// withInternalMounts adds the controller's own mounts; where the user mounts the
// same path, the user's wins.
func withInternalMounts(mounts []corev1.VolumeMount, script bool) []corev1.VolumeMount {
	internal := []corev1.VolumeMount{
		{Name: binVolume, MountPath: binDir, ReadOnly: true},
		{Name: volumePrefix + "workspace", MountPath: workspaceDir},
		{Name: volumePrefix + "home", MountPath: homeDir},
		{Name: volumePrefix + "results", MountPath: resultsDir},
		{Name: volumePrefix + "steps", MountPath: stepsDir},
		{Name: volumePrefix + "run", MountPath: runDir},
	}
	if script {
		internal = append(internal, corev1.VolumeMount{Name: scriptsVolume, MountPath: scriptsDir})
	}
	return withMounts(mounts, internal)
}

// withMounts adds mounts where nothing is mounted yet.
func withMounts(mounts, more []corev1.VolumeMount) []corev1.VolumeMount {
	taken := map[string]bool{}
	for _, mount := range mounts {
		taken[validation.InContainer(mount.MountPath)] = true
	}
	all := slices.Clip(mounts)
	for _, mount := range more {
		if !taken[validation.InContainer(mount.MountPath)] {
			all = append(all, mount)
		}
	}
	return all
}

// maxMessage and maxMessages are how many bytes of termination messages the kubelet
// keeps, of a container and of a pod.
const (
	maxMessage  = 4 << 10
	maxMessages = 12 << 10
)

// messageSize is how much the kubelet keeps of each message. Containers that an
// admission webhook adds to the pod make it less.
func messageSize(containers int) int { return maxMessages / containers }

// withInterpreter gives a script the interpreter that it does not name. One that
// it names after empty lines counts, as in Tekton; but the kernel would not find it
// there, so they go.
func withInterpreter(script string) string {
	if trimmed := strings.TrimLeftFunc(script, unicode.IsSpace); strings.HasPrefix(trimmed, "#!") {
		return trimmed
	}
	return "#!/bin/sh\nset -e\n" + script
}

// escape keeps the kubelet from taking $(NAME) in a script for a variable of the
// container: it turns "$$" into "$" and leaves the rest alone. Commands and args
// are not escaped; there Kubernetes promises users that expansion.
func escape(script string) string { return strings.ReplaceAll(script, "$", "$$") }

// pieces cuts text into parts of at most size bytes without cutting a character
// in two, which JSON could not carry.
func pieces(text string, size int) []string {
	var parts []string
	for len(text) > size {
		end := size
		for end > size-utf8.UTFMax && !utf8.RuneStart(text[end]) {
			end--
		}
		parts = append(parts, text[:end])
		text = text[end:]
	}
	return append(parts, text)
}
