package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"

	"sigs.k8s.io/yaml"
)

// writeRules makes of the rendered component for monitoring what Prometheus and promtool
// read, who know no PrometheusRule: its spec, and beside it the tests of it.
func writeRules(out string, monitoring []byte, release Release) ([]string, error) {
	rules, err := specOfRules(monitoring)
	if err != nil {
		return nil, err
	}
	tests, err := os.ReadFile(filepath.Join("testdata", "rules.yaml"))
	if err != nil {
		return nil, fmt.Errorf("read the tests of the rules: %w", err)
	}
	if release.Runbooks != "" {
		tests = bytes.ReplaceAll(tests, []byte(" docs/operating.md#"), []byte(" "+release.Runbooks+"#"))
	}
	var files []string
	for _, each := range []struct {
		name string
		text []byte
	}{{"millrace.rules", rules}, {"rules_test.yaml", tests}} {
		file := filepath.Join(out, each.name)
		if err := os.WriteFile(file, each.text, 0o644); err != nil {
			return nil, fmt.Errorf("write %s: %w", file, err)
		}
		files = append(files, file)
	}
	return files, nil
}

// specOfRules is the spec of the one PrometheusRule among rendered objects.
func specOfRules(rendered []byte) ([]byte, error) {
	for doc := range bytes.SplitSeq(rendered, []byte("\n---\n")) {
		var object struct {
			Kind string `json:"kind"`
			Spec any    `json:"spec"`
		}
		if err := yaml.Unmarshal(doc, &object); err != nil {
			return nil, fmt.Errorf("read what was rendered: %w", err)
		}
		if object.Kind != "PrometheusRule" {
			continue
		}
		spec, err := yaml.Marshal(object.Spec)
		if err != nil {
			return nil, fmt.Errorf("write the rules: %w", err)
		}
		return spec, nil
	}
	return nil, fmt.Errorf("no PrometheusRule was rendered")
}
