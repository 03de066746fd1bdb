package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"

	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"

	"millrace/internal/option"
)

// The config file is versioned as objects of Kubernetes are, and those of its
// components: what a later version of Millrace reads otherwise has another apiVersion.
const (
	configAPIVersion = "config.millrace.dev/v1alpha1"
	configKind       = "ControllerConfiguration"
)

// readConfigFile returns what a config file says, as text, by the paths of its fields,
// which must be among those of fields. It is one YAML document.
func readConfigFile(name string, fields map[string]option.Value) (map[string]string, error) {
	raw, err := os.ReadFile(name)
	if err != nil {
		return nil, fmt.Errorf("config file: %w", err)
	}
	given, err := parseConfigFile(raw, fields)
	if err != nil {
		return nil, fmt.Errorf("config file %s: %w", name, err)
	}
	return given, nil
}

func parseConfigFile(raw []byte, fields map[string]option.Value) (map[string]string, error) {
	document, err := onlyDocument(raw)
	if err != nil {
		return nil, err
	}
	asJSON, err := yaml.YAMLToJSONStrict(document)
	if err != nil {
		return nil, err
	}
	var object map[string]any
	decoder := json.NewDecoder(bytes.NewReader(asJSON))
	decoder.UseNumber()
	if err := decoder.Decode(&object); err != nil {
		return nil, fmt.Errorf("want fields: %w", err)
	}
	for _, head := range [...]struct{ field, want string }{{"apiVersion", configAPIVersion}, {"kind", configKind}} {
		switch is, given := object[head.field]; {
		case !given:
			return nil, fmt.Errorf("there is no %s: want %s", head.field, head.want)
		case is != head.want:
			return nil, fmt.Errorf("%s is %v: want %s", head.field, is, head.want)
		}
		delete(object, head.field)
	}
	given := map[string]string{}
	return given, collect(given, "", object, fields)
}

// onlyDocument is the document of a file that has one.
func onlyDocument(raw []byte) ([]byte, error) {
	reader := utilyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(raw)))
	var only []byte
	for {
		document, err := reader.Read()
		if errors.Is(err, io.EOF) {
			return only, nil
		}
		if err != nil {
			return nil, err
		}
		if len(bytes.TrimSpace(document)) == 0 {
			continue
		}
		if only != nil {
			return nil, errors.New("want one YAML document, and there are more")
		}
		only = document
	}
}

// collect puts the fields of an object, and of the objects in it, into given. The first
// one that is wrong, in their order, is the error.
func collect(given map[string]string, prefix string, object map[string]any, fields map[string]option.Value) error {
	for _, name := range slices.Sorted(maps.Keys(object)) {
		path := prefix + name
		if to, ok := fields[path]; ok {
			text, err := to.FromJSON(object[name])
			if err != nil {
				return fmt.Errorf("%s %w", path, err)
			}
			given[path] = text
			continue
		}
		inner, isObject := object[name].(map[string]any)
		if !isObject || !isPart(path, fields) {
			return fmt.Errorf("unknown field %q%s", path, nearest(path, fields))
		}
		if err := collect(given, path+".", inner, fields); err != nil {
			return err
		}
	}
	return nil
}

// isPart tells whether there are fields below the path.
func isPart(path string, fields map[string]option.Value) bool {
	for field := range fields {
		if strings.HasPrefix(field, path+".") {
			return true
		}
	}
	return false
}

// nearest asks for the field that was meant, if one is not far from what was written.
func nearest(written string, fields map[string]option.Value) string {
	best, least := "", len(written)/2+1
	for _, field := range slices.Sorted(maps.Keys(fields)) {
		if d := distance(strings.ToLower(written), strings.ToLower(field)); d < least {
			best, least = field, d
		}
	}
	if best == "" {
		return ""
	}
	return fmt.Sprintf(" (did you mean %q?)", best)
}

// distance is how many bytes have to be put in, taken out or changed to make one word
// of the other (Levenshtein).
func distance(a, b string) int {
	above := make([]int, len(b)+1)
	for j := range above {
		above[j] = j
	}
	for i := range len(a) {
		row := make([]int, len(b)+1)
		row[0] = i + 1
		for j := range len(b) {
			change := above[j]
			if a[i] != b[j] {
				change++
			}
			row[j+1] = min(change, above[j+1]+1, row[j]+1)
		}
		above = row
	}
	return above[len(b)]
}
