package main

import (
	"flag"
	"log/slog"
	"os"
	"os/signal"
	"strconv"
	"syscall"

	"k8s.io/klog/v2"
)

// setUpLog makes klog, which Kubernetes' libraries and ours log through, write
// text or JSON to standard error. That whoever read it has gone is no reason to
// end: Go's runtime would, by SIGPIPE, at the first line that it cannot write.
func setUpLog(cfg config) {
	signal.Ignore(syscall.SIGPIPE)
	flags := flag.NewFlagSet("klog", flag.PanicOnError)
	klog.InitFlags(flags)
	flags.Set("v", strconv.Itoa(cfg.verbosity)) //nolint:errcheck // PanicOnError, and a number
	if cfg.logFormat == "json" {
		// slog's levels count the other way round: klog's V(4) is -4.
		level := slog.Level(-cfg.verbosity)
		klog.SetSlogLogger(slog.New(slog.NewJSONHandler(os.Stderr, &slog.HandlerOptions{Level: level})))
	}
}
