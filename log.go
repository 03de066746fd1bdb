package main

import (
	"flag"
	"log/slog"
	"os"
	"strconv"

	"k8s.io/klog/v2"
)

// setUpLog makes klog, which Kubernetes' libraries and ours log through, write
// text or JSON to standard error.
func setUpLog(cfg config) {
	flags := flag.NewFlagSet("klog", flag.PanicOnError)
	klog.InitFlags(flags)
	flags.Set("v", strconv.Itoa(cfg.verbosity)) //nolint:errcheck // PanicOnError, and a number
	if cfg.logFormat == "json" {
		// slog's levels count the other way round: klog's V(4) is -4.
		level := slog.Level(-cfg.verbosity)
		klog.SetSlogLogger(slog.New(slog.NewJSONHandler(os.Stderr, &slog.HandlerOptions{Level: level})))
	}
}
