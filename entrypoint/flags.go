package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
)

// step is what the flags say: one step, its place in the line and where to
// record what became of it.
type step struct {
	waitFiles   []string // all of them must be there; none: start at once
	waitContent bool     // and must not be empty
	postFile    string   // written at the end; with ".err" when the line stops here

	terminationPath string
	metadataDir     string // exitCode and results/ of this step
	resultsDir      string
	results         []string // names of files in resultsDir
	stepResults     []string // names of files in metadataDir/results

	continueOnError  bool
	timeout          time.Duration // 0: none
	workingDir       string        // made if it is not there; empty: where the container starts
	compress         bool          // the termination message, where it would not fit
	resultsElsewhere bool          // a container of its own tells them: see collector
	maxMessage       int           // bytes of the termination message that kubelet will keep
	stdoutPath       string        // a second place for what the command prints
	stderrPath       string

	arguments   map[int]template // of command, by place
	environment []variable
	when        []condition // all must hold, else the step is skipped

	credentials credentials
	stay        bool // a sidecar: having ended well it waits to be stopped

	script     string // written to scriptFile just before it runs
	scriptFile string
	command    []string // never empty
}

// parseStep reads the flags. With an error it returns what it had understood
// by then.
func parseStep(args []string) (step, error) {
	var s step
	var entrypoint, onError string
	f := flag.NewFlagSet("entrypoint", flag.ContinueOnError)
	f.SetOutput(io.Discard)
	f.Func("wait_file", "comma-separated `files` to wait for", names(&s.waitFiles))
	f.BoolVar(&s.waitContent, "wait_file_content", false, "wait until they have content")
	f.StringVar(&s.postFile, "post_file", "", "`file` to write at the end, with .err added when the step failed")
	f.StringVar(&s.terminationPath, "termination_path", "/tekton/termination", "`file` for the termination message")
	f.StringVar(&s.metadataDir, "step_metadata_dir", "", "`directory` for the exit code and results of the step")
	f.StringVar(&s.resultsDir, "results_dir", "/tekton/results", "`directory` of the task's results")
	f.Func("results", "comma-separated `names` of the task's results", names(&s.results))
	f.Func("step_results", "comma-separated `names` of the step's results", names(&s.stepResults))
	f.StringVar(&onError, "on_error", "stopAndFail", "continue or stopAndFail")
	f.DurationVar(&s.timeout, "timeout", 0, "how long the command may run")
	f.StringVar(&s.workingDir, "working_dir", "", "`directory` in which the command runs, made before if need be")
	f.IntVar(&s.maxMessage, "max_message", maxMessage, "how many `bytes` of termination message kubelet keeps")
	f.BoolVar(&s.compress, "compress", false, "compress the termination message where it would be too large")
	f.BoolVar(&s.resultsElsewhere, "results_elsewhere", false, "leave results out of the termination message: a container prints them")
	f.StringVar(&s.stdoutPath, "stdout_path", "", "`file` that gets a copy of standard output")
	f.StringVar(&s.stderrPath, "stderr_path", "", "`file` that gets a copy of standard error")
	// One argument holds at most 128 KiB (MAX_ARG_STRLEN), a script may be longer.
	f.Func("script", "a `piece` of the script; may be repeated", func(piece string) error {
		s.script += piece
		return nil
	})
	f.BoolVar(&s.stay, "stay", false, "this is a sidecar: when the command has ended well wait to be stopped, and end well then")
	c := &s.credentials
	f.StringVar(&c.dir, "creds_dir", "/tekton/creds", "`directory` to lay out credentials in, beside HOME")
	f.StringVar(&c.secrets, "creds_secrets_dir", "/tekton/creds-secrets", "`directory` where their secrets are mounted")
	f.Func("basic-git", "`secret=url` of a name and password for git", secretsForURL(&c.basicGit))
	f.Func("ssh-git", "`secret=host` of a key for git", secretsForURL(&c.sshGit))
	f.Func("basic-docker", "`secret=url` of a name and password for a registry", secretsForURL(&c.basicDocker))
	f.Func("docker-config", "`secret` that is a configuration of docker", secretNames(&c.dockerConfig))
	f.Func("docker-cfg", "`secret` that is one in the older form", secretNames(&c.dockerCfg))
	t := templates{of: &s}
	f.Func("arg", "the `place` of an argument that -text and -ref after it make up; the command is 0", t.argument)
	f.Func("env", "the `name` of a variable that -text and -ref after it make up", t.variable)
	f.Func("text", "a piece of `text`", t.text)
	f.Func("ref", "the result of an earlier step: `step/result`, with [*], [0] or [key] for a part of it", t.ref)
	var when string
	f.Func("when", "a `piece` of the conditions to run under, in JSON; may be repeated", func(piece string) error {
		when += piece
		return nil
	})
	f.StringVar(&s.scriptFile, "script_file", "", "`file` to write the script to")
	f.StringVar(&entrypoint, "entrypoint", "", "the `command` to run; its arguments follow --")

	if err := f.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return s, errors.New(usage(f))
		}
		return s, err
	}
	if when != "" {
		var err error
		if s.when, err = readConditions(when); err != nil {
			return s, err
		}
	}
	s.continueOnError = onError == "continue"
	s.command = append([]string{entrypoint}, f.Args()...)
	return s, s.check(onError)
}

func (s step) check(onError string) error {
	switch {
	case s.command[0] == "":
		return errors.New("-entrypoint is missing: which command shall run?")
	case onError != "continue" && onError != "stopAndFail":
		return fmt.Errorf("-on_error %q: must be continue or stopAndFail", onError)
	case s.timeout < 0:
		return fmt.Errorf("-timeout %v: must not be negative", s.timeout)
	case s.maxMessage <= 0:
		return fmt.Errorf("-max_message %d: must be positive", s.maxMessage)
	case (s.script == "") != (s.scriptFile == ""):
		return errors.New("-script and -script_file come together")
	case (len(s.stepResults) > 0 || len(s.arguments) > 0 || len(s.environment) > 0 || len(s.when) > 0) && s.metadataDir == "":
		return errors.New("-step_results, -arg, -env and -when need -step_metadata_dir")
	}
	for _, name := range slices.Concat(s.results, s.stepResults) {
		if name == "." || name == ".." || strings.ContainsRune(name, '/') {
			return fmt.Errorf("result %q: must be a file name", name)
		}
	}
	return nil
}

// names reads a comma-separated list; no elements are empty, since Tekton's
// controller has always sent `-results ""` for none.
func names(to *[]string) func(string) error {
	return func(list string) error {
		for name := range strings.SplitSeq(list, ",") {
			if name != "" {
				*to = append(*to, name)
			}
		}
		return nil
	}
}

func usage(f *flag.FlagSet) string {
	var b strings.Builder
	b.WriteString("usage: entrypoint [flags] -entrypoint COMMAND -- [arguments]\n       entrypoint init SOURCE DESTINATION\n       entrypoint results [flags]\n")
	f.SetOutput(&b)
	f.PrintDefaults()
	return strings.TrimSuffix(b.String(), "\n")
}
