package conversion

import (
	"fmt"
	"math/rand/v2"
	"slices"
)

// random makes objects out of the fields that the rules know, of both versions and
// side by side as no server would have them, of fields that nobody knows, and now
// and then of values of the wrong type.
type random struct{ *rand.Rand }

// fields are what an object of one place may have, and what makes their values.
type fields map[string]func() any

func (r random) object(apiVersion string) map[string]any {
	kind := []string{"Task", "TaskRun", "Pipeline", "PipelineRun"}[r.IntN(4)]
	object := map[string]any{"apiVersion": apiVersion, "kind": kind, "metadata": r.metadata()}
	spec := map[string]func() any{"Task": r.taskSpec, "TaskRun": r.taskRunSpec, "Pipeline": r.pipelineSpec, "PipelineRun": r.pipelineRunSpec}[kind]
	status := map[string]func() any{"TaskRun": r.taskRunStatus, "PipelineRun": r.pipelineRunStatus}[kind]
	if value, ok := spec().(map[string]any); ok && r.IntN(20) > 0 {
		object["spec"] = value
	}
	if status != nil && r.IntN(2) == 0 {
		if value, ok := status().(map[string]any); ok {
			object["status"] = value
		}
	}
	return object
}

func (r random) metadata() map[string]any {
	metadata := map[string]any{"name": r.word()}
	if r.IntN(2) == 0 {
		metadata["annotations"] = map[string]any{"example.com/a": r.word(), "tekton.dev/v1beta1Other": r.word()}
	}
	if r.IntN(8) == 0 { // handed on from an object of another kind, or a user's own
		handed := map[string]any{}
		for _, name := range []string{AnnotationKept, AnnotationKeptV1, "tekton.dev/v1beta1Resources"} {
			if r.IntN(2) == 0 {
				handed[name] = []string{`{"kind":"StepAction","fields":[{"at":["spec"],"is":{"a":1}}]}`, "x"}[r.IntN(2)]
			}
		}
		metadata["annotations"] = handed
	}
	return metadata
}

// some returns an object with some of the fields.
func (r random) some(all fields) any {
	if r.IntN(40) == 0 {
		return r.anything(2)
	}
	names := make([]string, 0, len(all))
	for name := range all {
		names = append(names, name)
	}
	slices.Sort(names) // the same seed makes the same object
	m := map[string]any{}
	for _, name := range names {
		if r.IntN(3) == 0 {
			m[name] = all[name]()
		}
	}
	if r.IntN(10) == 0 {
		m[r.word()] = r.anything(2)
	}
	return m
}

func (r random) list(element func() any) func() any {
	return func() any {
		list := make([]any, r.IntN(4))
		for i := range list {
			list[i] = element()
		}
		return list
	}
}

func (r random) word() string {
	return []string{"a", "b", "c", "name", "resources", "spec", ""}[r.IntN(7)]
}

func (r random) text() any { return r.word() }

func (r random) anything(depth int) any {
	switch n := r.IntN(8); {
	case n == 0:
		return nil
	case n == 1:
		return r.IntN(2) == 0
	case n == 2:
		return int64(r.IntN(1000))
	case n == 3:
		return r.Float64()
	case n < 6 || depth == 0:
		return r.word()
	case n == 6:
		return []any{r.anything(depth - 1), r.anything(depth - 1)}
	default:
		return map[string]any{r.word(): r.anything(depth - 1), r.word(): r.anything(depth - 1)}
	}
}

func (r random) any() any { return r.anything(2) }

func (r random) step() any {
	return r.some(fields{"name": r.text, "image": r.text, "resources": r.any, "computeResources": r.any,
		"ports": r.any, "tty": r.any, "lifecycle": r.any, "stdin": r.any, "script": r.text, "ref": r.ref})
}

func (r random) taskSpec() any {
	return r.some(fields{"resources": r.any, "steps": r.list(r.step), "stepTemplate": r.step, "sidecars": r.list(r.step),
		"params": r.any, "apiVersion": r.text, "metadata": r.any})
}

func (r random) ref() any {
	return r.some(fields{"name": r.text, "kind": r.text, "bundle": r.text, "resolver": r.text, "resource": r.any, "params": r.any})
}

func (r random) override() any {
	return r.some(fields{"name": r.text, "resources": r.any, "computeResources": r.any})
}

func (r random) taskRunSpec() any {
	return r.some(fields{"taskRef": r.ref, "taskSpec": r.taskSpec, "resources": r.any, "timeout": r.text,
		"debug":         func() any { return r.some(fields{"breakpoint": r.any, "breakpoints": r.any}) },
		"stepOverrides": r.list(r.override), "stepSpecs": r.list(r.override), "sidecarOverrides": r.list(r.override), "sidecarSpecs": r.list(r.override)})
}

func (r random) provenance() any {
	return r.some(fields{"configSource": r.any, "refSource": r.any})
}

func (r random) taskRunStatus() any {
	all := fields{"taskResults": r.any, "results": r.any, "taskSpec": r.taskSpec, "cloudEvents": r.any, "resourcesResult": r.any,
		"podName": r.text, "provenance": r.provenance,
		"steps": r.list(func() any { return r.some(fields{"name": r.text, "provenance": r.provenance}) })}
	if r.IntN(3) == 0 {
		all["retriesStatus"] = r.list(r.taskRunStatus)
	}
	return r.some(all)
}

func (r random) pipelineTask() any {
	all := fields{"name": r.text, "taskRef": r.ref, "taskSpec": r.taskSpec, "pipelineRef": r.ref, "resources": r.any, "conditions": r.any,
		"timeout": r.text, "when": r.any}
	if r.IntN(8) == 0 {
		all["pipelineSpec"] = r.pipelineSpec
	}
	return r.some(all)
}

func (r random) pipelineSpec() any {
	return r.some(fields{"resources": r.any, "tasks": r.list(r.pipelineTask), "finally": r.list(r.pipelineTask), "description": r.text})
}

func (r random) pipelineRunSpec() any {
	return r.some(fields{"pipelineRef": r.ref, "pipelineSpec": r.pipelineSpec, "resources": r.any, "serviceAccountName": r.text,
		"podTemplate": r.any, "taskRunTemplate": func() any {
			return r.some(fields{"serviceAccountName": r.text, "podTemplate": r.any})
		},
		"timeout": r.text, "timeouts": r.any, "serviceAccountNames": r.any,
		"taskRunSpecs": r.list(func() any {
			return r.some(fields{"pipelineTaskName": r.text, "taskServiceAccountName": r.text, "serviceAccountName": r.text,
				"taskPodTemplate": r.any, "podTemplate": r.any, "stepOverrides": r.list(r.override), "stepSpecs": r.list(r.override)})
		})})
}

func (r random) pipelineRunStatus() any {
	return r.some(fields{"pipelineResults": r.any, "results": r.any, "taskRuns": r.any, "runs": r.any, "pipelineSpec": r.pipelineSpec,
		"provenance": r.provenance})
}

// seeded makes the object of a number, and says which.
func seeded(seed uint64, apiVersion string) (object map[string]any, name string) {
	r := random{rand.New(rand.NewPCG(seed, 7))}
	return r.object(apiVersion), fmt.Sprintf("seed %d", seed)
}
