package planted

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// Variable is of the environment, and names the fault that is awake.
const Variable = "PLANTED_FAULT"

// Overlay writes copies of the files of the module at root, with all of the faults
// in them, to dir, and beside them the file that `go build -overlay` wants, whose
// name it returns. It fails for a fault whose place is not there, or there twice, and
// for two that want the same place.
func Overlay(root, dir string, faults []Fault) (string, error) {
	files, err := sources(root)
	if err != nil {
		return "", err
	}
	places, err := find(files, faults)
	if err != nil {
		return "", err
	}
	replace := map[string]string{}
	add := func(name, text string) error {
		copied := filepath.Join(dir, fmt.Sprintf("%d_%s", len(replace), filepath.Base(name)))
		replace[filepath.Join(root, name)] = copied
		return os.WriteFile(copied, []byte(text), 0o600)
	}
	for name, of := range places {
		text, err := plant(files[name], of)
		if err != nil {
			return "", fmt.Errorf("%s: %w", name, err)
		}
		err = errors.Join(add(name, text), add(filepath.Join(filepath.Dir(name), "planted_overlay.go"), switches(text)))
		if err != nil {
			return "", err
		}
	}
	overlay, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", err
	}
	file := filepath.Join(dir, "overlay.json")
	return file, os.WriteFile(file, overlay, 0o600)
}

// sources are the files of the program, by their paths below root.
func sources(root string) (map[string]string, error) {
	files := map[string]string{}
	err := fs.WalkDir(os.DirFS(root), ".", func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && (name != "." && strings.HasPrefix(entry.Name(), ".") || name == "internal" || entry.Name() == "testdata"):
			return fs.SkipDir
		case entry.IsDir() || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go"):
			return nil
		}
		text, err := os.ReadFile(filepath.Join(root, name))
		files[name] = string(text)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("plant faults: %w", err)
	}
	return files, nil
}

// find sorts faults by the file that has their place.
func find(files map[string]string, faults []Fault) (map[string][]Fault, error) {
	places := map[string][]Fault{}
	for _, f := range faults {
		n := 0
		for name, text := range files {
			in := strings.HasPrefix(name, f.In+"/") || f.In == "." && !strings.Contains(name, "/")
			if times := strings.Count(text, f.Old); in && times > 0 {
				n += times
				places[name] = append(places[name], f)
			}
		}
		if n != 1 {
			return nil, fmt.Errorf("%s: its place is there %d times in %s, and must be there once:\n%s", f.Name, n, f.In, f.Old)
		}
	}
	return places, nil
}

// plant puts faults into a source, each in the place that the original has for it.
func plant(source string, faults []Fault) (string, error) {
	at := func(f Fault) int { return strings.Index(source, f.Old) }
	slices.SortFunc(faults, func(a, b Fault) int { return at(a) - at(b) })
	var out strings.Builder
	from := 0
	for _, f := range faults {
		if at(f) < from {
			return "", fmt.Errorf("%s wants the place of another fault", f.Name)
		}
		out.WriteString(source[from:at(f)] + f.New)
		from = at(f) + len(f.Old)
	}
	return out.String() + source[from:], nil
}

var packageClause = regexp.MustCompile(`(?m)^package \w+$`)

// switches is the file that goes into each package with a fault in it: what the
// faults may call.
func switches(source string) string {
	return packageClause.FindString(source) + `

import (
	"os"
	"sync"
	"sync/atomic"
	"time"
)

var plantedFault = os.Getenv("` + Variable + `")

// planted tells whether a fault is awake.
func planted(fault string) bool { return plantedFault == fault }

var plantedTurns atomic.Int64

// plantedTurn is another number each time.
func plantedTurn() int64 { return plantedTurns.Add(1) }

var plantedPast sync.Map

// plantedFirst is what it was first called with for a key.
func plantedFirst[T any](key any, now T) T {
	first, _ := plantedPast.LoadOrStore(key, now)
	return first.(T)
}

// plantedAfter tells once, after a while, if a fault is awake.
func plantedAfter(fault string, d time.Duration) <-chan time.Time {
	if !planted(fault) {
		return nil
	}
	return time.After(d)
}
`
}
