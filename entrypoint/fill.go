package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// A template is a text with results of earlier steps in it: pieces of text and
// references to results, one after the other. The pieces come apart on the command
// line, so that no text, whatever it holds, is taken for a reference.
type template []piece

type piece struct {
	Text string `json:"text,omitempty"`
	Ref  string `json:"ref,omitempty"` // step-a/result, with [*], [0] or [key] for a part of it
}

// variable is an environment variable of the command.
type variable struct {
	name  string
	value template
}

// condition is one of those that the step runs under.
type condition struct {
	Input    template   `json:"input"`
	Operator string     `json:"operator"`
	Values   []template `json:"values"`
}

// fill puts results of earlier steps where the command and its environment have
// templates.
func (s *step) fill() error {
	var command []string
	for i, argument := range s.command {
		t, ok := s.arguments[i]
		if !ok {
			command = append(command, argument)
			continue
		}
		filled, err := s.elements(t)
		if err != nil {
			return err
		}
		command = append(command, filled...)
	}
	if len(command) == 0 {
		return errors.New("the command is the result of a step that has left an empty array")
	}
	s.command = command
	for _, v := range s.environment {
		value, err := s.text(v.value)
		if err != nil {
			return err
		}
		if err := os.Setenv(v.name, value); err != nil {
			return err
		}
	}
	return nil
}

// holds tells whether all conditions of the step do.
func (s step) holds() (bool, error) {
	for _, c := range s.when {
		input, err := s.text(c.Input)
		if err != nil {
			return false, err
		}
		var values []string
		for _, t := range c.Values {
			filled, err := s.elements(t)
			if err != nil {
				return false, err
			}
			values = append(values, filled...)
		}
		if slices.Contains(values, input) != (c.Operator == "in") {
			return false, nil
		}
	}
	return true, nil
}

// elements fills a template that becomes several elements where it is an array.
func (s step) elements(t template) ([]string, error) {
	if len(t) == 1 && strings.HasSuffix(t[0].Ref, "[*]") {
		raw, err := s.readResult(strings.TrimSuffix(t[0].Ref, "[*]"))
		if err != nil {
			return nil, err
		}
		return arrayOf(t[0].Ref, raw)
	}
	text, err := s.text(t)
	return []string{text}, err
}

func (s step) text(t template) (string, error) {
	var out strings.Builder
	for _, p := range t {
		out.WriteString(p.Text)
		if p.Ref == "" {
			continue
		}
		value, err := s.part(p.Ref)
		if err != nil {
			return "", err
		}
		out.WriteString(value)
	}
	return out.String(), nil
}

// part reads a result, or the element or key of it that the reference names.
func (s step) part(ref string) (string, error) {
	whole, part, _ := strings.Cut(ref, "[")
	raw, err := s.readResult(whole)
	if err != nil || part == "" {
		return string(raw), err
	}
	key := strings.TrimSuffix(part, "]")
	if key == "*" {
		return "", fmt.Errorf("result %s: an array can only be a whole element of command or args", ref)
	}
	if i, err := strconv.Atoi(key); err == nil && !isObject(raw) {
		array, err := arrayOf(ref, raw)
		if err != nil {
			return "", err
		}
		if i < 0 || i >= len(array) {
			return "", fmt.Errorf("result %s: the array has %d elements", ref, len(array))
		}
		return array[i], nil
	}
	var object map[string]string
	if err := json.Unmarshal(raw, &object); err != nil {
		return "", fmt.Errorf("result %s: it is no JSON object of strings", ref)
	}
	value, ok := object[key]
	if !ok {
		return "", fmt.Errorf("result %s: the object has no such key", ref)
	}
	return value, nil
}

// isObject tells an object, of which a number may be a key, from an array.
func isObject(raw []byte) bool { return bytes.HasPrefix(bytes.TrimSpace(raw), []byte("{")) }

func arrayOf(ref string, raw []byte) ([]string, error) {
	var array []string
	if err := json.Unmarshal(raw, &array); err != nil {
		return nil, fmt.Errorf("result %s: it is no JSON array of strings", ref)
	}
	return array, nil
}

// readResult reads what an earlier step has left. The other steps' directories are
// beside this one's.
func (s step) readResult(ref string) ([]byte, error) {
	container, result, _ := strings.Cut(ref, "/")
	dir := filepath.Join(filepath.Dir(s.metadataDir), container)
	raw, _, err := readBelow(filepath.Join(dir, "results", result), 2, maxForeign)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("result %s is not there: the step has not written it", ref)
	case err != nil:
		return nil, fmt.Errorf("result %s: %w", ref, err)
	}
	return raw, nil
}

// checkRef keeps a reference inside the directories of the steps.
func checkRef(ref string) error {
	container, rest, ok := strings.Cut(ref, "/")
	result, _, _ := strings.Cut(rest, "[")
	if !ok || strings.ContainsRune(container, '[') || container == "" || container == ".." || container == "." || result == "" || result == ".." || result == "." || strings.ContainsRune(result, '/') {
		return fmt.Errorf("%q: want step/result", ref)
	}
	return nil
}

// templates reads -arg, -env, -text and -ref: the first two begin a template, the
// others go on with it.
type templates struct {
	of      *step
	current func(piece)
}

func (t *templates) argument(index string) error {
	i, err := strconv.Atoi(index)
	if err != nil || i < 0 {
		return errors.New("want the number of an argument")
	}
	if t.of.arguments == nil {
		t.of.arguments = map[int]template{}
	}
	t.of.arguments[i] = template{}
	t.current = func(p piece) { t.of.arguments[i] = append(t.of.arguments[i], p) }
	return nil
}

func (t *templates) variable(name string) error {
	t.of.environment = append(t.of.environment, variable{name: name})
	last := len(t.of.environment) - 1
	t.current = func(p piece) {
		t.of.environment[last].value = append(t.of.environment[last].value, p)
	}
	return nil
}

func (t *templates) text(text string) error { return t.add(piece{Text: text}) }

func (t *templates) ref(ref string) error {
	if err := checkRef(ref); err != nil {
		return err
	}
	return t.add(piece{Ref: ref})
}

func (t *templates) add(p piece) error {
	if t.current == nil {
		return errors.New("comes after -arg or -env")
	}
	t.current(p)
	return nil
}

// readConditions reads what the pieces of -when come to.
func readConditions(raw string) ([]condition, error) {
	var all []condition
	if err := json.Unmarshal([]byte(raw), &all); err != nil {
		return nil, fmt.Errorf("-when: %w", err)
	}
	for _, c := range all {
		if c.Operator != "in" && c.Operator != "notin" {
			return nil, fmt.Errorf("-when: operator %q: must be in or notin", c.Operator)
		}
		for _, p := range slices.Concat(append(c.Values, c.Input)...) {
			if p.Ref != "" && checkRef(p.Ref) != nil {
				return nil, fmt.Errorf("-when: %w", checkRef(p.Ref))
			}
		}
	}
	return all, nil
}
