package validation

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"millrace/crds"
	"millrace/crds/defaulting"
	"millrace/crds/reference"
)

// A scope is what references in the texts of one task can be to.
type scope struct {
	params     map[string]param
	beyond     *scope // of the pipeline that the task is written in; nil if there is none
	results    map[string]bool
	workspaces map[string]bool
	steps      steps
	open       bool // it is part of a pipeline, which hands down parameters and workspaces of its own
	loose      bool // it is a Pipeline's, whose arrays Tekton does not look for in its tasks
}

// A param is what a reference has to know of a parameter.
type param struct {
	kind  crds.ParamType
	keys  map[string]crds.PropertySpec // of an object; nil if nobody knows
	value *crds.ParamValue             // what the run gives; nil if it is not known yet
}

// scopeOf is what the task itself declares.
func scopeOf(spec *crds.TaskSpec) *scope {
	s := &scope{
		params:     paramsOf(spec.Params),
		results:    make(map[string]bool, len(spec.Results)),
		workspaces: declaredWorkspaces(spec),
		steps:      stepsOf(spec.Steps),
	}
	for _, result := range spec.Results {
		s.results[result.Name] = true
	}
	return s
}

func declaredWorkspaces(spec *crds.TaskSpec) map[string]bool {
	declared := make(map[string]bool, len(spec.Workspaces))
	for _, workspace := range spec.Workspaces {
		declared[workspace.Name] = true
	}
	return declared
}

func paramsOf(specs crds.ParamSpecs) map[string]param {
	params := make(map[string]param, len(specs))
	for _, spec := range specs {
		params[spec.Name] = param{kind: defaulting.ParamType(spec), keys: spec.Properties}
	}
	return params
}

// give adds what a run gives to a task that is written in it, which need not declare it.
// What the run gives says which type is meant, and the task which keys there are.
func (s *scope) give(params crds.Params, workspaces []crds.WorkspaceBinding) {
	for i, p := range params {
		declared := s.params[p.Name]
		declared.value = &params[i].Value
		declared.kind = defaulting.ValueType(p.Value)
		if declared.keys == nil {
			declared.keys = keysOf(p.Value)
		}
		s.params[p.Name] = declared
	}
	for _, w := range workspaces {
		s.workspaces[w.Name] = true
	}
}

// keepArrays: what is declared as an array Tekton looks for as one, whatever is given.
func (s *scope) keepArrays(specs crds.ParamSpecs) {
	for _, spec := range specs {
		if p := s.params[spec.Name]; defaulting.ParamType(spec) == crds.ParamTypeArray {
			p.kind = crds.ParamTypeArray
			s.params[spec.Name] = p
		}
	}
}

func keysOf(value crds.ParamValue) map[string]crds.PropertySpec {
	if value.Type != crds.ParamTypeObject {
		return nil
	}
	keys := make(map[string]crds.PropertySpec, len(value.ObjectVal))
	for key := range value.ObjectVal {
		keys[key] = crds.PropertySpec{}
	}
	return keys
}

// A place is a text in which references are, and what can be put in there.
type place struct {
	strict   bool            // Tekton looks here; elsewhere it finds out when the task runs
	elements bool            // a whole element can be a whole array: of command and args
	values   bool            // a whole text can be a whole array or object: the value of a parameter
	early    bool            // here Tekton looks for results of steps and artifacts, and for nothing else
	later    bool            // the results of the steps before it are known
	script   bool            // the text is a program
	step     int             // which step it is in; -1 outside of steps
	results  map[string]bool // those of the step itself, in its script
}

// A fault is why a reference is no good there.
type fault struct {
	refused bool // else its author is told
	fails   bool // no run can do it, also where its author is only told
	early   bool // refused in places that are early, too
	why     string
}

func wrong(why string, args ...any) *fault {
	return &fault{refused: true, fails: true, why: fmt.Sprintf(why, args...)}
}
func doubtful(why string, args ...any) *fault {
	return &fault{fails: true, why: fmt.Sprintf(why, args...)}
}

// text looks at each reference of a text. One that is refused is enough.
func (r *report) text(at *field.Path, text string, s *scope, in place) {
	if !refers(text) {
		return
	}
	refused := false
	reference.Each(text, func(name string) {
		f := s.judge(name, text, in)
		switch {
		case f == nil || refused:
		case f.refused && in.strict, f.early && in.early:
			refused = true
			r.invalid(at, field.OmitValueType{}, "$(%s): %s", cut(name), f.why)
		case f.fails:
			r.warn(at, "the run will fail: $(%s): %s", cut(name), f.why)
		default:
			r.warn(at, "$(%s): %s", cut(name), f.why)
		}
	})
	if in.script {
		r.injection(at, text)
	}
}

// refers tells whether there may be a reference in a text: in most there is none.
func refers(text string) bool { return strings.Contains(text, "$(") }

// injection warns of values that become a part of a program: whoever gives the value
// says what the program does.
func (r *report) injection(at *field.Path, script string) {
	first := ""
	reference.Each(script, func(name string) {
		if _, ok := reference.Of("params", strings.TrimPrefix(name, "inputs.")); ok && first == "" {
			first = name
		}
	})
	if first != "" {
		r.warn(at, "$(%s) becomes a part of the script, and whoever gives the value can run commands: pass it by env, as X, and write \"$X\"", cut(first))
	}
}

// judge tells what is wrong with a reference; nil if nothing is, or if it is none of
// ours, as $(date) is the shell's.
func (s *scope) judge(name, text string, in place) *fault {
	switch {
	case strings.HasPrefix(name, "params.") || strings.HasPrefix(name, "params["):
		return s.judgeParam(name, text, in)
	case strings.HasPrefix(name, "inputs.params."):
		return s.judgeOldParam(strings.TrimPrefix(name, "inputs."), text, in)
	case strings.HasPrefix(name, "context.task"):
		return judgeContext(name, in)
	case strings.HasPrefix(name, "results.") || strings.HasPrefix(name, "results["):
		return s.judgeResult(name, in)
	case strings.HasPrefix(name, "step.results.") && in.results != nil:
		return judgeOwnResult(name, in)
	case reference.IsArtifact(name):
		return &fault{refused: true, early: true, fails: true, why: "artifacts are not served: leave a result instead"}
	case reference.IsStepResult(name):
		return s.judgeStepResult(name, in)
	case strings.HasPrefix(name, "workspaces.") && !s.open:
		return s.judgeWorkspace(name)
	default:
		return nil
	}
}

// judgeOldParam: Tekton does not look at them any more, and puts them in.
func (s *scope) judgeOldParam(name, text string, in place) *fault {
	if f := s.judgeParam(name, text, in); f != nil {
		return &fault{fails: f.fails, why: f.why}
	}
	return &fault{why: fmt.Sprintf("this way to write it is from before v1beta1: write $(%s)", cut(name))}
}

func (s *scope) judgeParam(name, text string, in place) *fault {
	v, ok := reference.Of("params", name)
	if deep(v) && strings.HasPrefix(name, "params.") {
		return wrong("it has more than two dots; if the name of a parameter has them, write $(params[\"<name>\"])")
	}
	known, declared := s.param(v.Name)
	switch {
	case (!ok || !declared) && s.open:
		return nil
	case noReference(name, ok):
		return unquoted()
	case !ok || !declared:
		return s.unknownParam(name)
	case known.kind == crds.ParamTypeArray:
		f := judgeArray(v, known, text, in)
		if _, own := s.params[v.Name]; f != nil && !own && s.beyond.loose {
			f.refused = false
		}
		return f
	case known.kind == crds.ParamTypeObject:
		return s.judgeObject(v, known, in)
	case v.Rest == "" || v.Whole() && in.values || s.declares(v.Name+v.Rest):
		return nil
	default:
		return doubtful("parameter %q is a string, and has no parts: leave out what follows its name", cut(v.Name))
	}
}

// noReference tells brackets in which there is no name within quotes. Tekton does not look
// at them.
func noReference(name string, isVariable bool) bool {
	return !isVariable && strings.HasPrefix(name, "params[")
}

func unquoted() *fault {
	return doubtful("it is no reference to a parameter: write $(params.<name>), or $(params[\"<name>\"])")
}

// param is the one of that name: the task's own, or the pipeline's.
func (s *scope) param(name string) (param, bool) {
	known, declared := s.params[name]
	if !declared && s.beyond != nil {
		return s.beyond.param(name)
	}
	return known, declared
}

func (s *scope) declares(name string) bool {
	_, declared := s.param(name)
	return declared
}

func (s *scope) unknownParam(name string) *fault {
	if dotted := strings.TrimPrefix(name, "params."); s.declares(dotted) {
		return wrong("a dot comes before the key of an object; since the name itself has one, write $(params[%q])", cut(dotted))
	}
	return wrong("there is no such parameter: declare it in params, or correct the name")
}

// deep tells names with more dots than an object and its key have.
func deep(v reference.Variable) bool {
	return strings.HasPrefix(v.Rest, ".") && strings.Contains(v.Rest[1:], ".")
}

func judgeArray(v reference.Variable, of param, text string, in place) *fault {
	if index, indexed := v.Index(); indexed {
		if of.value != nil && (index < 0 || index >= len(of.value.ArrayVal)) {
			return doubtful("the run gives %q %d elements, and the first is [0]: give more, or take another", cut(v.Name), len(of.value.ArrayVal))
		}
		return nil
	}
	_, isolated := reference.Whole(text)
	if isolated && (in.elements || in.values) {
		return nil
	}
	if in.elements {
		return wrong("parameter %q is an array, which can only be a whole element: make $(params.%s[*]) an element of its own", cut(v.Name), cut(v.Name))
	}
	return wrong("parameter %q is an array, which can only be a whole element of command or args: put it there, or take one of its elements, $(params.%s[0])", cut(v.Name), cut(v.Name))
}

func (s *scope) judgeObject(v reference.Variable, of param, in place) *fault {
	f := &fault{refused: !s.open, fails: true}
	key, keyed := v.Key()
	_, known := of.keys[key]
	switch {
	case keyed && (known || of.keys == nil), !keyed && in.values:
		return nil
	case keyed:
		f.why = fmt.Sprintf("object %q has no key %q: declare it in its properties, or correct the name", cut(v.Name), cut(key))
	default:
		f.why = fmt.Sprintf("parameter %q is an object, and cannot be put in as a whole: write $(params.%s.<key>)", cut(v.Name), cut(v.Name))
	}
	return f
}

// judgeContext: in a StepAction Tekton does not look.
func judgeContext(name string, in place) *fault {
	const are = "there are context.taskRun.name, .namespace and .uid, context.task.name and .retry-count"
	for scope, names := range map[string][]string{
		"context.taskRun": {"name", "namespace", "uid"},
		"context.task":    {"name", "retry-count"},
	} {
		v, is := reference.Of(scope, name)
		switch {
		case !is:
		case !slices.Contains(names, v.Name) || deep(v):
			return &fault{refused: in.step >= 0, fails: true, why: "there is no such variable; " + are}
		case v.Rest != "":
			return doubtful("it is a text, and has no parts: leave out what follows the name; %s", are)
		default:
			return nil
		}
	}
	return nil
}

// judgeResult: Tekton looks for results of the task in scripts only.
func (s *scope) judgeResult(name string, in place) *fault {
	v, ok := reference.Of("results", name)
	switch {
	case ok && s.results[v.Name] && v.Rest == ".path":
		return nil
	case ok && s.results[v.Name] && !deep(v):
		return doubtful("a result is written to a file: write $(results.%s.path)", cut(v.Name))
	default:
		return &fault{refused: in.script, fails: true, why: "the task has no such result: declare it in results, or correct the name; a name with dots is written $(results[\"<name>\"].path)"}
	}
}

func judgeOwnResult(name string, in place) *fault {
	v, ok := reference.Of("step.results", name)
	switch {
	case ok && in.results[v.Name] && !deep(v):
		return nil
	case len(in.results) == 0 && in.step >= 0: // Tekton does not look
		return &fault{why: "the step declares no results, and this stays as it is written: declare it in the results of the step"}
	}
	return wrong("the step has no such result: declare it in the results of the step, or correct the name")
}

func (s *scope) judgeStepResult(name string, in place) *fault {
	step, rest, _ := strings.Cut(strings.TrimPrefix(name, "steps."), ".results.")
	switch {
	case !in.later:
		return &fault{refused: in.step >= 0, early: true, fails: true, why: "what a step has found out is known only in env, command, args and when of the steps after it: pass it by env"}
	case in.step >= 0 && !s.steps.leave(step, rest, in.step):
		return doubtful("no step before this one declares such a result: declare it in the results of that step, or correct the name")
	default:
		return nil
	}
}

func (s *scope) judgeWorkspace(name string) *fault {
	workspace, _, _ := strings.Cut(strings.TrimPrefix(name, "workspaces."), ".")
	if s.workspaces[workspace] || s.beyond != nil && s.beyond.workspaces[workspace] {
		return nil
	}
	return &fault{why: "the task declares no such workspace, and this stays as it is written: declare it in workspaces, or correct the name"}
}
