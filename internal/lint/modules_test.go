package lint

import (
	"maps"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// A module is a folder with a go.mod: ./... of the one around it stops there, so the gate
// has to name each of them. What only pins a version, and has no Go of ours, is none here.
type module struct{ tested bool }

// modules are those of the repository, by folder; "." is Millrace itself.
func modules(t *testing.T) map[string]module {
	t.Helper()
	all := sources(t, "go.mod")
	found := map[string]module{}
	for name := range sources(t, ".go") {
		dir := path.Dir(name)
		for all[path.Join(dir, "go.mod")] == "" && dir != "." {
			dir = path.Dir(dir)
		}
		found[dir] = module{tested: found[dir].tested || strings.HasSuffix(name, "_test.go")}
	}
	return found
}

// recipe is what a target of the Makefile has done.
func recipe(t *testing.T, makefile, target string) string {
	t.Helper()
	m := regexp.MustCompile(`(?m)^` + target + `:.*\n((?:\t.*\n)+)`).FindStringSubmatch(makefile)
	if m == nil {
		t.Fatalf("the Makefile has no recipe for %s", target)
	}
	return m[1]
}

// entered are the folders that a recipe goes to, and this one.
func entered(recipe string) map[string]bool {
	dirs := map[string]bool{".": true}
	for _, m := range regexp.MustCompile(`(?m)^\t(?:cd|\S+ -C) (\S+) `).FindAllStringSubmatch(recipe, -1) {
		dirs[m[1]] = true
	}
	return dirs
}

// unlinted are modules that make lint leaves out, each with its reason.
var unlinted = map[string]string{
	"devcluster/kube": "its one file calls what Kubernetes exports: to be linted, all of Kubernetes would be compiled first, which the build of the cluster does, and fails where it does not fit",
}

func TestTheGateNamesEveryModule(t *testing.T) {
	makefile, err := os.ReadFile("../../Makefile")
	if err != nil {
		t.Fatal(err)
	}
	all := modules(t)
	linted, tested := entered(recipe(t, string(makefile), "lint")), entered(recipe(t, string(makefile), "unit"))
	for _, dir := range slices.Sorted(maps.Keys(all)) {
		if linted[dir] != (unlinted[dir] == "") {
			t.Errorf("make lint enters %s: %v; why not: %q", dir, linted[dir], unlinted[dir])
		}
		if all[dir].tested && !tested[dir] {
			t.Errorf("make unit does not enter %s, which has tests", dir)
		}
	}
	for dir := range tested {
		if !all[dir].tested {
			t.Errorf("make unit enters %s, where no test is", dir)
		}
	}
	if len(all) < 2 || len(linted) < 2 || len(tested) < 2 {
		t.Errorf("%d modules were found, %d that are linted and %d that are tested", len(all), len(linted), len(tested))
	}
}
