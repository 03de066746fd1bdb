package taskrun

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"cel.dev/cel-go/cel"

	"millrace/crds"
)

// A condition of a step may be an expression in CEL. Tekton's entrypoint evaluates
// them; ours, which is in every pod, has 2.7 MB, and a program that does nothing but
// evaluate has 9.5. So they are decided here, before there is a pod. What earlier steps will have found
// out is not known then: an expression that refers to it is refused.

// An expression has an end. Without these a worker would be anybody's: to check the
// types of maps within maps, 240 deep, takes five seconds for each kilobyte.
const (
	maxExpression      = 4 << 10 // characters
	maxExpressionDepth = 30
	maxExpressionCost  = 100_000 // CEL's units: about one for each operation and each ten characters
	maxExpressions     = 25      // of a task
)

// evaluate tells whether an expression holds.
func evaluate(expression string) (bool, error) {
	env, err := cel.NewEnv(cel.ParserExpressionSizeLimit(maxExpression), cel.ParserRecursionLimit(maxExpressionDepth))
	if err != nil {
		return false, fmt.Errorf("set up CEL: %w", err)
	}
	ast, issues := env.Compile(expression)
	if issues.Err() != nil {
		first := issues.Errors()[0]
		return false, fmt.Errorf("at %d:%d: %s", first.Location.Line(), first.Location.Column()+1, first.Message)
	}
	program, err := env.Program(ast, cel.CostLimit(maxExpressionCost))
	if err != nil {
		return false, err
	}
	value, _, err := program.Eval(cel.NoVars())
	if err != nil {
		return false, err
	}
	holds, ok := value.Value().(bool)
	if !ok {
		return false, fmt.Errorf("it is a %s, and must be true or false", value.Type().TypeName())
	}
	return holds, nil
}

// forAttempt is the spec as the attempt runs it: with its number in place of the
// reference to that, and with every expression decided.
func forAttempt(run *crds.TaskRun, spec *crds.TaskSpec) (*crds.TaskSpec, *refusal) {
	var err error
	if run.Spec.Retries > 0 {
		if spec, err = apply(attemptNumber(strconv.Itoa(attempt(run))), spec); err != nil {
			return nil, invalid("%v", err)
		}
	}
	out := *spec
	out.Steps = slices.Clone(spec.Steps)
	for i, step := range out.Steps {
		if out.Steps[i].When, err = decide(step.When); err != nil {
			return nil, invalid("step %q: when.cel: %v", stepName(step, i), err)
		}
	}
	return &out, nil
}

// decide puts what has come of each expression in its place.
func decide(when crds.WhenExpressions) (crds.WhenExpressions, error) {
	decided := slices.Clone(when)
	for i, w := range when {
		if w.CEL == "" {
			continue
		}
		holds, err := evaluate(w.CEL)
		if err != nil {
			return nil, err
		}
		decided[i] = crds.WhenExpression{Input: strconv.FormatBool(holds), Operator: crds.WhenIn, Values: []string{"true"}}
	}
	return decided, nil
}

// withoutExpressions are the conditions with nothing in the place of expressions,
// which apply would take for any other text.
func withoutExpressions(when crds.WhenExpressions) crds.WhenExpressions {
	out := slices.Clone(when)
	for i := range out {
		out[i].CEL = ""
	}
	return out
}

// expression replaces the references of an expression so that no value is taken for
// a part of it: within quotes it is text, whatever quotes it has itself; elsewhere
// it can only be a number, true or false. It finds them as text does.
func (v variables) expression(s string) (string, error) {
	var out draft
	var at celPlace
	rest := s
	for {
		end := strings.IndexByte(rest, ')')
		if end < 0 {
			break
		}
		start := strings.LastIndex(rest[:end], "$(")
		if start < 0 {
			start = end + 1
		}
		out.WriteString(rest[:start])
		at = at.after(rest[:start])
		if start < end {
			if err := v.insert(&out, rest[start+2:end], at); err != nil {
				return "", err
			}
		}
		rest = rest[end+1:]
	}
	out.WriteString(rest)
	return out.settle(v.later()), nil
}

// insert writes what the reference of that name stands for at that place.
func (v variables) insert(out *draft, name string, at celPlace) error {
	value, known := v.value(name)
	switch {
	case v.attemptLater && "("+name+")" == laterAttempt:
		out.refer(name)
		return nil
	case isStepResult(name):
		return fmt.Errorf("when.cel: $(%s) is known only when it is the step's turn, and expressions are decided before: write the condition with input, operator and values", name)
	case !known:
		v.note(name)
		out.WriteString("$(" + name + ")")
		return nil
	}
	literal, err := at.literal(value)
	if err != nil {
		return fmt.Errorf("when.cel: $(%s) %w", name, err)
	}
	if v.budget.afford(len(literal)) {
		out.WriteString(literal)
	}
	return nil
}

// checkExpressions refuses expressions where Tekton would, too.
func checkExpressions(spec *crds.TaskSpec, c Config) *refusal {
	n := 0
	for i, step := range spec.Steps {
		for _, when := range step.When {
			if when.CEL != "" {
				n++
			}
			switch {
			case when.CEL == "":
			case n > maxExpressions:
				return invalid("step %q: the task has more than %d conditions in CEL", stepName(step, i), maxExpressions)
			case !c.CEL:
				return invalid("step %q: feature flag enable-cel-in-whenexpression should be set to true to use CEL: %s in WhenExpression", stepName(step, i), when.CEL)
			case when.Input != "" || when.Operator != "" || len(when.Values) > 0:
				return invalid("step %q: when: cel and input, operator or values cannot be used together", stepName(step, i))
			}
		}
	}
	return nil
}

// celPlace is a place in an expression: within the quotes of a literal, or not.
type celPlace struct {
	quote   string // what ends the literal; empty outside of one, "\n" in a comment
	raw     bool   // a literal in which a backslash is one
	escaped bool   // the next character belongs to a backslash
	prefix  byte   // the last character before, outside of literals
}

// after is the place at the end of a text that begins at p.
func (p celPlace) after(text string) celPlace {
	for i := 0; i < len(text); i++ {
		c := text[i]
		switch {
		case p.escaped:
			p.escaped = false
		case p.quote == "" && (c == '\'' || c == '"'):
			raw := p.prefix == 'r' || p.prefix == 'R'
			p = celPlace{quote: string(c), raw: raw}
			if triple := strings.Repeat(p.quote, 3); strings.HasPrefix(text[i:], triple) {
				p.quote = triple
				i += 2
			}
		case p.quote == "" && strings.HasPrefix(text[i:], "//"):
			p.quote = "\n"
		case p.quote == "":
			p.prefix = c
		case strings.HasPrefix(text[i:], p.quote):
			i += len(p.quote) - 1
			p = celPlace{}
		case c == '\\' && !p.raw && p.quote != "\n":
			p.escaped = true
		}
	}
	return p
}

// celConstant is what a value may be outside of quotes.
var celConstant = regexp.MustCompile(`^(true|false|-?[0-9]+(\.[0-9]+)?)$`)

// literal is how a value is written at that place.
func (p celPlace) literal(value string) (string, error) {
	switch {
	case p.escaped:
		return "", errors.New("comes after a backslash")
	case p.quote == "" || p.quote == "\n":
		if !celConstant.MatchString(value) {
			return "", errors.New("is not within quotes, where its value can only be a number, true or false")
		}
		return value, nil
	case p.raw:
		if strings.ContainsAny(value, "'\"\r\n") {
			return "", errors.New("is within a raw string, where its value can have no quotes and no line ends")
		}
		return value, nil
	default:
		return celEscaped(value), nil
	}
}

// celEscaped keeps a value within its quotes, of whatever kind.
func celEscaped(value string) string {
	return strings.NewReplacer(`\`, `\\`, `'`, `\'`, `"`, `\"`, "\n", `\n`, "\r", `\r`).Replace(value)
}
