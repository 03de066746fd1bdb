package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// maxMessage is how much of a container's termination message kubelet keeps, at
// most: in a pod of many containers it is less, and the controller says how much.
const maxMessage = 4096

// maxForeign is how much of what a command wrote to the termination message is
// read: what does not fit a message sixteen times over has no use as one.
const maxForeign = 16 * maxMessage

// entryType tells whose an entry of the termination message is. The numbers are
// Tekton's.
type entryType int

const (
	taskResult entryType = 1
	internal   entryType = 3
	stepResult entryType = 4
)

// entry is one element of the array that the termination message is.
type entry struct {
	Key   string    `json:"key"`
	Value string    `json:"value"`
	Type  entryType `json:"type"`
}

// messageTooLargeError says which results do not fit. Its first line is what
// Tekton prints, word for word: people search for it.
type messageTooLargeError struct {
	limit int
	sizes []string
}

func (e *messageTooLargeError) Error() string {
	return fmt.Sprintf("Termination message is above max allowed size %d, caused by large task result.\n"+
		"entrypoint: bytes in each result: %s", e.limit, strings.Join(e.sizes, ", "))
}

// writeMessage leaves at the termination path what the controller shall know.
// If the results make it too large it leaves the rest, and says so.
func (s step) writeMessage(end ending) error {
	about := end.entries(s.continueOnError)
	if !end.ran {
		return s.leave(about)
	}
	all, err := s.withResults(about)
	if err != nil {
		return errors.Join(err, s.leave(about))
	}
	return s.leave(all)
}

// withResults puts what the command produced before what is said about it.
func (s step) withResults(about []entry) ([]entry, error) {
	if s.resultsElsewhere {
		return about, nil
	}
	results, err := s.readResults()
	if err != nil {
		return nil, err
	}
	all := lastOfEach(slices.Concat(s.heard(), results, about))
	if len(s.message(all)) > s.maxMessage {
		return nil, s.tooLarge(all)
	}
	return all, nil
}

// message is what goes into the termination message: JSON that a person can read,
// unless only less readable words fit.
func (s step) message(entries []entry) []byte {
	plain := encode(entries)
	if s.compress && len(plain) > s.maxMessage {
		return compressed(plain)
	}
	return plain
}

func (s step) leave(entries []entry) error {
	if s.terminationPath == "" {
		return nil
	}
	if err := writeOver(s.terminationPath, string(s.message(entries))); err != nil {
		return fmt.Errorf("writing the termination message: %w", err)
	}
	return nil
}

// readResults reads the declared results that the command has written. What is
// no plain file is left out, with a word about it: it may be meant to make this
// step publish what only this step can read.
func (s step) readResults() ([]entry, error) {
	var entries []entry
	var large []string
	limit := int64(s.maxMessage)
	if s.compress {
		limit = maxForeign
	}
	read := func(dir string, elements int, names []string, t entryType) {
		for _, name := range names {
			content, _, err := readBelow(filepath.Join(dir, name), elements, limit)
			switch {
			case errors.Is(err, os.ErrNotExist): // not every step writes every result
			case errors.Is(err, errTooLarge):
				large = append(large, name+" more than "+strconv.FormatInt(limit, 10))
			case err != nil:
				complainf("result %s is left out: %v", name, err)
			default:
				if !utf8.Valid(content) {
					complainf("result %s is not UTF-8: what is not becomes U+FFFD", name)
				}
				entries = append(entries, entry{Key: name, Value: string(content), Type: t})
			}
		}
	}
	read(s.resultsDir, 1, s.results, taskResult)
	read(filepath.Join(s.metadataDir, "results"), 2, s.stepResults, stepResult)
	if large != nil {
		return nil, &messageTooLargeError{limit: s.maxMessage, sizes: large}
	}
	return entries, nil
}

// heard is what the command itself left at the termination path, as far as it
// may: declared results in the message's own form. Anything else would be lost
// in silence, so it is told.
func (s step) heard() []entry {
	content, err := readRegular(s.terminationPath, maxForeign)
	if len(content) == 0 {
		return nil
	}
	entries, all := s.declared(content)
	if err != nil || !all {
		complainf("the command wrote to the termination message %s: only declared results in Tekton's form are kept of it", s.terminationPath)
	}
	return entries
}

// declared picks the declared results out of a message that anybody may have
// written. all is false if that leaves something out.
func (s step) declared(message []byte) (entries []entry, all bool) {
	var elements []json.RawMessage
	if json.Unmarshal(message, &elements) != nil {
		return nil, false
	}
	all = true
	for _, element := range elements {
		var e entry
		if json.Unmarshal(element, &e) != nil || !s.declares(e) {
			all = false
			continue
		}
		entries = append(entries, e)
	}
	return entries, all
}

func (s step) declares(e entry) bool {
	switch e.Type {
	case taskResult:
		return slices.Contains(s.results, e.Key)
	case stepResult:
		return slices.Contains(s.stepResults, e.Key)
	default:
		return false
	}
}

// entries are the program's own words about how the step went.
func (end ending) entries(continueOnError bool) []entry {
	// RFC 3339 with milliseconds, as Tekton's reader parses it.
	const layout = "2006-01-02T15:04:05.000Z07:00"
	about := []entry{{Key: "StartedAt", Value: end.started.UTC().Format(layout), Type: internal}}
	if end.reason != "" {
		about = append(about, entry{Key: "Reason", Value: end.reason, Type: internal})
	}
	if end.own() && end.code != 0 && continueOnError {
		about = append(about, entry{Key: "ExitCode", Value: strconv.Itoa(end.code), Type: internal})
	}
	return about
}

// lastOfEach keeps the last entry of each key and type, which is the one that
// readers of the message take. The rest would only use up its 4096 bytes.
func lastOfEach(entries []entry) []entry {
	type id struct {
		key string
		t   entryType
	}
	last := make(map[id]int, len(entries))
	for i, e := range entries {
		last[id{e.Key, e.Type}] = i
	}
	kept := entries[:0]
	for i, e := range entries {
		if last[id{e.Key, e.Type}] == i {
			kept = append(kept, e)
		}
	}
	return kept
}

func (s step) tooLarge(entries []entry) error {
	var sizes []string
	for _, e := range entries {
		if e.Type != internal {
			sizes = append(sizes, e.Key+" "+strconv.Itoa(len(e.Value)))
		}
	}
	return &messageTooLargeError{limit: s.maxMessage, sizes: sizes}
}

func encode(entries []entry) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false) // it would take six bytes of 4096 for each < > &
	if err := e.Encode(entries); err != nil {
		panic(err) // strings and numbers only
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}
