package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/klog/v2"
)

// millrace is the command line: without a command it is the controller, which is what
// the Deployment starts. A command more is a line more.
func millrace(getenv func(string) string, out, errOut io.Writer) *cobra.Command {
	root := controllerCommand(getenv)
	root.SetOut(out)
	root.SetErr(errOut)
	root.AddCommand(
		configCommand(getenv),
		logsCommand(getenv),
		manCommand(),
		versionCommand(),
		whyCommand(),
	)
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	for _, c := range root.Commands() {
		switch c.Name() {
		case "help":
			c.Short, c.Long = "say how a command is called", ""
			c.Run, c.RunE = nil, helpOf
		case "completion":
			c.Use, c.DisableFlagsInUseLine = "completion SHELL", true
			c.Short, c.Long = "print what makes a shell complete commands and flags", ""
		}
	}
	completeWords(root)
	return root
}

// Exit codes.
const (
	exitFailed = 1
	exitUsage  = 2   // nothing was tried: flags, variables or the file are wrong
	exitKilled = 128 // and the number of the signal
)

// execute runs the command that args ask for, and returns the exit code.
func execute(ctx context.Context, args []string, getenv func(string) string, out, errOut io.Writer) int {
	root := millrace(getenv, out, errOut)
	root.SetArgs(append([]string{}, args...)) // nil would be those of the process
	root.SetHelpFunc(func(c *cobra.Command, _ []string) {
		io.WriteString(c.OutOrStdout(), help(c)) //nolint:errcheck // who asked has gone
	})
	// What is wrong is told here, once, and without the whole of the help behind it.
	root.SilenceErrors, root.SilenceUsage = true, true
	begun := false
	root.PersistentPreRun = func(*cobra.Command, []string) { begun = true }
	err := root.ExecuteContext(ctx)
	var wrong *usageError
	switch {
	case err == nil:
		return 0
	case errors.Is(err, errTold):
		return exitFailed
	case begun && !errors.As(err, &wrong):
		root.PrintErrln("millrace:", err)
		return exitFailed
	default:
		root.PrintErrf("millrace: %v (millrace --help lists commands and flags)\n", err)
		return exitUsage
	}
}

// A usageError is one of who has called.
type usageError struct{ error }

func (e *usageError) Unwrap() error { return e.error }

// errTold is an error that has been told already.
var errTold = errors.New("told")

func controllerCommand(getenv func(string) string) *cobra.Command {
	c := &cobra.Command{
		Use:   "millrace [flags]",
		Short: "millrace serves Tekton's API (tekton.dev/v1) on a Kubernetes cluster.",
		Args:  cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			cfg, _, err := readConfig(c.Flags(), getenv)
			if err == nil {
				err = cfg.checkStart()
			}
			if err != nil {
				return &usageError{err}
			}
			return control(c.Context(), cfg)
		},
	}
	addFlags(c.Flags())
	return c
}

// control is the controller, as a process.
func control(ctx context.Context, cfg config) error {
	setUpLog(cfg)
	defer klog.Flush()
	ctx, stop := untilTold(ctx)
	defer stop()
	restConfig, err := restConfig(cfg)
	if err == nil {
		err = run(ctx, cfg, restConfig, machine{})
	}
	if err != nil {
		klog.ErrorS(err, "Millrace ends")
		return errTold
	}
	return nil
}

// untilTold is ctx until the first SIGINT or SIGTERM, which stops gently. The second one ends
// the process at once, with the exit code that a shell has for who was killed by it: Go's
// runtime would exit with 2 where the process is the first of its container, and that is
// for wrong flags. Call stop when all has ended.
func untilTold(ctx context.Context) (told context.Context, stop func()) {
	told, tell := context.WithCancel(ctx)
	signals, over := make(chan os.Signal, 2), make(chan struct{})
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	var listening sync.WaitGroup
	listening.Go(func() {
		for {
			select {
			case s := <-signals:
				if number, ok := s.(syscall.Signal); ok && told.Err() != nil {
					lastWords(s)
					os.Exit(exitKilled + int(number))
				}
				tell()
			case <-over:
				return
			}
		}
	})
	return told, func() {
		signal.Stop(signals)
		close(over)
		listening.Wait()
		tell()
	}
}

// lastWords says why the process ends, if somebody takes that within a second: who reads
// its log may have stopped reading, and a line blocks then for good. The goroutine ends
// with the process.
func lastWords(s os.Signal) {
	said := make(chan struct{})
	go func() {
		defer close(said)
		klog.InfoS("Told to stop while it stops, and ends at once", "signal", s.String())
		klog.Flush()
	}()
	select {
	case <-said:
	case <-time.After(time.Second):
	}
}

// helpOf is the command help. Cobra's own shows the help of the program, and is content,
// where no command has the name.
func helpOf(c *cobra.Command, name []string) error {
	asked, rest, err := c.Root().Find(name)
	if err != nil || len(rest) > 0 {
		return &usageError{fmt.Errorf("unknown command %q", strings.Join(name, " "))}
	}
	return asked.Help()
}

// help is what --help says of a command: how it is called, the commands below it, and
// its flags, each with the environment variable that may stand in its place.
func help(c *cobra.Command) string {
	var text strings.Builder
	text.WriteString(cmp.Or(c.Long, c.Short) + "\n\nusage: " + c.UseLine() + "\n")
	if c.HasAvailableSubCommands() {
		text.WriteString("\n")
		for _, sub := range c.Commands() {
			fmt.Fprintf(&text, "  %-11s %s\n", sub.Name(), sub.Short)
		}
	}
	text.WriteString("\n")
	c.Flags().VisitAll(func(f *pflag.Flag) {
		if f.Name == "help" {
			return
		}
		text.WriteString("  ")
		if f.Shorthand != "" {
			text.WriteString("-" + f.Shorthand + ", ")
		}
		text.WriteString("--" + f.Name)
		if env := f.Annotations[envAnnotation]; len(env) > 0 {
			text.WriteString(" (" + env[0] + ")")
		}
		text.WriteString("\n        " + f.Usage)
		if f.DefValue != "" && !strings.Contains(f.Usage, "(default:") {
			text.WriteString(" (default " + f.DefValue + ")")
		}
		text.WriteString("\n")
	})
	return text.String()
}
