package conversion

import (
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/util/json"
)

func TestFieldsWithoutEffectAreNamed(t *testing.T) {
	cases := []struct {
		name, object string
		want         []string
	}{
		{"of a step, and of the task", "{kind: Task, spec: {resources: {}, steps: [{name: a, image: i}, {name: compile, image: i, tty: true, ports: []}]}}", []string{
			"spec.resources: v1 has no such field, and it has no effect: leave it out",
			"spec.steps[compile]: v1 has no fields ports, tty, and they have no effect: leave them out",
		}},
		{"of a step without a name", "{kind: Task, spec: {steps: [{image: i, stdin: true}]}}", []string{
			"spec.steps[0].stdin: v1 has no such field, and it has no effect: leave it out",
		}},
		{"not what has its effect under another name", "{kind: PipelineRun, spec: {timeout: 1h, pipelineRef: {name: a, bundle: b}, serviceAccountName: s}}", nil},
		{"not of a status", "{kind: TaskRun, spec: {taskRef: {name: a}}, status: {cloudEvents: [], provenance: {configSource: {}}}}", nil},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			object := read(t, c.object)
			object["apiVersion"], object["metadata"] = V1Beta1, map[string]any{"name": "x"}
			raw, err := json.Marshal(convert(t, object, V1))
			if err != nil {
				t.Fatal(err)
			}
			if got := WithoutEffect(raw); !slices.Equal(got, c.want) {
				t.Errorf("got  %q\nwant %q", got, c.want)
			}
		})
	}
	if got := WithoutEffect([]byte("x")); got != nil {
		t.Errorf("of no object: %q", got)
	}
}
