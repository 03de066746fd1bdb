package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"unicode/utf8"
)

// A collector stands beside the steps where results do not go into termination
// messages: when the steps have ended it prints their results, a line of JSON each,
// for the controller to read from the log.
type collector struct {
	waitFiles  []string // of each step; each comes as it is or with .err
	resultsDir string
	stepsDir   string
	results    []string    // of the task
	ofSteps    []forResult // of steps
	maxSize    int64       // bytes of one result
}

type forResult struct{ container, name string }

// collected is one line. Several lines in a row with one name make up one value:
// container runtimes cut lines of 16 KiB in two. Size is set for a result that is too
// large to be told.
type collected struct {
	Step  string `json:"step,omitempty"` // container of the step whose result it is; none: the task's
	Name  string `json:"name"`
	Value string `json:"value,omitempty"`
	Size  int64  `json:"size,omitempty"`
}

func parseCollector(args []string) (collector, error) {
	var c collector
	f := flag.NewFlagSet("results", flag.ContinueOnError)
	f.SetOutput(io.Discard)
	f.Func("wait_file", "comma-separated `files` to wait for, or for the same with .err", names(&c.waitFiles))
	f.StringVar(&c.resultsDir, "results_dir", "/tekton/results", "`directory` of the task's results")
	f.StringVar(&c.stepsDir, "steps_dir", "/tekton/steps", "`directory` of the steps")
	f.Func("results", "comma-separated `names` of the task's results", names(&c.results))
	f.Func("step_result", "the result of a step: `step/result`; may be repeated", func(ref string) error {
		container, name, _ := strings.Cut(ref, "/")
		c.ofSteps = append(c.ofSteps, forResult{container, name})
		return checkRef(ref)
	})
	f.Int64Var(&c.maxSize, "max_size", maxMessage, "how many `bytes` one result may have")
	if err := f.Parse(args); err != nil {
		return c, err
	}
	for _, name := range c.results {
		if checkRef("step/"+name) != nil {
			return c, fmt.Errorf("result %q: must be a file name", name)
		}
	}
	return c, nil
}

func runCollector(args []string) int {
	signals := listen()
	c, err := parseCollector(args)
	if err != nil {
		complainf("%v", err)
		return exitUsage
	}
	if err := await(c.waitFiles, c.ended, signals); err != nil {
		complainf("collecting results: %v", err)
		return exitFailed
	}
	if err := c.print(os.Stdout); err != nil {
		complainf("printing results: %v", err)
		return exitFailed
	}
	return 0
}

// ended says whether all steps have, well or not.
func (c collector) ended() (bool, error) {
	for _, file := range c.waitFiles {
		_, err := os.Stat(file)
		if errors.Is(err, fs.ErrNotExist) {
			_, err = os.Stat(file + ".err")
		}
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return false, nil
		case err != nil:
			return false, err
		}
	}
	return true, nil
}

func (c collector) print(to io.Writer) error {
	out := json.NewEncoder(to)
	out.SetEscapeHTML(false)
	for _, name := range c.results {
		if err := c.tell(out, c.resultsDir, "", name); err != nil {
			return err
		}
	}
	for _, result := range c.ofSteps {
		dir := filepath.Join(c.stepsDir, result.container)
		if err := c.tell(out, filepath.Join(dir, "results"), result.container, result.name); err != nil {
			return err
		}
	}
	return nil
}

// maxPiece is how much of a value goes into a line. JSON may take six bytes for one.
const maxPiece = 2000

func (c collector) tell(out *json.Encoder, dir, step, name string) error {
	line, ok := c.read(dir, step, name)
	if !ok {
		return nil
	}
	value := line.Value
	for {
		line.Value = firstPiece(value)
		value = value[len(line.Value):]
		if err := out.Encode(line); err != nil {
			return err
		}
		if value == "" {
			return nil
		}
	}
}

// firstPiece cuts no character in two.
func firstPiece(text string) string {
	if len(text) <= maxPiece {
		return text
	}
	end := maxPiece
	for end > maxPiece-utf8.UTFMax && !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end]
}

func (c collector) read(dir, step, name string) (collected, bool) {
	line := collected{Step: step, Name: name}
	file := filepath.Join(dir, name)
	elements := 1
	if step != "" {
		elements = 2 // a step's own directory is no mount
	}
	content, size, err := readBelow(file, elements, c.maxSize)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return line, false
	case errors.Is(err, errTooLarge):
		line.Size = size
		return line, true
	case err != nil:
		complainf("result %s is left out: %v", name, err)
		return line, false
	}
	if !utf8.Valid(content) {
		complainf("result %s is not UTF-8: what is not becomes U+FFFD", name)
	}
	line.Value = string(content)
	return line, true
}
