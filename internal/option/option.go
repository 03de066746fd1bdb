// Package option is what a setting is as text, wherever it comes from: a flag, an
// environment variable, a field of the config file or a key of a ConfigMap. Each of
// them has a table of rows, and each row a Value:
//
//		"16" ──Set──▶ Value ──▶ a field of the program's configuration
//		              │
//		              ├─ String: what the field holds now, as Set would take it again
//		              ├─ Type: what it takes, in a word, for people
//		              └─ FromJSON: the text of a value that a file gives in a type of its own
//
//	 1. A Value that was made has put its default into the field.
//	 2. Set of a text that is not wanted returns an error that says what is, and leaves
//	    the field as it was.
//	 3. Set takes what String returns, and the field is the same after it.
//
// A Value belongs to who made it: it is not for several goroutines.
package option

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// A Value is a field of a configuration, as text. It is a value of flags, too, those
// of the standard library and of pflag.
type Value interface {
	// Set parses the text into the field, or says what is wanted.
	Set(text string) error
	// String is the field as text.
	String() string
	// Shown is String, as people may see it: of a secret, only that there is one.
	Shown() string
	// Type is what Set takes, in a word.
	Type() string
	// FromJSON is the text of what encoding/json decodes. The error says what it is, if
	// that may be shown, and what is wanted.
	FromJSON(value any) (string, error)
	// JSON is the field as encoding/json is to encode it.
	JSON() any
	// Words are all that Set takes, if they can be counted; nil if not.
	Words() []string
}

// value is a Value of any type: a field, and functions.
type value[T any] struct {
	to       *T
	kind     string
	parse    func(string) (T, error)
	show     func(T) string
	fromJSON func(any) (string, bool)
	json     func(T) any
	words    []string
}

func (v value[T]) Set(text string) error {
	parsed, err := v.parse(text)
	if err == nil {
		*v.to = parsed
	}
	return err
}

func (v value[T]) String() string { return v.show(*v.to) }

func (v value[T]) Shown() string { return v.String() }

func (v value[T]) Type() string { return v.kind }

func (v value[T]) JSON() any { return v.json(*v.to) }

func (v value[T]) Words() []string { return v.words }

func (v value[T]) FromJSON(given any) (string, error) {
	if text, ok := v.fromJSON(given); ok {
		return text, nil
	}
	return "", fmt.Errorf("is %v: want %s", given, article(v.kind))
}

func article(kind string) string {
	if strings.IndexByte("aeiou", kind[0]) >= 0 {
		return "an " + kind
	}
	return "a " + kind
}

// ofText is a Value that is a string in JSON as well, one of words if there are some.
func ofText[T any](to *T, kind string, parse func(string) (T, error), show func(T) string, words ...string) Value {
	return value[T]{to, kind, parse, show,
		func(given any) (text string, ok bool) { text, ok = given.(string); return text, ok },
		func(t T) any { return show(t) },
		words,
	}
}

func same(text string) string { return text }

// Text takes any text.
func Text(to *string, otherwise string) Value {
	*to = otherwise
	return ofText(to, "string", func(text string) (string, error) { return text, nil }, same)
}

// secret is a Value that may be used, and not be seen.
type secret struct{ Value }

func (s secret) Shown() string {
	if s.String() == "" {
		return ""
	}
	return "(secret)"
}

func (s secret) JSON() any { return s.Shown() }

// FromJSON keeps quiet about what was given in the wrong form, which is secret as well.
func (s secret) FromJSON(given any) (string, error) {
	text, err := s.Value.FromJSON(given)
	if err != nil {
		err = errors.New("is secret, and not shown: want " + article(s.Type()))
	}
	return text, err
}

// Secret takes any text, and shows it to nobody: Shown and JSON tell whether there is one,
// and no error has a part of it.
func Secret(to *string) Value {
	return secret{Text(to, "")}
}

// Duration takes what time.ParseDuration does.
func Duration(to *time.Duration, otherwise time.Duration) Value {
	*to = otherwise
	parse := func(text string) (time.Duration, error) {
		d, err := time.ParseDuration(text)
		if err != nil {
			return 0, errors.New("want a duration, as 90s or 1h30m")
		}
		return d, nil
	}
	return ofText(to, "duration", parse, time.Duration.String)
}

// Choice takes one of the words; the first is the default.
func Choice[T ~string](to *T, words ...T) Value {
	*to = words[0]
	names := make([]string, len(words))
	for i, word := range words {
		names[i] = string(word)
	}
	parse := func(text string) (T, error) {
		if !slices.Contains(names, text) {
			return "", fmt.Errorf("want one of %s", strings.Join(names, ", "))
		}
		return T(text), nil
	}
	return ofText(to, "word", parse, func(t T) string { return string(t) }, names...)
}

// Of takes what parse does, and prints a value of it as show does. In JSON it is a
// string.
func Of[T any](to *T, otherwise T, kind string, parse func(string) (T, error), show func(T) string) Value {
	*to = otherwise
	return ofText(to, kind, parse, show)
}

// Number takes an integer that is at least the least and at most the most.
func Number(to *int, otherwise, least, most int) Value {
	*to = otherwise
	parse := func(text string) (int, error) {
		n, err := strconv.Atoi(text)
		if err != nil || n < least || n > most {
			return 0, fmt.Errorf("want an integer from %d to %d", least, most)
		}
		return n, nil
	}
	return value[int]{to, "integer", parse, strconv.Itoa,
		func(given any) (string, bool) { n, ok := given.(json.Number); return n.String(), ok },
		func(n int) any { return n },
		nil,
	}
}

// Boolean takes true and false, and what else strconv.ParseBool does.
func Boolean(to *bool, otherwise bool) Value {
	*to = otherwise
	parse := func(text string) (bool, error) {
		b, err := strconv.ParseBool(text)
		if err != nil {
			return false, errors.New("want true or false")
		}
		return b, nil
	}
	return value[bool]{to, "boolean", parse, strconv.FormatBool,
		func(given any) (string, bool) { b, ok := given.(bool); return strconv.FormatBool(b), ok },
		func(b bool) any { return b },
		[]string{"true", "false"},
	}
}

// List takes words that are separated by commas; of those that are empty there are
// none.
func List(to *[]string, otherwise ...string) Value {
	*to = otherwise
	parse := func(text string) (words []string, _ error) {
		for word := range strings.SplitSeq(text, ",") {
			if word = strings.TrimSpace(word); word != "" {
				words = append(words, word)
			}
		}
		return words, nil
	}
	return value[[]string]{to, "list of strings", parse, func(words []string) string { return strings.Join(words, ",") },
		joined, func(words []string) any { return append([]string{}, words...) },
		nil,
	}
}

func joined(given any) (string, bool) {
	all, ok := given.([]any)
	words := make([]string, len(all))
	for i, each := range all {
		word, is := each.(string)
		if !is || strings.Contains(word, ",") {
			return "", false
		}
		words[i] = word
	}
	return strings.Join(words, ","), ok
}
