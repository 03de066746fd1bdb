// Command manifests renders each overlay of manifests/ into one file, for a release:
//
//	manifests/overlays/*  ──kustomize──▶ objects ──image, version──▶ OUT/<overlay>.yaml
//	manifests/components/monitoring ──────────────────────────────▶ OUT/monitoring.yaml
//	           └─ spec of the PrometheusRule, and its tests ───────▶ OUT/millrace.rules, OUT/rules_test.yaml
//	crds ─────────────────────────────────────────────────────────▶ OUT/crds.yaml
//
// Its tests are what holds the manifests to the truth: each object is what the API's
// types say and has no field that they do not know (schema_test.go); a rule or a panel asks
// only for metrics and labels that the program exposes (metrics_test.go); each alert has a
// test in testdata/rules.yaml that it fires, one that it keeps still (rules_test.go), and a
// heading in docs/operating.md. Those tests are promtool's to run: `make rules`.
//
// It is a module of its own so that the product depends neither on kustomize nor on
// Prometheus, of which it takes the parser, and the engine for the picture of the
// dashboard (dashboard). promtool, which needs twice as many packages,
// is another one (internal/tools/promtool).
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
		if name != "monitoring" {
			continue
		}
		files, err := writeRules(out, text, release)
		if err != nil {
			return err
		}
		for _, file := range files {
			fmt.Println(file)
		}
	}
	return nil
}
