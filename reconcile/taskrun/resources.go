package taskrun

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"millrace/crds"
)

// stepResources gives the steps what the run says about them: for single steps
// over what the task says, for all together instead of it.
func stepResources(run *crds.TaskRun, steps []mergedStep) {
	for i := range steps {
		for _, own := range run.Spec.StepSpecs {
			if own.Name == steps[i].Name {
				steps[i].container.Resources = overResources(steps[i].container.Resources, own.ComputeResources)
			}
		}
	}
	if whole := run.Spec.ComputeResources; whole != nil {
		for i := range steps {
			steps[i].container.Resources = share(*whole, len(steps))
		}
	}
}

// sidecarResources likewise.
func sidecarResources(run *crds.TaskRun, sidecar crds.Sidecar) corev1.ResourceRequirements {
	resources := sidecar.ComputeResources
	for _, own := range run.Spec.SidecarSpecs {
		if own.Name == sidecar.Name {
			resources = overResources(resources, own.ComputeResources)
		}
	}
	return resources
}

func overResources(under, over corev1.ResourceRequirements) corev1.ResourceRequirements {
	under.Requests = overList(under.Requests, over.Requests)
	under.Limits = overList(under.Limits, over.Limits)
	if len(over.Claims) > 0 {
		under.Claims = over.Claims
	}
	return under
}

func overList(under, over corev1.ResourceList) corev1.ResourceList {
	if len(over) == 0 {
		return under
	}
	merged := maps.Clone(under)
	if merged == nil {
		merged = corev1.ResourceList{}
	}
	maps.Copy(merged, over)
	return merged
}

// share is what each of n steps requests so that their pod requests the whole:
// Kubernetes adds up all containers, though steps take turns. Any of them may use
// up to the whole limit. Without requests the limits are what Kubernetes would
// request, once for each step.
func share(whole corev1.ResourceRequirements, n int) corev1.ResourceRequirements {
	requests := whole.Requests
	if len(requests) == 0 {
		requests = whole.Limits
	}
	each := corev1.ResourceList{}
	for name, quantity := range requests {
		each[name] = divide(name, quantity, n)
	}
	return corev1.ResourceRequirements{Requests: each, Limits: whole.Limits, Claims: whole.Claims}
}

// divide rounds down: rounded up, the parts could exceed a quota that the whole
// just meets.
func divide(name corev1.ResourceName, quantity resource.Quantity, n int) resource.Quantity {
	if name == corev1.ResourceCPU {
		return *resource.NewMilliQuantity(quantity.MilliValue()/int64(n), quantity.Format)
	}
	return *resource.NewQuantity(quantity.Value()/int64(n), quantity.Format)
}

// checkSpecs refuses resources for what the task does not have.
func checkSpecs(run *crds.TaskRun, spec *crds.TaskSpec) *refusal {
	for _, own := range run.Spec.StepSpecs {
		if !slices.ContainsFunc(spec.Steps, func(s crds.Step) bool { return s.Name == own.Name }) {
			return invalid("spec.stepSpecs: the task has no step %q", own.Name)
		}
	}
	for _, own := range run.Spec.SidecarSpecs {
		if !slices.ContainsFunc(spec.Sidecars, func(s crds.Sidecar) bool { return s.Name == own.Name }) {
			return invalid("spec.sidecarSpecs: the task has no sidecar %q", own.Name)
		}
	}
	return nil
}
