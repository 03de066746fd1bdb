package simulation

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"millrace/crds"
	"millrace/internal/simulation/apiserver"
)

// A breach of each thing that is held of a PipelineRun, planted, is found; and nothing
// is found where there is none.
func TestPlantedBreachesOfPipelinesAreCaught(t *testing.T) {
	story := pipelineStory{
		spec:   crds.PipelineSpec{Tasks: []crds.PipelineTask{pipelineTask("a"), after(pipelineTask("b"), "a")}},
		reason: "Succeeded", runs: map[string]int{"a": 1, "b": 1}, result: "r=1",
	}
	whole := []string{"run", "a", "a ends", "b", "b ends", "told", "run ends"}
	for name, c := range map[string]struct {
		events []string
		want   string // empty: nothing
	}{
		"nothing":              {whole, ""},
		"a second run":         {[]string{"run", "a", "a again"}, "has run %d of %d"},
		"too early":            {[]string{"run", "a", "b"}, "is made before %s has ended"},
		"ended before a child": {[]string{"run", "a", "run ends"}, "has ended before %v"},
		"written after":        {append(append([]string{}, whole...), "told"), "had ended, and is written by"},
		"lost":                 {whole[:5], "the PipelineRun is %s %s"},
		"one too few":          {[]string{"run", "a", "a ends", "told", "run ends"}, "task %s has %d runs"},
		"not told of":          {[]string{"run", "a", "a ends", "b", "b ends", "run ends"}, "the PipelineRun tells of %d"},
	} {
		var found []string
		check := story.judge(nil, func(format string, _ ...any) { found = append(found, format) })
		server := apiserver.New(apiserver.Config{Seen: check.See})
		for _, event := range c.events {
			if err := happens(server, event); err != nil {
				t.Fatalf("%s: %s: %v", name, event, err)
			}
		}
		check.End()
		if got := strings.Join(found, "; "); !strings.Contains(got, c.want) || c.want == "" && got != "" {
			t.Errorf("%s: found %q, want %q", name, got, c.want)
		}
	}
}

func happens(server *apiserver.Server, event string) error {
	program, key := server.Actor(leader), types.NamespacedName{Namespace: "blue", Name: "p"}
	task, ends := strings.CutSuffix(event, " ends")
	var err error
	switch {
	case event == "run":
		_, err = server.Actor("user").Create("pipelineruns", &crds.PipelineRun{ObjectMeta: metav1.ObjectMeta{Namespace: "blue", Name: "p"}, Spec: crds.PipelineRunSpec{PipelineSpec: &crds.PipelineSpec{}}})
	case event == "run ends":
		_, err = apiserver.Change(program, "pipelineruns", "status", key, func(r *crds.PipelineRun) {
			r.Status.Conditions = crds.Conditions{{Type: crds.ConditionSucceeded, Status: corev1.ConditionTrue, Reason: "Succeeded"}}
			r.Status.Results = []crds.PipelineRunResult{{Name: "r", Value: crds.NewString("1")}}
		})
	case event == "told":
		_, err = apiserver.Change(program, "pipelineruns", "status", key, func(r *crds.PipelineRun) {
			r.Status.ChildReferences = append(r.Status.ChildReferences, crds.ChildStatusReference{Name: "p-a"}, crds.ChildStatusReference{Name: "p-b"})
		})
	case ends:
		key.Name = "p-" + task
		_, err = apiserver.Change(program, "taskruns", "status", key, func(r *crds.TaskRun) {
			r.Status.Conditions = crds.Conditions{{Type: crds.ConditionSucceeded, Status: corev1.ConditionTrue, Reason: "Succeeded"}}
		})
	default:
		task, _, _ := strings.Cut(event, " ")
		run := &crds.TaskRun{ObjectMeta: metav1.ObjectMeta{Namespace: "blue", Name: "p-" + strings.ReplaceAll(event, " ", "-"), Labels: map[string]string{"tekton.dev/pipelineTask": task}}}
		run.Spec.TaskSpec = &crds.TaskSpec{Steps: []crds.Step{stepOf("only")}}
		_, err = program.Create("taskruns", run)
	}
	return err
}
