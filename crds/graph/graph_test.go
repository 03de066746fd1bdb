package graph

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/yaml"

	"millrace/crds"
)

func parse(t *testing.T, text string) *crds.PipelineSpec {
	t.Helper()
	spec := &crds.PipelineSpec{}
	if err := yaml.UnmarshalStrict([]byte(text), spec); err != nil {
		t.Fatal(err)
	}
	return spec
}

func draw(spec *crds.PipelineSpec) (*Graph, []Fault) { return Draw(spec, field.NewPath("spec")) }

// A reference makes a task wait, wherever it stands, but in what is never replaced.
func TestNeeds(t *testing.T) {
	for name, task := range map[string]string{
		"runAfter":            "runAfter: [a]",
		"params":              "params: [{name: p, value: $(tasks.a.results.r)}]",
		"an element":          "params: [{name: p, value: [x, 'y$(tasks.a.results.r[0])']}]",
		"a key":               "params: [{name: p, value: {k: $(tasks.a.results.r.k)}}]",
		"matrix":              "matrix: {params: [{name: p, value: '$(tasks.a.results.r[*])'}]}",
		"include":             "matrix: {include: [{params: [{name: p, value: $(tasks.a.results.r)}]}]}",
		"name of an include":  "matrix: {include: [{name: $(tasks.a.results.r)}]}",
		"length of a matrix":  "params: [{name: p, value: $(tasks.a.matrix.length)}]",
		"an artifact":         "params: [{name: p, value: $(tasks.a.outputs.o)}]",
		"input of when":       "when: [{input: $(tasks.a.results.r), operator: in, values: [x]}]",
		"values of when":      "when: [{input: x, operator: in, values: ['$(tasks.a.results.r[*])']}]",
		"cel":                 "when: [{cel: \"'$(tasks.a.results.r)' == 'x'\"}]",
		"displayName":         "displayName: $(tasks.a.results.r)",
		"params of a taskRef": "taskRef: {resolver: git, params: [{name: p, value: $(tasks.a.results.r)}]}",
		"subPath":             "workspaces: [{name: w, subPath: $(tasks.a.results.r)}]",
		"a script":            "taskSpec: {steps: [{image: x, script: echo $(tasks.a.results.r)}]}",
		"a sidecar":           "taskSpec: {sidecars: [{name: s, image: $(tasks.a.results.r)}]}",
		"a volume":            "taskSpec: {volumes: [{name: v, configMap: {name: $(tasks.a.results.r)}}]}",
		"a custom task":       "taskSpec: {apiVersion: x/v1, kind: X, spec: {deep: [{down: $(tasks.a.results.r)}]}}",
	} {
		g, faults := draw(parse(t, "tasks: [{name: b, "+task+"}, {name: a}]"))
		if len(faults) > 0 || !slices.Equal(g.Nodes[0].Needs, []int{1}) || !slices.Equal(g.Order, []int{1, 0}) {
			t.Errorf("%s: needs %v, order %v, faults %v", name, g.Nodes[0].Needs, g.Order, faults)
		}
	}
	for name, task := range map[string]string{
		"how it ended":         "params: [{name: p, value: $(tasks.a.status) $(tasks.status)}]",
		"a description":        "description: $(tasks.a.results.r)",
		"an inner description": "taskSpec: {description: $(tasks.a.results.r)}",
		"a default":            "taskSpec: {params: [{name: p, default: $(tasks.a.results.r)}]}",
	} {
		g, faults := draw(parse(t, "tasks: [{name: b, "+task+"}, {name: a}]"))
		if len(faults) > 0 || len(g.Nodes[0].Needs) > 0 {
			t.Errorf("%s: needs %v, faults %v", name, g.Nodes[0].Needs, faults)
		}
	}
	g, faults := draw(parse(t, "tasks: [{name: a}]\nfinally: [{name: f, params: [{name: p, value: $(tasks.a.results.r)}]}]"))
	if len(faults) > 0 || len(g.Nodes[1].Needs) > 0 || len(g.Nodes[1].Refs) != 1 || !g.Nodes[1].Final {
		t.Errorf("of finally: %+v, faults %v", g.Nodes[1], faults)
	}
}

func TestFaults(t *testing.T) {
	for _, c := range []struct {
		name, spec, at, value, detail string
		kind                          Kind
	}{
		{"after nobody", "tasks: [{name: a, runAfter: [b]}]", "spec.tasks[0].runAfter[0]", "b", `task "a" depends on "b", which is no task of this pipeline`, Missing},
		{"results of nobody", "tasks: [{name: a, params: [{name: p}, {name: q, value: [x, $(tasks.b.results.r)]}]}]", "spec.tasks[0].params[1].value[1]", "$(tasks.b.results.r)", `no task of this pipeline`, Missing},
		{"inside", "tasks: [{name: a, taskSpec: {steps: [{name: s}, {script: $(tasks.b.results.r)}]}}]", "spec.tasks[0].taskSpec.steps[1].script", "$(tasks.b.results.r)", `no task of this pipeline`, Missing},
		{"itself", "tasks: [{name: a, runAfter: [a]}]", "spec.tasks[0].runAfter[0]", "a", `depends on itself`, OnItself},
		{"finally", "tasks: [{name: a, runAfter: [f]}]\nfinally: [{name: f}]", "spec.tasks[0].runAfter[0]", "f", `which is in finally`, OnFinally},
		{"within finally", "tasks: [{name: a}]\nfinally: [{name: f}, {name: g, when: [{input: $(tasks.f.results.r)}]}]", "spec.finally[1].when[0].input", "$(tasks.f.results.r)", `which is in finally`, OnFinally},
		{"a circle", "tasks: [{name: a, runAfter: [c]}, {name: b, runAfter: [a]}, {name: c, runAfter: [b]}, {name: d}]", "spec.tasks", "a after c, c after b, b after a", `wait for each other in a cycle`, Cycle},
		{"behind a circle", "tasks: [{name: d, runAfter: [a]}, {name: a, runAfter: [b]}, {name: b, runAfter: [a]}]", "spec.tasks", "a after b, b after a", `wait for each other in a cycle`, Cycle},
	} {
		_, faults := draw(parse(t, c.spec))
		if len(faults) != 1 {
			t.Errorf("%s: %d faults: %+v", c.name, len(faults), faults)
			continue
		}
		f := faults[0]
		if f.Kind != c.kind || f.At.String() != c.at || f.Value != c.value || !strings.Contains(f.Detail, c.detail) {
			t.Errorf("%s: at %s, of %q: %s (%d)", c.name, f.At, f.Value, f.Detail, f.Kind)
		}
	}
}

// A circle of many is described as far as anybody reads, and found in linear time.
func TestALongCircle(t *testing.T) {
	const n = 3000
	spec := &crds.PipelineSpec{}
	for i := range n {
		spec.Tasks = append(spec.Tasks, crds.PipelineTask{Name: fmt.Sprint("t", i), RunAfter: []string{fmt.Sprint("t", (i+1)%n)}})
	}
	_, faults := draw(spec)
	if len(faults) != 1 || !strings.HasSuffix(faults[0].Value, "t9 after t10, and so on") {
		t.Errorf("%+v", faults)
	}
}

// random is a pipeline in which each task needs some of those with smaller numbers,
// their names shuffled over the file; sometimes with one edge back.
func random(r *rand.Rand, n int) (spec *crds.PipelineSpec, cyclic bool) {
	spec = &crds.PipelineSpec{Tasks: make([]crds.PipelineTask, n)}
	place := r.Perm(n)
	for i := range n {
		t := &spec.Tasks[place[i]]
		t.Name = fmt.Sprint("t", i)
		for range r.IntN(4) {
			if i == 0 {
				break
			}
			other := fmt.Sprint("t", r.IntN(i))
			if r.IntN(2) == 0 {
				t.RunAfter = append(t.RunAfter, other)
			} else {
				t.Params = append(t.Params, crds.Param{Name: "p", Value: crds.NewString("$(tasks." + other + ".results.r)")})
			}
		}
	}
	if n > 1 && r.IntN(4) == 0 {
		spec.Tasks[place[0]].RunAfter = append(spec.Tasks[place[0]].RunAfter, fmt.Sprint("t", 1+r.IntN(n-1)))
		cyclic = reaches(spec, "t0", "t0")
	}
	return spec, cyclic
}

// reaches is a slow walk that knows nothing of orders.
func reaches(spec *crds.PipelineSpec, from, to string) bool {
	seen, todo := map[string]bool{}, []string{from}
	for len(todo) > 0 {
		name := todo[0]
		todo = todo[1:]
		for _, t := range spec.Tasks {
			if t.Name != name {
				continue
			}
			for _, other := range spec.Tasks {
				uses := func(p crds.Param) bool { return p.Value.StringVal == "$(tasks."+other.Name+".results.r)" }
				needs := slices.Contains(t.RunAfter, other.Name) || slices.ContainsFunc(t.Params, uses)
				if needs && other.Name == to {
					return true
				}
				if needs && !seen[other.Name] {
					seen[other.Name] = true
					todo = append(todo, other.Name)
				}
			}
		}
	}
	return false
}

func TestOrderIsTopological(t *testing.T) {
	cycles := 0
	for seed := range uint64(400) {
		r := rand.New(rand.NewPCG(seed, 7))
		spec, cyclic := random(r, 1+r.IntN(15))
		g, faults := draw(spec)
		if cyclic != (len(faults) > 0) {
			t.Fatalf("seed %d: a circle is %t, and the faults are %+v", seed, cyclic, faults)
		}
		if cyclic {
			cycles++
			continue
		}
		done := map[int]bool{}
		for _, i := range g.Order {
			for _, need := range g.Nodes[i].Needs {
				if !done[need] {
					t.Fatalf("seed %d: %v has %d before %d", seed, g.Order, i, need)
				}
			}
			done[i] = true
		}
		if len(done) != len(spec.Tasks) || len(g.Order) != len(spec.Tasks) {
			t.Fatalf("seed %d: %v are not all of %d", seed, g.Order, len(spec.Tasks))
		}
	}
	if cycles < 20 {
		t.Errorf("only %d circles were tried", cycles)
	}
}

func TestDrawIsDeterministic(t *testing.T) {
	spec := parse(t, `
tasks:
- name: a
  params: [{name: p, value: {z: $(tasks.x.results.r), y: $(tasks.v.results.r), w: $(tasks.u.results.r)}}]
  taskSpec: {steps: [{env: [{name: e, value: $(tasks.x.results.r)}], script: $(tasks.v.results.r)}], volumes: [{name: $(tasks.u.results.r)}]}
finally:
- {name: f, params: [{name: p, value: {b: $(tasks.f.results.r), a: $(tasks.a.results.r)}}]}`)
	first, faults := draw(spec)
	for range 50 {
		again, more := draw(spec)
		if !reflect.DeepEqual(first, again) || !reflect.DeepEqual(faults, more) {
			t.Fatalf("%+v\nthen %+v", faults, more)
		}
	}
}

// FuzzDraw: whatever is drawn, the order has no task before one that it needs, and all
// of them unless there is a circle.
func FuzzDraw(f *testing.F) {
	f.Add(`{"tasks":[{"name":"a","runAfter":["b"]},{"name":"b","params":[{"name":"p","value":"$(tasks.c.results.r)"}]}]}`)
	f.Add(`{"tasks":[{"name":"a"},{"name":"a","runAfter":["a",""]}],"finally":[{"name":"a","taskSpec":{"spec":{"x":[1,"$(tasks.a.results.r)"]}}}]}`)
	f.Fuzz(func(t *testing.T, text string) {
		spec := &crds.PipelineSpec{}
		if json.Unmarshal([]byte(text), spec) != nil {
			return
		}
		g, faults := draw(spec)
		circle := slices.ContainsFunc(faults, func(f Fault) bool { return f.Kind == Cycle })
		if circle == (len(g.Order) == len(spec.Tasks)) {
			t.Fatalf("%d of %d tasks are ordered: %+v", len(g.Order), len(spec.Tasks), faults)
		}
		done := map[int]bool{}
		for _, i := range g.Order {
			if slices.ContainsFunc(g.Nodes[i].Needs, func(need int) bool { return !done[need] }) || done[i] {
				t.Fatalf("%d comes too early, or twice, in %v", i, g.Order)
			}
			done[i] = true
		}
	})
}

func TestAMatrixOfNothingIsNone(t *testing.T) {
	spec := crds.PipelineSpec{
		Tasks:   []crds.PipelineTask{{Name: "a", Matrix: &crds.Matrix{}}, {Name: "b", Matrix: &crds.Matrix{Include: []crds.MatrixInclude{{}}}}},
		Finally: []crds.PipelineTask{{Name: "c", Matrix: &crds.Matrix{Params: crds.Params{}}}},
	}
	g, _ := Draw(&spec, field.NewPath("spec"))
	for i, want := range []bool{false, true, false} {
		if got := g.Nodes[i].Matrix != nil; got != want {
			t.Errorf("task %s fans out: %t", g.Nodes[i].Name, got)
		}
	}
	if spec.Tasks[0].Matrix == nil || spec.Finally[0].Matrix == nil {
		t.Error("the pipeline was changed")
	}
}
