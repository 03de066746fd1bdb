package pipelinerun

import (
	"fmt"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"millrace/crds"
	"millrace/crds/graph"
	"millrace/reconcile/variables"
)

func combinationsOf(t *testing.T, text string) string {
	t.Helper()
	var matrix crds.Matrix
	if err := yaml.UnmarshalStrict([]byte(text), &matrix); err != nil {
		t.Fatal(err)
	}
	all, r := combinations(variables.New(), &task{Node: &graph.Node{PipelineTask: &crds.PipelineTask{Name: "t", Matrix: &matrix}}}, 256)
	if r != nil {
		return r.message
	}
	var lines []string
	for _, c := range all {
		var words []string
		for _, param := range c.params {
			words = append(words, param.Name+"="+param.Value.StringVal)
		}
		lines = append(lines, strings.Join(words, " "))
	}
	return strings.Join(lines, "\n")
}

// The example of Tekton's documentation: what is common goes to all, what fits some to
// those, and what fits none is one more.
func TestMatrixInclude(t *testing.T) {
	got := combinationsOf(t, `
params: [{name: GOARCH, value: [linux/amd64, linux/ppc64le, linux/s390x]}, {name: version, value: [go1.17, go1.18.1]}]
include:
- {name: common-package, params: [{name: package, value: path/to/common/package/}]}
- {name: s390x-no-race, params: [{name: GOARCH, value: linux/s390x}, {name: flags, value: -cover -v}]}
- {name: go117-context, params: [{name: version, value: go1.17}, {name: context, value: path/to/go117/context}]}
- {name: non-existent-arch, params: [{name: GOARCH, value: I-do-not-exist}]}
`)
	want := `GOARCH=linux/amd64 context=path/to/go117/context package=path/to/common/package/ version=go1.17
GOARCH=linux/ppc64le context=path/to/go117/context package=path/to/common/package/ version=go1.17
GOARCH=linux/s390x context=path/to/go117/context flags=-cover -v package=path/to/common/package/ version=go1.17
GOARCH=linux/amd64 package=path/to/common/package/ version=go1.18.1
GOARCH=linux/ppc64le package=path/to/common/package/ version=go1.18.1
GOARCH=linux/s390x flags=-cover -v package=path/to/common/package/ version=go1.18.1
GOARCH=I-do-not-exist`
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestMatrixOfIncludesOnly(t *testing.T) {
	got := combinationsOf(t, `include: [{name: a, params: [{name: image, value: i1}]}, {name: b, params: [{name: image, value: i2}, {name: file, value: f}]}]`)
	if want := "image=i1\nfile=f image=i2"; got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// The limit is found before the memory is spent.
func TestMatrixHasALimit(t *testing.T) {
	var params []string
	for i := range 40 {
		params = append(params, fmt.Sprintf("{name: p%d, value: [a, b, c, d, e, f, g, h, i, j]}", i))
	}
	got := combinationsOf(t, "params: ["+strings.Join(params, ", ")+"]")
	if !strings.Contains(got, `expected 0 <= combinations of the matrix of pipelineTask "t" <= 256`) {
		t.Error(got)
	}
}

// The order is Tekton's: the first parameter changes fastest.
func TestMatrixOrder(t *testing.T) {
	got := combinationsOf(t, `params: [{name: os, value: [linux, mac]}, {name: browser, value: [chrome, safari]}]`)
	if want := "browser=chrome os=linux\nbrowser=chrome os=mac\nbrowser=safari os=linux\nbrowser=safari os=mac"; got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// To Tekton it is no matrix; taken as one, the task would have no run, and the pipeline
// would succeed without it.
func TestAMatrixOfNothingIsOneRun(t *testing.T) {
	run, config := runOf(t, "spec: {tasks: [{name: a, matrix: {}, taskRef: {name: t}}]}")
	w := newWorld(t, run)
	w.config = config
	w.tasks = map[string]*crds.TaskSpec{"t": {Steps: []crds.Step{{Image: "x"}}}}
	w.reconcile()
	if len(w.created) != 1 || w.run.IsDone() {
		t.Errorf("%v were created, and the run says %s", w.created, w.run.Succeeded().Message)
	}
}
