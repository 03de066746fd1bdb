package taskrun

import (
	"encoding/json"
	"path"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"millrace/crds"
	"millrace/reconcile/variables"
)

// entrypointArgs is the command line of the step's entrypoint; the contract is
// that of the entrypoint package.
func (b blueprint) entrypointArgs(step mergedStep, i, size int) []string {
	container := containerName(step.Step, i)
	var args []string
	if i > 0 {
		args = append(args, "-wait_file", runDir+"/"+strconv.Itoa(i-1)+"/out")
	}
	args = append(args,
		"-post_file", runDir+"/"+strconv.Itoa(i)+"/out",
		"-termination_path", terminationLog,
		"-step_metadata_dir", stepsDir+"/"+container)
	args = append(args, resultArgs(b.spec, step.Step)...)
	if b.collects() {
		args = append(args, "-results_elsewhere")
	} else if b.config.CompressMessages {
		args = append(args, "-compress")
	}
	if step.OnError != "" {
		args = append(args, "-on_error", string(step.OnError))
	}
	if step.Timeout != nil {
		args = append(args, "-timeout", step.Timeout.Duration.String())
	}
	if step.StdoutConfig != nil {
		args = append(args, "-stdout_path", step.StdoutConfig.Path)
	}
	if step.StderrConfig != nil {
		args = append(args, "-stderr_path", step.StderrConfig.Path)
	}
	if size < maxMessage {
		args = append(args, "-max_message", strconv.Itoa(size))
	}
	if dir := workingDir(step.container.WorkingDir); inWorkspace(dir) {
		args = append(args, "-working_dir", dir)
	}
	args = append(args, b.credentialArgs()...)
	earlier := b.spec.Steps[:i]
	if len(step.When) > 0 {
		for _, piece := range pieces(conditions(earlier, step.When), maxArgument) {
			args = append(args, "-when", escape(piece))
		}
	}
	command := step.container.Command
	if step.Script != "" {
		file := scriptsDir + "/script-" + strconv.Itoa(i)
		args = append(args, scriptArgs(step.Script, file)...)
		command = []string{file}
	}
	args = append(args, environmentArgs(earlier, step.container.Env)...)
	filled, command := commandArgs(earlier, slices.Concat(command, step.container.Args))
	args = append(args, filled...)
	args = append(args, "-entrypoint", command[0], "--")
	return append(args, command[1:]...)
}

// resultArgs name the results that the step may leave: the task's, but for those
// that have a value, and its own.
func resultArgs(spec *crds.TaskSpec, step crds.Step) []string {
	var args, ofTask []string
	own := make([]string, 0, len(step.Results))
	for _, result := range spec.Results {
		if result.Value == nil {
			ofTask = append(ofTask, result.Name)
		}
	}
	for _, result := range step.Results {
		own = append(own, result.Name)
	}
	if len(ofTask) > 0 {
		args = append(args, "-results", strings.Join(ofTask, ","))
	}
	if len(own) > 0 {
		args = append(args, "-step_results", strings.Join(own, ","))
	}
	return args
}

func scriptArgs(script, file string) []string {
	var args []string
	for _, piece := range pieces(withInterpreter(script), maxArgument) {
		args = append(args, "-script", escape(piece))
	}
	return append(args, "-script_file", file)
}

// commandArgs takes the results of earlier steps out of a command: the flags say
// where they belong.
func commandArgs(earlier []crds.Step, command []string) (args, rest []string) {
	rest = slices.Clone(command)
	for i, argument := range command {
		if variables.RefersLater(argument) {
			args = append(append(args, "-arg", strconv.Itoa(i)), templateArgs(earlier, argument)...)
			rest[i] = "-" // a placeholder
		}
	}
	return args, rest
}

// environmentArgs set variables anew that have results of earlier steps in them.
func environmentArgs(earlier []crds.Step, env []corev1.EnvVar) []string {
	var args []string
	for _, variable := range env {
		if variables.RefersLater(variable.Value) {
			args = append(append(args, "-env", variable.Name), templateArgs(earlier, variable.Value)...)
		}
	}
	return args
}

func templateArgs(earlier []crds.Step, text string) []string {
	var args []string
	for _, p := range variables.SplitForKubelet(text, []string{variables.LaterResult}) {
		if p.Ref == "" {
			args = append(args, "-text", p.Text)
			continue
		}
		result, _ := findStepResult(earlier, p.Ref) // checkStepResults has found it
		args = append(args, "-ref", result.String())
	}
	return args
}

// conditions are those of a step as its entrypoint reads them.
func conditions(earlier []crds.Step, when crds.WhenExpressions) string {
	type part struct {
		Text string `json:"text,omitempty"`
		Ref  string `json:"ref,omitempty"`
	}
	template := func(text string) []part {
		pieces := variables.Split(text, []string{variables.LaterResult})
		parts := make([]part, 0, len(pieces))
		for _, p := range pieces {
			if p.Ref != "" {
				result, _ := findStepResult(earlier, p.Ref)
				p.Ref = result.String()
			}
			parts = append(parts, part{p.Text, p.Ref})
		}
		return parts
	}
	type condition struct {
		Input    []part            `json:"input"`
		Operator crds.WhenOperator `json:"operator"`
		Values   [][]part          `json:"values"`
	}
	all := make([]condition, len(when))
	for i, w := range when {
		all[i] = condition{Input: template(w.Input), Operator: w.Operator}
		for _, value := range w.Values {
			all[i].Values = append(all[i].Values, template(value))
		}
	}
	raw, err := json.Marshal(all)
	if err != nil {
		panic(err) // strings only
	}
	return string(raw)
}

// workingDir makes a relative directory one of the workspace, as Tekton does.
func workingDir(dir string) string {
	if dir == "" || path.IsAbs(dir) {
		return dir
	}
	return path.Join(workspaceDir, dir)
}

// inWorkspace tells the directories that Tekton has an init container make. Here
// the entrypoint makes them: the container runtime would do it as root, so that
// steps of other users could not write there.
func inWorkspace(dir string) bool {
	return strings.HasPrefix(path.Clean(dir), workspaceDir+"/")
}
