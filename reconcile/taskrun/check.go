package taskrun

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"millrace/crds"
)

// resultName keeps a result from being a path, or two names.
var resultName = regexp.MustCompile(`^[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?$`)

func checkTask(spec *crds.TaskSpec) *refusal {
	for _, check := range []func(*crds.TaskSpec) *refusal{checkNumbers, checkWorkspaces, checkSteps, checkSidecars, checkStepResults} {
		if refused := check(spec); refused != nil {
			return refused
		}
	}
	return nil
}

// checkSteps finds what the API server would not find in the pod, or would
// report in words that speak of containers that the user has never seen.
func checkSteps(spec *crds.TaskSpec) *refusal {
	if len(spec.Steps) == 0 {
		return invalid("the task has no steps")
	}
	for _, result := range spec.Results {
		if !resultName.MatchString(result.Name) {
			return invalid("result %q: its name becomes the name of a file, and can have letters, digits, -, _ and . with a letter or digit at both ends", result.Name)
		}
	}
	names := map[string]bool{}
	for i, step := range spec.Steps {
		if refused := checkName(step, i, names); refused != nil {
			return refused
		}
		if refused := checkStep(spec, step, stepName(step, i)); refused != nil {
			return refused
		}
	}
	return nil
}

// checkName adds the name of the step's container to those that are taken. Two
// names that differ beyond what a container's name can have are one, too: the
// files of such steps would be the same.
func checkName(step crds.Step, i int, taken map[string]bool) *refusal {
	name := containerName(step, i)
	switch {
	case len(validation.IsDNS1123Label(name)) > 0:
		return invalid("step %q: its name becomes the name of a container, and can have small letters, digits and -, with a letter or digit at both ends", step.Name)
	case taken[name] && len(stepPrefix+step.Name) > maxNameLength:
		return invalid("step %q: another step's name begins with the same %d characters, and no more of it goes into the name of a container", step.Name, len(name)-len(stepPrefix))
	case taken[name]:
		return invalid("step %q: there is more than one step of that name", stepName(step, i))
	}
	taken[name] = true
	return nil
}

func checkStep(spec *crds.TaskSpec, step crds.Step, name string) *refusal {
	switch {
	case step.Image == "" && (spec.StepTemplate == nil || spec.StepTemplate.Image == ""):
		return invalid("step %q has no image", name)
	case step.Script != "" && len(step.Command) > 0:
		return invalid("step %q has both a script and a command, and can have one of them", name)
	case step.OnError != "" && step.OnError != crds.OnErrorContinue && step.OnError != crds.OnErrorStopAndFail:
		return invalid("step %q: onError is %q, and can be %q or %q", name, step.OnError, crds.OnErrorContinue, crds.OnErrorStopAndFail)
	case len(step.Params) > 0:
		return invalid("step %q has params, and only a StepAction takes them: it has no ref", name)
	case step.Timeout != nil && step.Timeout.Duration < 0:
		return invalid("step %q: timeout %s is negative", name, step.Timeout.Duration)
	}
	for _, check := range []func(*crds.TaskSpec, crds.Step, string) *refusal{checkRequests, checkMounts, checkUsages, checkResults, checkWhen} {
		if refused := check(spec, step, name); refused != nil {
			return refused
		}
	}
	return nil
}

func checkRequests(spec *crds.TaskSpec, step crds.Step, name string) *refusal {
	for resource, request := range step.ComputeResources.Requests {
		limit, ok := step.ComputeResources.Limits[resource]
		if !ok && spec.StepTemplate != nil {
			limit, ok = spec.StepTemplate.ComputeResources.Limits[resource]
		}
		if ok && limit.Cmp(request) < 0 {
			return invalid("step %q: Invalid request resource value: %v must be less or equal to limit %v", name, request.String(), limit.String())
		}
	}
	return nil
}

// checkMounts keeps what is under /tekton to this controller: a volume over one of
// its directories would have the step wait for ever, or tell nothing. The path is
// cleaned first: /x/../tekton is there too (TOB-TKN-4 of Tekton's audit), and so is
// tekton without a slash.
func checkMounts(spec *crds.TaskSpec, step crds.Step, name string) *refusal {
	mounts := step.VolumeMounts
	if spec.StepTemplate != nil {
		mounts = slices.Concat(mounts, spec.StepTemplate.VolumeMounts)
	}
	return checkMountsOf(fmt.Sprintf("step %q", name), mounts)
}

func checkMountsOf(what string, mounts []corev1.VolumeMount) *refusal {
	for _, mount := range mounts {
		at := inContainer(mount.MountPath)
		switch {
		case strings.HasPrefix(at, "/tekton/") && at != homeDir && !strings.HasPrefix(at, homeDir+"/"):
			return invalid("%s: volumeMount cannot be mounted under /tekton/ (volumeMount %q mounted at %q)", what, mount.Name, mount.MountPath)
		case strings.HasPrefix(mount.Name, volumePrefix):
			return invalid("%s: volumeMount name %q cannot start with %q", what, mount.Name, volumePrefix)
		}
	}
	return nil
}

// inContainer is the path at which a mount will be: the kubelet begins at the root.
func inContainer(mountPath string) string { return path.Clean("/" + mountPath) }

// isOurs tells of paths that no workspace may be mounted over or into. Tekton lets
// workspaces have the rest of /tekton, too.
func isOurs(mountPath string) bool {
	ours := []string{binDir, runDir, stepsDir, resultsDir, scriptsDir, credentialsDir, credentialSecretsDir, terminationLog}
	at := inContainer(mountPath)
	return slices.ContainsFunc(ours, func(dir string) bool { return at == dir || strings.HasPrefix(at, dir+"/") })
}

const notThere = "workspace %q cannot be mounted at %q: that is for the controller's own files, choose another mountPath"

func checkWorkspaces(spec *crds.TaskSpec) *refusal {
	for _, d := range spec.Workspaces {
		if at := mountPath(d); isOurs(at) {
			return invalid(notThere, d.Name, at)
		}
	}
	return nil
}

// checkUsages: a workspace that nobody declares would be missing without a word.
func checkUsages(spec *crds.TaskSpec, step crds.Step, name string) *refusal {
	return checkUsagesOf(fmt.Sprintf("step %q", name), spec, step.Workspaces)
}

func checkUsagesOf(what string, spec *crds.TaskSpec, usages []crds.WorkspaceUsage) *refusal {
	for _, usage := range usages {
		if !slices.ContainsFunc(spec.Workspaces, func(d crds.WorkspaceDeclaration) bool { return d.Name == usage.Name }) {
			return invalid("%s: undefined workspace %q", what, usage.Name)
		}
		if isOurs(usage.MountPath) {
			return invalid("%s: "+notThere, what, usage.Name, usage.MountPath)
		}
	}
	return nil
}

func checkResults(_ *crds.TaskSpec, step crds.Step, name string) *refusal {
	seen := map[string]bool{}
	for _, result := range step.Results {
		switch {
		case !resultName.MatchString(result.Name):
			return invalid("step %q: result %q: its name becomes the name of a file, and can have letters, digits, -, _ and . with a letter or digit at both ends", name, result.Name)
		case seen[result.Name]:
			return invalid("step %q: there is more than one result %q", name, result.Name)
		}
		seen[result.Name] = true
	}
	return nil
}

func checkWhen(_ *crds.TaskSpec, step crds.Step, name string) *refusal {
	for _, when := range step.When {
		switch {
		case when.CEL != "": // forAttempt finds what is wrong with it
		case when.Operator != crds.WhenIn && when.Operator != crds.WhenNotIn:
			return invalid("step %q: when: operator %q is not recognized. valid operators: in,notin", name, when.Operator)
		case len(when.Values) == 0:
			return invalid("step %q: when: expecting non-empty values field", name)
		}
	}
	return nil
}
