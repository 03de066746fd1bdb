package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"regexp"
	"runtime"
	"syscall"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "scale:", err)
		os.Exit(1) //nolint:gocritic // The signals of a process that ends need no stop.
	}
}

// options are the flags.
type options struct {
	only    *regexp.Regexp
	runs    int
	program string
	image   string
	logs    string
	results string
	page    string
	shards  bool
}

func parse(args []string) (options, error) {
	var o options
	flags := flag.NewFlagSet("scale", flag.ContinueOnError)
	only := flags.String("only", "", "measure only the parts whose names match this pattern")
	flags.IntVar(&o.runs, "runs", 0, "how many runs a part has, instead of what its name says; to try it")
	flags.StringVar(&o.program, "program", ".build/bin/millrace", "the controller")
	flags.StringVar(&o.image, "entrypoint-image", "localhost/millrace:scale", "image of the entrypoint, which no node of kwok's pulls")
	flags.StringVar(&o.logs, "logs", ".build/scale", "folder for the controller's logs and heap profiles")
	flags.StringVar(&o.results, "results", "", "file for the numbers; those of parts that were not measured stay in it")
	flags.StringVar(&o.page, "write-docs", "", "page to write the table into, between its markers")
	flags.BoolVar(&o.shards, "shards", false, "measure nothing but replicas that share the namespaces; AUDIT_LOG names the API server's audit log")
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	var err error
	if o.only, err = regexp.Compile(*only); err != nil {
		return o, fmt.Errorf("-only=%s: %w", *only, err)
	}
	return o, nil
}

func run(ctx context.Context, args []string) error {
	o, err := parse(args)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(o.logs, 0o755); err != nil {
		return err
	}
	cluster, err := connect()
	if err != nil {
		return err
	}
	s := stage{cluster: cluster, options: o, progress: newProgress(os.Stderr)}
	if o.shards {
		return shared(ctx, s, os.Getenv("AUDIT_LOG"))
	}
	var measured []result
	for _, p := range parts(o.runs) {
		if !o.only.MatchString(p.name) {
			continue
		}
		began := time.Now()
		numbers, err := p.measure(ctx, s)
		if err != nil {
			return fmt.Errorf("%s: %w", p.name, err)
		}
		measured = append(measured, result{Part: p.name, Title: p.title, Cores: runtime.NumCPU(), Took: time.Since(began).Seconds(), Numbers: numbers})
	}
	if len(measured) == 0 {
		return fmt.Errorf("-only=%s matches none of %v", o.only, names(parts(0)))
	}
	return report(os.Stdout, o, measured)
}
