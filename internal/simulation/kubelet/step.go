package kubelet

import (
	"encoding/json"
	"errors"
	"flag"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// post is what a step tells the next one.
type post int

const (
	nothing post = iota
	succeeded
	failed
)

// step is what the arguments of a step's container tell its entrypoint.
type step struct {
	bad      bool // they make no sense
	waits    bool // for the step before
	results  []string
	own      []string // names of the step's own results
	onError  string
	timeout  time.Duration
	words    []string // of the command and its script
	fills    []fill
	program  program // what they say, once earlier steps have left what they are to
	maxBytes int
}

// A fill is a word that results of earlier steps go into.
type fill struct {
	place  int // 0 is the command
	pieces []piece
}

type piece struct{ text, ref string }

// program is what the command of a container does.
type program struct {
	sleep   time.Duration
	exit    int
	hang    bool
	results [][2]string
	own     [][2]string
	oom     bool

	attempt, until int // exit, hang and oom are of attempts before until, if that is not 0

	// Of sidecars:
	ready    time.Duration
	never    bool // it is ready
	stubborn bool // it does not listen to SIGTERM
}

// fails tells whether this time the program does what it does badly.
func (p program) fails(attempt int) bool { return p.until == 0 || attempt < p.until }

// entrypointPath is the command of whatever the entrypoint runs.
const entrypointPath = "/tekton/bin/entrypoint"

// parseStep reads the command line of a container: that of the entrypoint, or of a
// program that runs by itself.
func parseStep(c corev1.Container) step {
	if len(c.Command) > 0 && c.Command[0] != entrypointPath {
		return step{program: parseProgram(c.Args)}
	}
	s := step{maxBytes: 4096}
	f := flag.NewFlagSet("entrypoint", flag.ContinueOnError)
	f.SetOutput(io.Discard)
	var script, results, own, wait, command, ignored string
	for _, name := range []string{"post_file", "termination_path", "step_metadata_dir", "results_dir", "stdout_path", "stderr_path", "script_file", "working_dir"} {
		f.StringVar(&ignored, name, "", "")
	}
	stay := false
	f.BoolVar(&stay, "stay", false, "")
	f.StringVar(&command, "entrypoint", "", "")
	f.StringVar(&wait, "wait_file", "", "")
	f.StringVar(&results, "results", "", "")
	f.StringVar(&own, "step_results", "", "")
	f.StringVar(&s.onError, "on_error", "stopAndFail", "")
	f.DurationVar(&s.timeout, "timeout", 0, "")
	f.IntVar(&s.maxBytes, "max_message", 4096, "")
	f.Func("script", "", func(piece string) error { script += piece; return nil })
	s.fillFlags(f)
	if f.Parse(c.Args) != nil {
		return step{bad: true}
	}
	s.waits = wait != ""
	s.results, s.own = names(results), names(own)
	// As the kubelet does with "$$".
	s.words = slices.Concat([]string{command}, f.Args(), strings.Fields(strings.ReplaceAll(script, "$$", "$")))
	s.program = parseProgram(s.words)
	return s
}

func names(list string) []string {
	if list == "" {
		return nil
	}
	return strings.Split(list, ",")
}

// fillFlags reads -arg with the -text and -ref that follow it.
func (s *step) fillFlags(f *flag.FlagSet) {
	add := func(p piece) error {
		if len(s.fills) == 0 {
			return errors.New("a piece of nothing")
		}
		last := &s.fills[len(s.fills)-1]
		last.pieces = append(last.pieces, p)
		return nil
	}
	f.Func("arg", "", func(place string) error {
		n, err := strconv.Atoi(place)
		s.fills = append(s.fills, fill{place: n})
		return err
	})
	f.Func("text", "", func(text string) error { return add(piece{text: text}) })
	f.Func("ref", "", func(ref string) error { return add(piece{ref: ref}) })
}

// fill puts in what earlier steps have left; false if one has not.
func (m *machine) fill(s *step) bool {
	for _, f := range s.fills {
		var text strings.Builder
		for _, p := range f.pieces {
			value, ok := p.text, true
			if p.ref != "" {
				value, ok = m.result(p.ref)
			}
			if !ok || f.place >= len(s.words) {
				return false
			}
			text.WriteString(value)
		}
		s.words[f.place] = text.String()
	}
	s.program = parseProgram(s.words)
	return true
}

// result is what a step has left under a name: step-a/result.
func (m *machine) result(ref string) (string, bool) {
	container, name, _ := strings.Cut(ref, "/")
	for _, c := range m.main {
		if c.spec.Name == container {
			value, ok := c.left[name]
			return value, ok
		}
	}
	return "", false
}

// parseProgram takes the words that mean something.
func parseProgram(words []string) program {
	var p program
	for _, word := range words {
		verb, value, _ := strings.Cut(word, "=")
		name, rest, _ := strings.Cut(value, "=")
		switch verb {
		case "sleep":
			p.sleep, _ = time.ParseDuration(value)
		case "exit":
			p.exit, _ = strconv.Atoi(value)
		case "hang":
			p.hang = true
		case "result":
			p.results = append(p.results, [2]string{name, rest})
		case "step-result":
			p.own = append(p.own, [2]string{name, rest})
		case "oom":
			p.oom = true
		case "attempt":
			p.attempt, _ = strconv.Atoi(value)
		case "until":
			p.until, _ = strconv.Atoi(value)
		case "ready":
			p.ready, _ = time.ParseDuration(value)
			p.never = value == "never"
		case "stubborn":
			p.stubborn = true
		}
	}
	return p
}

// outcome is how a step came to its end.
type outcome struct {
	ran    bool
	code   int
	reason string
}

// An entry is one of a termination message.
type entry struct {
	Key   string `json:"key"`
	Value string `json:"value"`
	Type  int    `json:"type"`
}

// startedAt is how the entrypoint writes times.
const startedAt = "2006-01-02T15:04:05.000Z07:00"

// message is the termination message that the entrypoint leaves.
func (s step) message(began metav1.Time, o outcome) string {
	var entries []entry
	if o.ran {
		for _, r := range s.program.results {
			if slices.Contains(s.results, r[0]) {
				entries = append(entries, entry{r[0], r[1], 1})
			}
		}
		for _, r := range s.program.own {
			if slices.Contains(s.own, r[0]) {
				entries = append(entries, entry{r[0], r[1], 4})
			}
		}
	}
	entries = append(entries, entry{"StartedAt", began.UTC().Format(startedAt), 3})
	if o.reason != "" {
		entries = append(entries, entry{"Reason", o.reason, 3})
	}
	if o.ran && o.reason == "" && o.code != 0 && s.onError == "continue" {
		entries = append(entries, entry{"ExitCode", strconv.Itoa(o.code), 3})
	}
	raw, err := json.Marshal(entries)
	if err != nil {
		panic(err) // strings and numbers
	}
	return string(raw)
}

// awaitTurn begins the program of a step if the one before has ended.
func (k *Kubelet) awaitTurn(m *machine, i int) {
	c := m.main[i]
	before := succeeded
	if c.step.waits && i > 0 {
		before = m.posted[i-1]
	}
	if m.over() || c.running == nil || c.turn {
		return
	}
	switch before {
	case failed:
		k.later(m, time.Millisecond, 20*time.Millisecond, "skip", func(m *machine) {
			k.endStep(m, i, 1, "Error", outcome{code: 1, reason: "Skipped"})
		})
	case nothing:
	default:
		c.turn, c.began = true, metav1.NewTime(time.Now())
		k.runProgram(m, i)
	}
}

// runProgram has the program of a step end when it has done its work.
func (k *Kubelet) runProgram(m *machine, i int) {
	c := m.main[i]
	filled := m.fill(&c.step)
	p := c.step.program
	o, work := outcome{ran: true}, p.sleep
	if p.fails(p.attempt) {
		o.code = p.exit
		if p.hang {
			work = time.Hour
		}
	} else {
		p.oom = false
	}
	reason := "Completed"
	switch {
	case c.step.bad || !filled:
		o, work = outcome{code: 2}, 0
	case c.step.timeout > 0 && c.step.timeout < work:
		work, o = c.step.timeout, outcome{ran: true, code: 1, reason: "TimeoutExceeded"}
	case p.oom:
		o.code = 137
	}
	exit := o.code
	if o.reason == "" && o.ran && c.step.onError == "continue" {
		exit = 0
	}
	switch {
	case p.oom:
		reason = oomKilled
	case exit != 0:
		reason = "Error"
	}
	k.later(m, work+time.Millisecond, work+200*time.Millisecond, "work", func(m *machine) { k.endStep(m, i, int32(exit), reason, o) })
}

// leave keeps the step's own results for the steps after it.
func (c *container) leave(o outcome) {
	if !o.ran {
		return
	}
	c.left = map[string]string{}
	for _, r := range c.step.program.own {
		if slices.Contains(c.step.own, r[0]) {
			c.left[r[0]] = r[1]
		}
	}
}

// endStep ends a step's container, and tells the next one.
func (k *Kubelet) endStep(m *machine, i int, exit int32, reason string, o outcome) {
	c := m.main[i]
	if m.over() || c.running == nil {
		return
	}
	began := c.began
	if !c.turn {
		began = metav1.NewTime(time.Now())
	}
	c.leave(o)
	c.end(exit, reason, c.step.message(began, o))
	m.posted[i] = succeeded
	if exit != 0 {
		m.posted[i] = failed
	}
	k.settle(m)
	k.report(m)
	if i+1 < len(m.main) {
		k.awaitTurn(m, i+1)
	}
}
