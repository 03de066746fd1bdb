// Bench measures Millrace's chain beside client-go's, in one process, on the same
// bytes, and prints one table.
//
//	           ┌─ this process ──────────────────────────┐
//	child      │  ours: reflector fifo indexer … queue   │ ──┐
//	server ───▶│  and, in turn with it,                  │   ├─▶ table, results.json, docs/performance.md
//	(objects)  │  peer: client-go's informer and queue   │ ──┘
//	           └─────────────────────────────────────────┘
//
//	go run -C bench .                       everything, some minutes
//	go run -C bench . -only 'event|queue'   what the pattern names
//	go test -C bench -bench . -count 5      the same as Go benchmarks, for benchstat
//
// An experiment prepares what both sides need, and then measures them in turn,
// some rounds each. Every round begins with an empty heap. Of times the least
// is taken, since whatever else the machine does can only add to them; of the
// rest the median.
//
// It is a module of its own, so that client-go's caches and controller-runtime
// stay out of the product's.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"regexp"
	"syscall"
	"time"

	"k8s.io/klog/v2"

	"millrace/bench/peer"
	"millrace/bench/server"
	"millrace/wire"
)

func main() {
	server.Main()
	quiet()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1) //nolint:gocritic // The signals of a process that ends need no stop.
	}
}

// quiet keeps what both sides log of the troubles that they are given out of the
// output.
func quiet() {
	flags := flag.NewFlagSet("klog", flag.PanicOnError)
	klog.InitFlags(flags)
	_ = flags.Set("logtostderr", "false")
	_ = flags.Set("stderrthreshold", "FATAL")
	klog.SetOutput(io.Discard)
	peer.Quiet()
}

func run(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	only := flags.String("only", "", "measure only the rows whose id matches this pattern")
	rounds := flags.Int("rounds", 0, "how often each is measured, instead of what is usual for it")
	results := flags.String("results", "results.json", "where to write the numbers; empty: nowhere")
	docs := flags.String("write-docs", "", "page to write the numbers into, between its markers; rows that are not measured stay as they are")
	profiles := flags.String("profiles", "", "folder for a CPU profile of each experiment's side")
	if err := flags.Parse(args); err != nil {
		return err
	}
	pattern, err := regexp.Compile(*only)
	if err != nil {
		return fmt.Errorf("-only=%s: %w", *only, err)
	}
	if *profiles != "" {
		if err := os.MkdirAll(*profiles, 0o755); err != nil {
			return err
		}
	}
	m := measuring{began: time.Now(), progress: os.Stderr, profiles: *profiles, rounds: *rounds}
	all, err := m.all(ctx, chosen(experiments(), pattern))
	if err != nil {
		return err
	}
	table(os.Stdout, all, isTerminal(os.Stdout))
	if *results != "" {
		if err := writeResults(*results, all); err != nil {
			return err
		}
	}
	if *docs != "" {
		return writeDocs(*docs, all)
	}
	return nil
}

// experiments are all that there are, in the order of the table.
func experiments() []experiment {
	all := eventExperiments()
	return append(all,
		allocations(),
		syncing(),
		restingTaskRuns(),
		restingPipelineRuns(),
		packing(server.Pods, wire.Protobuf, "pod"),
		packing(server.TaskRuns, wire.JSON, "taskrun"),
		packing(server.PipelineRuns, wire.JSON, "pipelinerun"),
		indexing(),
		reading(),
		queueing(),
		backingOff(),
		stopping(),
	)
}

func chosen(all []experiment, pattern *regexp.Regexp) (some []experiment) {
	for _, e := range all {
		for _, m := range e.metrics {
			if pattern.MatchString(m.id) {
				some = append(some, e)
				break
			}
		}
	}
	return some
}

func isTerminal(f *os.File) bool {
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}
