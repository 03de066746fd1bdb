// Package expression reads, checks and evaluates the CEL of when expressions, within
// limits, and puts values into it as what they are: text.
//
//	'$(params.x)' == 'main' ──Place──▶ where a value may stand, and how it is written there
//	'it\'s' == 'main'       ──Evaluate──▶ true, false, or why neither
//
// What it promises:
//
//  1. An expression has an end: its size, depth and cost are limited, for else a
//     worker would be anybody's (TestAnExpressionHasAnEnd).
//  2. A value that Literal has written is never a part of the expression
//     (TestALiteralIsItsValue).
//  3. No clock, no I/O, no goroutine.
package expression

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	"cel.dev/cel-go/cel"
)

// An expression has an end. Without these a worker would be anybody's: to check the
// types of maps within maps, 240 deep, takes five seconds for each kilobyte.
const (
	maxSize  = 4 << 10 // characters
	maxDepth = 30
	maxCost  = 100_000 // CEL's units: about one for each operation and each ten characters
)

// Check tells what is wrong with an expression before anybody evaluates it. References
// in it must be within quotes, as text: outside, $(...) is no CEL.
func Check(expression string) error {
	_, _, err := compile(expression)
	return err
}

func compile(expression string) (*cel.Env, *cel.Ast, error) {
	env, err := cel.NewEnv(cel.ParserExpressionSizeLimit(maxSize), cel.ParserRecursionLimit(maxDepth))
	if err != nil {
		return nil, nil, fmt.Errorf("set up CEL: %w", err)
	}
	ast, issues := env.Compile(expression)
	if issues.Err() != nil {
		first := issues.Errors()[0]
		return nil, nil, fmt.Errorf("at %d:%d: %s", first.Location.Line(), first.Location.Column()+1, first.Message)
	}
	return env, ast, nil
}

// Evaluate tells whether an expression holds.
func Evaluate(expression string) (bool, error) {
	env, ast, err := compile(expression)
	if err != nil {
		return false, err
	}
	program, err := env.Program(ast, cel.CostLimit(maxCost))
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

// Place is a place in an expression: within the quotes of a literal, or not.
type Place struct {
	quote   string // what ends the literal; empty outside of one, "\n" in a comment
	raw     bool   // a literal in which a backslash is one
	escaped bool   // the next character belongs to a backslash
	prefix  byte   // the last character before, outside of literals
}

// After is the place at the end of a text that begins at p.
func (p Place) After(text string) Place {
	for i := 0; i < len(text); i++ {
		c := text[i]
		switch {
		case p.escaped:
			p.escaped = false
		case p.quote == "" && (c == '\'' || c == '"'):
			raw := p.prefix == 'r' || p.prefix == 'R'
			p = Place{quote: string(c), raw: raw}
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
			p = Place{}
		case c == '\\' && !p.raw && p.quote != "\n":
			p.escaped = true
		}
	}
	return p
}

// constant is what a value may be outside of quotes.
var constant = regexp.MustCompile(`^(true|false|-?[0-9]+(\.[0-9]+)?)$`)

// Literal is how a value is written at that place.
func (p Place) Literal(value string) (string, error) {
	switch {
	case p.escaped:
		return "", errors.New("comes after a backslash")
	case p.quote == "" || p.quote == "\n":
		if !constant.MatchString(value) {
			return "", errors.New("is not within quotes, where its value can only be a number, true or false")
		}
		return value, nil
	case p.raw:
		if strings.ContainsAny(value, "'\"\r\n") {
			return "", errors.New("is within a raw string, where its value can have no quotes and no line ends")
		}
		return value, nil
	default:
		return escaped(value), nil
	}
}

// escaped keeps a value within its quotes, of whatever kind.
func escaped(value string) string {
	return strings.NewReplacer(`\`, `\\`, `'`, `\'`, `"`, `\"`, "\n", `\n`, "\r", `\r`).Replace(value)
}
