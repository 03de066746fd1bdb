// Command crdgen writes the CustomResourceDefinitions of package crds beside
// the Go types that they are made from.
//
//	crds/*.go ──load──▶ schemas of ours     ──keep──▶ ┐
//	k8s.io/api ─load──▶ schemas of its types ─trim──▶ ┴─ flatten ──▶ crds/tekton.dev_<plural>.yaml
//
// The reading of Go types is controller-tools'; what this program adds is the
// trimming (trim.go): defaults of embedded Kubernetes types are left out, because with
// them every run would be stored with fields that its user never wrote; and their words
// are replaced by shorter ones (words.txt), because with them a TaskRun's definition
// would be too large for client-side `kubectl apply`. It takes out rules that the API
// server could not bound (rules.go), and adds v1beta1 (beta.go).
//
// It is a module of its own so that the product does not depend on what it
// takes to read Go source. It writes the same bytes for the same types.
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
)

func main() {
	out := flag.String("out", filepath.Join("..", "..", "..", "crds"), "the folder of package crds")
	flag.Parse()
	if err := run(*out); err != nil {
		fmt.Fprintln(os.Stderr, "crdgen:", err)
		os.Exit(1)
	}
}

func run(out string) error {
	files, err := Generate(out)
	if err != nil {
		return err
	}
	for name, content := range files {
		if err := os.WriteFile(filepath.Join(out, name), content, 0o644); err != nil {
			return fmt.Errorf("write %s: %w", name, err)
		}
	}
	return nil
}
