// Acceptance applies files of YAML to a cluster, each in a namespace of its
// own, and tells which of their runs ended as the file asks.
//
//	acceptance -dir DIR [-list FILE] [-parallel 4] [-timeout 2m] [-kubectl kubectl]
//	acceptance -cases FILE
//
// A file passes when every TaskRun, PipelineRun and CustomRun that it creates
// reaches Succeeded=True. A file may ask for something else in a comment:
//
//	# expect: Succeeded=False reason=TaskRunTimeout
//	# expect: Succeeded=Unknown reason=Pending message="cannot be pulled"
//	# expect: refused message="spec.steps"
//
// A reason or message that the comment does not name may be anything; a
// message is a part of the real one. `namespace: default` in a file stands for
// the namespace that the file gets. Without -list all files below DIR are tried, but for
// those of folders that hold Go source: a program's YAML is its own.
//
// With -cases nothing is run. FILE is a JSON list of objects, each with the verdict that
// it should get, and the fields that a refusal may be about:
//
//	[{"name": "no steps", "verdict": "refuse", "paths": ["spec.steps"], "object": {…}}]
//
// Each is created as a dry run. It passes when the cluster's verdict is that one (of
// schema, rules and admission together) and, where paths are named, one error at least
// is at one of them, above it or below it.
//
// One line a file or object on standard output (pass or fail, and why), then
// "N passed, M failed". Exit status 0 when all passed, 1 when one did not, 2
// when nothing could be tried.
package main

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
)

func main() {
	failed, err := run(os.Args[1:])
	switch {
	case err != nil:
		fmt.Fprintln(os.Stderr, "acceptance:", err)
		os.Exit(2)
	case failed > 0:
		os.Exit(1)
	}
}

func run(args []string) (failed int, err error) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	flags := flag.NewFlagSet("acceptance", flag.ContinueOnError)
	dir := flags.String("dir", "", "folder of YAML files")
	cases := flags.String("cases", "", "file of objects and the verdicts that they should get, instead of -dir")
	list := flags.String("list", "", "file that names the files to try, one path below -dir a line (default: all of them)")
	parallel := flags.Int("parallel", 4, "how many files at once")
	timeout := flags.Duration("timeout", 2*time.Minute, "how long the runs of one file may take")
	kubectl := flags.String("kubectl", "kubectl", "the kubectl to use; KUBECONFIG names the cluster")
	if err := flags.Parse(args); err != nil {
		return 0, err
	}
	if *cases != "" {
		return runCases(ctx, *cases, *kubectl)
	}
	return runFiles(ctx, *dir, *list, *parallel, *timeout, *kubectl)
}

func runCases(ctx context.Context, path, kubectl string) (failed int, err error) {
	samples, err := readSamples(path)
	if err != nil {
		return 0, err
	}
	cluster, err := newCluster(kubectl)
	if err != nil {
		return 0, err
	}
	return tryCases(ctx, os.Stdout, cluster, samples)
}

func runFiles(ctx context.Context, dir, list string, parallel int, timeout time.Duration, kubectl string) (failed int, err error) {
	files, err := choose(dir, list)
	if err != nil {
		return 0, err
	}
	cluster, err := newCluster(kubectl)
	if err != nil {
		return 0, err
	}

	results := make([]result, len(files))
	done := make([]chan struct{}, len(files))
	places := make(chan struct{}, max(1, parallel))
	var workers sync.WaitGroup
	for i, file := range files {
		done[i] = make(chan struct{})
		workers.Go(func() {
			defer close(done[i])
			places <- struct{}{}
			defer func() { <-places }()
			one, cancel := context.WithTimeoutCause(ctx, timeout, errTimeout)
			defer cancel()
			results[i] = cluster.try(one, filepath.Join(dir, file))
		})
	}
	// In the order of the list, each as soon as it and those before it are known.
	width := len(slices.MaxFunc(files, func(a, b string) int { return len(a) - len(b) }))
	for i, file := range files {
		<-done[i]
		r := results[i]
		verdict := "pass"
		if r.err != nil {
			verdict, failed = "fail", failed+1
		}
		fmt.Printf("%s  %-*s  %5.1fs  %s\n", verdict, width, file, r.took.Seconds(), r.why())
	}
	workers.Wait()
	fmt.Printf("%d passed, %d failed\n", len(files)-failed, failed)
	return failed, nil
}

var errTimeout = errors.New("time is up")

// choose returns the files to try, as paths below dir.
func choose(dir, list string) ([]string, error) {
	if dir == "" {
		return nil, errors.New("-dir is needed: the folder of YAML files to try")
	}
	files, err := listed(list)
	if list == "" {
		files, err = found(dir)
	}
	if err != nil {
		return nil, err
	}
	if len(files) == 0 {
		return nil, fmt.Errorf("no YAML file to try in %s (list: %q)", dir, list)
	}
	for _, f := range files {
		if _, err := os.Stat(filepath.Join(dir, f)); err != nil {
			return nil, fmt.Errorf("list %s: %w", list, err)
		}
	}
	return files, nil
}

func listed(list string) ([]string, error) {
	if list == "" {
		return nil, nil
	}
	f, err := os.Open(list)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var files []string
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		line, _, _ := strings.Cut(lines.Text(), "#")
		if line = strings.TrimSpace(line); line != "" {
			files = append(files, line)
		}
	}
	return files, lines.Err()
}

func found(dir string) (files []string, err error) {
	err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && path != dir && isProgram(path):
			return fs.SkipDir
		case d.IsDir():
			return nil
		}
		if ext := filepath.Ext(path); ext == ".yaml" || ext == ".yml" {
			rel, err := filepath.Rel(dir, path)
			if err != nil {
				return err
			}
			files = append(files, rel)
		}
		return nil
	})
	return files, err
}

// isProgram tells whether a folder holds Go source.
func isProgram(path string) bool {
	source, err := filepath.Glob(filepath.Join(path, "*.go"))
	return err == nil && len(source) > 0
}
