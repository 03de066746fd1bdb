package conversion

import "millrace/crds"

// A walk goes through an object and turns its fields into those of the other
// version: up from v1beta1 to v1, or down. One walk serves both ways, so that a
// field which is renamed up cannot be forgotten down.
type walk struct{ up bool }

// rename moves what the versions call by different names.
func (w walk) rename(m map[string]any, beta, v1 string) {
	from, to := beta, v1
	if !w.up {
		from, to = v1, beta
	}
	if value, ok := m[from]; ok {
		m[to] = value
		delete(m, from)
	}
}

// leave takes out what v1 has no field for. (An API server would: it prunes.)
func (w walk) leave(m map[string]any, beta ...string) {
	if w.up {
		for _, name := range beta {
			delete(m, name)
		}
	}
}

func (w walk) object(object map[string]any) {
	switch object["kind"] {
	case crds.KindTask:
		child(object, "spec", w.taskSpec)
	case crds.KindTaskRun:
		child(object, "spec", w.taskRunSpec)
		child(object, "status", w.taskRunStatus)
	case crds.KindPipeline:
		child(object, "spec", w.pipelineSpec)
	case crds.KindPipelineRun:
		child(object, "spec", w.pipelineRunSpec)
		child(object, "status", w.pipelineRunStatus)
	}
}

func (w walk) taskSpec(spec map[string]any) {
	w.leave(spec, "resources") // of PipelineResources
	each(spec, "steps", w.step)
	child(spec, "stepTemplate", w.stepTemplate)
	each(spec, "sidecars", w.computeResources)
}

// A step was a whole container once; what makes no sense of a step is gone in v1.
func (w walk) step(step map[string]any) {
	w.computeResources(step)
	child(step, "ref", w.resolverRef)
	w.leave(step, "ports", "livenessProbe", "readinessProbe", "startupProbe", "lifecycle",
		"terminationMessagePath", "terminationMessagePolicy", "stdin", "stdinOnce", "tty")
}

func (w walk) stepTemplate(template map[string]any) {
	w.step(template)
	w.leave(template, "name")
}

// computeResources are called resources in v1beta1, where the word meant two things.
func (w walk) computeResources(container map[string]any) {
	w.rename(container, "resources", "computeResources")
}

func (w walk) taskRunSpec(spec map[string]any) {
	w.leave(spec, "resources")
	child(spec, "debug", func(debug map[string]any) { w.leave(debug, "breakpoint") })
	child(spec, "taskRef", w.taskRef)
	child(spec, "taskSpec", w.taskSpec)
	w.overrides(spec)
}

// overrides are the resources that a run gives to single steps and sidecars.
func (w walk) overrides(m map[string]any) {
	for beta, v1 := range map[string]string{"stepOverrides": "stepSpecs", "sidecarOverrides": "sidecarSpecs"} {
		each(m, beta, w.computeResources)
		if !w.up {
			each(m, v1, w.computeResources)
		}
		w.rename(m, beta, v1)
	}
}

func (w walk) taskRunStatus(status map[string]any) {
	w.leave(status, "cloudEvents", "resourcesResult")
	w.rename(status, "taskResults", "results")
	child(status, "taskSpec", w.taskSpec)
	child(status, "provenance", w.provenance)
	each(status, "retriesStatus", w.taskRunStatus)
	each(status, "steps", func(step map[string]any) { child(step, "provenance", w.provenance) })
}

// configSource is what refSource was called when it was tried out.
func (w walk) provenance(provenance map[string]any) {
	w.leave(provenance, "configSource")
}

func (w walk) pipelineSpec(spec map[string]any) {
	w.leave(spec, "resources")
	each(spec, "tasks", w.pipelineTask)
	each(spec, "finally", w.pipelineTask)
}

func (w walk) pipelineTask(task map[string]any) {
	w.leave(task, "resources", "conditions")
	child(task, "taskRef", w.taskRef)
	child(task, "taskSpec", w.taskSpec)
	child(task, "pipelineRef", w.pipelineRef)
	child(task, "pipelineSpec", w.pipelineSpec)
}

func (w walk) pipelineRunSpec(spec map[string]any) {
	w.leave(spec, "resources", "serviceAccountNames")
	child(spec, "pipelineRef", w.pipelineRef)
	child(spec, "pipelineSpec", w.pipelineSpec)
	each(spec, "taskRunSpecs", w.taskRunSpecOfPipeline)
	w.taskRunTemplate(spec)
	w.timeout(spec)
}

func (w walk) taskRunSpecOfPipeline(spec map[string]any) {
	w.rename(spec, "taskServiceAccountName", "serviceAccountName")
	w.rename(spec, "taskPodTemplate", "podTemplate")
	w.overrides(spec)
}

// taskRunTemplate holds in v1 what lies beside it in v1beta1. One that would be
// empty is there only if it was before.
func (w walk) taskRunTemplate(spec map[string]any) {
	template, ok := spec["taskRunTemplate"].(map[string]any)
	if !ok {
		template = map[string]any{}
	}
	from, to := spec, template
	if !w.up {
		from, to = template, spec
	}
	moved := false
	for _, name := range []string{"serviceAccountName", "podTemplate"} {
		if value, ok := from[name]; ok {
			to[name], moved = value, true
			delete(from, name)
		}
	}
	switch {
	case !moved:
	case len(template) == 0:
		delete(spec, "taskRunTemplate")
	default:
		spec["taskRunTemplate"] = template
	}
}

// timeout is one of three in v1, and v1beta1 has those three too: what is there
// stays there on the way down, unless it was kept that it was a timeout.
func (w walk) timeout(spec map[string]any) {
	if timeout, ok := spec["timeout"]; ok && w.up {
		spec["timeouts"] = map[string]any{"pipeline": timeout}
		delete(spec, "timeout")
	}
}

func (w walk) pipelineRunStatus(status map[string]any) {
	w.leave(status, "taskRuns", "runs")
	w.rename(status, "pipelineResults", "results")
	child(status, "pipelineSpec", w.pipelineSpec)
	child(status, "provenance", w.provenance)
}

func (w walk) taskRef(ref map[string]any)     { w.reference(ref, crds.KindTask) }
func (w walk) pipelineRef(ref map[string]any) { w.reference(ref, crds.KindPipeline) }

func (w walk) reference(ref map[string]any, kind string) {
	w.resolverRef(ref)
	bundle, ok := ref["bundle"].(string)
	if !ok || !w.up {
		return
	}
	delete(ref, "bundle")
	if bundle == "" {
		return
	}
	name, _ := ref["name"].(string)
	delete(ref, "name")
	ref["resolver"] = "bundles"
	ref["params"] = []any{param("bundle", bundle), param("name", name), param("kind", kind)}
}

func param(name, value string) map[string]any { return map[string]any{"name": name, "value": value} }

// resolverRef calls the parameters of a resolver so, which were its resource once;
// v1beta1 knows the later name too.
func (w walk) resolverRef(ref map[string]any) {
	if _, ok := ref["resource"]; ok && w.up {
		w.rename(ref, "resource", "params")
	}
}
