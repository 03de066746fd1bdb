package kubelet

import (
	"encoding/json"
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
	onError  string
	timeout  time.Duration
	maxBytes int
	program  program
}

// program is what the command of a step does.
type program struct {
	sleep   time.Duration
	exit    int
	results [][2]string
	oom     bool
}

// parseStep reads the command line of the entrypoint.
func parseStep(c corev1.Container) step {
	s := step{maxBytes: 4096}
	f := flag.NewFlagSet("entrypoint", flag.ContinueOnError)
	f.SetOutput(io.Discard)
	var script, results, wait, ignored string
	for _, name := range []string{"post_file", "termination_path", "step_metadata_dir", "results_dir", "step_results", "stdout_path", "stderr_path", "script_file", "entrypoint", "working_dir"} {
		f.StringVar(&ignored, name, "", "")
	}
	f.StringVar(&wait, "wait_file", "", "")
	f.StringVar(&results, "results", "", "")
	f.StringVar(&s.onError, "on_error", "stopAndFail", "")
	f.DurationVar(&s.timeout, "timeout", 0, "")
	f.IntVar(&s.maxBytes, "max_message", 4096, "")
	f.Func("script", "", func(piece string) error { script += piece; return nil })
	if f.Parse(c.Args) != nil {
		return step{bad: true}
	}
	s.waits = wait != ""
	if results != "" {
		s.results = strings.Split(results, ",")
	}
	// As the kubelet does with "$$".
	words := strings.Fields(strings.ReplaceAll(script, "$$", "$"))
	s.program = parseProgram(slices.Concat(words, f.Args()))
	return s
}

// parseProgram takes the words that mean something.
func parseProgram(words []string) program {
	var p program
	for _, word := range words {
		verb, value, _ := strings.Cut(word, "=")
		switch verb {
		case "sleep":
			p.sleep, _ = time.ParseDuration(value)
		case "exit":
			p.exit, _ = strconv.Atoi(value)
		case "result":
			name, value, _ := strings.Cut(value, "=")
			p.results = append(p.results, [2]string{name, value})
		case "oom":
			p.oom = true
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

// message is the termination message that the entrypoint leaves.
func (s step) message(began metav1.Time, o outcome) string {
	type entry struct {
		Key   string `json:"key"`
		Value string `json:"value"`
		Type  int    `json:"type"`
	}
	var entries []entry
	if o.ran {
		for _, r := range s.program.results {
			if slices.Contains(s.results, r[0]) {
				entries = append(entries, entry{r[0], r[1], 1})
			}
		}
	}
	entries = append(entries, entry{"StartedAt", began.UTC().Format("2006-01-02T15:04:05.000Z07:00"), 3})
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
	o := outcome{ran: true, code: c.step.program.exit}
	work, reason := c.step.program.sleep, "Completed"
	switch {
	case c.step.bad:
		o = outcome{code: 2}
	case c.step.program.oom:
		o.code = 137
	case c.step.timeout > 0 && c.step.timeout < work:
		work, o = c.step.timeout, outcome{ran: true, code: 1, reason: "TimeoutExceeded"}
	}
	exit := o.code
	if o.reason == "" && o.ran && c.step.onError == "continue" {
		exit = 0
	}
	switch {
	case c.step.program.oom:
		reason = "OOMKilled"
	case exit != 0:
		reason = "Error"
	}
	k.later(m, work+time.Millisecond, work+200*time.Millisecond, "work", func(m *machine) { k.endStep(m, i, int32(exit), reason, o) })
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
