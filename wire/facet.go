package wire

import (
	"errors"
	"fmt"
	"strings"
)

// Facet is a small value that a scan takes out of each object of a resource, so
// that whoever wants to know no more than that need not decode: whether a run
// has succeeded, which results it has, how often it was tried. It is declared
// once, given to NewScanner, and asked for with Object.Facet.
//
// A Facet may be copied and compared with any other; two that name the same are
// the same to an Object.
type Facet struct{ def *facet }

// facet is what a Facet names.
type facet struct {
	text string
	path []facetStep
	// inProtobuf: the steps have the numbers of their fields, and the value is
	// spelled so.
	inProtobuf bool
	spelled    spelling
}

// facetStep is one step on the way from the object to the value.
type facetStep struct {
	kind        stepKind
	name, value string // of a member: its name; of an item: the member that it must have
	number      int32  // of that member's field in protobuf; 0 if it is not known
}

type stepKind uint8

const (
	toMember stepKind = iota // the member of that name
	toItem                   // the first item of a list that has this member with this value
	toEvery                  // every item of a list
	toNumber                 // the number of items of a list
)

// NewFacet names a value by the way to it from the object's root, in the
// notation of ParsePath, with three steps more, for lists:
//
//	status.conditions[type=Succeeded].status   of the first item that is so
//	status.results[].name                      of every item: see FacetValues
//	status.retriesStatus[#]                    how many items there are
//
// A value is a string; or a number, true or false, as the server spells it.
// Anything else, and what is not there, is no value. What a path says twice is
// as the ordinary decoder into a map has it: the last one counts.
//
// Of an object in protobuf it is not known: see NewFacetOf. It panics if the path
// cannot be read: it is a constant of the program.
func NewFacet(path string) Facet {
	steps, err := parseFacet(path)
	if err != nil {
		panic(fmt.Sprintf("wire: facet %q: %v", path, err))
	}
	return Facet{&facet{text: path, path: steps}}
}

// String is the path.
func (f Facet) String() string {
	if f.def == nil {
		return ""
	}
	return f.def.text
}

var (
	errNoName    = errors.New("no name where one has to be")
	errEveryOnce = errors.New("[] more than once, or before [#]")
	errNumberEnd = errors.New("[#] is not at the end")
	errItemEnd   = errors.New("it ends with an item, which is no value")
)

func parseFacet(text string) ([]facetStep, error) {
	var steps []facetStep
	for rest, atName := text, true; rest != ""; {
		step, after, err := firstStep(rest, atName)
		if err != nil {
			return nil, err
		}
		steps = append(steps, step)
		rest, atName = strings.CutPrefix(after, ".")
		if !atName && rest != "" && rest[0] != '[' {
			return nil, fmt.Errorf("want . or [ at %q", rest)
		}
		if atName && rest == "" {
			return nil, errNoName
		}
	}
	return steps, checkSteps(steps)
}

// firstStep takes one step. A bare name may stand at the beginning and behind a
// point, what is in brackets anywhere.
func firstStep(text string, atName bool) (step facetStep, rest string, err error) {
	if quoted, ok := strings.CutPrefix(text, `["`); ok {
		name, rest, ok := strings.Cut(quoted, `"]`)
		if !ok || name == "" {
			return step, "", fmt.Errorf(`want a name and "] behind %q`, `["`)
		}
		return facetStep{kind: toMember, name: name}, rest, nil
	}
	if atName {
		end := strings.IndexAny(text, ".[")
		if end < 0 {
			end = len(text)
		}
		if end == 0 {
			return step, "", errNoName
		}
		return facetStep{kind: toMember, name: text[:end]}, text[end:], nil
	}
	inner, rest, ok := strings.Cut(text[1:], "]")
	if !ok {
		return step, "", fmt.Errorf("%q is not closed by ]", text)
	}
	switch name, value, isItem := strings.Cut(inner, "="); {
	case inner == "":
		step.kind = toEvery
	case inner == "#":
		step.kind = toNumber
	case isItem && name != "":
		step = facetStep{kind: toItem, name: name, value: value}
	default:
		return step, "", fmt.Errorf("want [], [#], [name=value] or [\"name\"] at %q", text)
	}
	return step, rest, nil
}

// checkSteps says what is wrong with steps that can be read one by one.
func checkSteps(steps []facetStep) error {
	if len(steps) == 0 || steps[0].kind != toMember {
		return errNoName
	}
	everies := 0
	for i, s := range steps {
		last := i == len(steps)-1
		if s.kind == toEvery || s.kind == toNumber {
			everies++
		}
		switch {
		case everies > 1:
			return errEveryOnce
		case s.kind == toNumber && !last:
			return errNumberEnd
		case s.kind == toItem && last:
			return errItemEnd
		}
	}
	return nil
}
