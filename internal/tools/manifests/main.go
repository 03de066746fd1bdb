// Command manifests renders each overlay of manifests/ into one file, for a release:
//
//	manifests/overlays/*  ──kustomize──▶ objects ──image, version──▶ OUT/<overlay>.yaml
//	manifests/components/monitoring ──────────────────────────────▶ OUT/monitoring.yaml
//	crds ─────────────────────────────────────────────────────────▶ OUT/crds.yaml
//
// Its tests are what holds the manifests to the truth: each object is what the API's
// types say and has no field that they do not know (schema_test.go); a rule or a panel asks
// only for metrics and labels that the program exposes (metrics_test.go); each alert
// fires when it should and keeps still when it should, in the format of `promtool test
// rules` (rules_test.go), and has a heading in docs/operating.md.
//
// It is a module of its own so that the product depends neither on kustomize nor on
// Prometheus. Of Prometheus it takes the parser and the engine: its package rules, which
// could say when an alert fires, brings the clouds' SDKs along (712 packages instead of
// 312), and what is needed of it is a dozen lines (alert_test.go).
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
)

func main() {
	out := flag.String("out", filepath.Join("..", "..", "..", ".build", "manifests"), "folder for the rendered files")
	version := flag.String("version", "unknown", "value of the label app.kubernetes.io/version")
	image := flag.String("image", "", "image of the controller, as nodes can pull it (default: millrace:VERSION)")
	runbooks := flag.String("runbooks", "", "URL of docs/operating.md, for the links of alerts (default: its path in the repository)")
	flag.Parse()
	if *image == "" {
		*image = "millrace:" + *version
	}
	if err := run(*out, Release{Image: *image, Version: *version, Runbooks: *runbooks}); err != nil {
		fmt.Fprintln(os.Stderr, "manifests:", err)
		os.Exit(1)
	}
}

// run writes a file for each of Overlays.
func run(out string, release Release) error {
	if err := os.MkdirAll(out, 0o755); err != nil {
		return fmt.Errorf("make the folder of the output: %w", err)
	}
	overlays, err := Overlays(tree)
	if err != nil {
		return err
	}
	for name, root := range overlays {
		text, err := Render(root, release)
		if err != nil {
			return err
		}
		file := filepath.Join(out, name+".yaml")
		if err := os.WriteFile(file, text, 0o644); err != nil {
			return fmt.Errorf("write %s: %w", file, err)
		}
		fmt.Println(file)
	}
	return nil
}
