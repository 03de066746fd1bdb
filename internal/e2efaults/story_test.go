//go:build e2e

package e2efaults

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"millrace/crds"
	"millrace/internal/simulation"
)

// A story is what users do while a fault lies in wait, and what has to come of it.
type story struct {
	begin func(*stage) // returns soon
	end   func(*stage)
}

// one is a run, which succeeds.
func one(spec string) story {
	return story{
		begin: func(s *stage) { s.t.Helper(); s.create("a", spec) },
		end:   func(s *stage) { s.t.Helper(); s.succeeds("a") },
	}
}

// oneOfATask has its Task made, too.
func oneOfATask() story {
	of := one(fromTask)
	return story{begin: func(s *stage) { s.t.Helper(); s.makeTask(); of.begin(s) }, end: of.end}
}

// deeds are what the users of a workload of the simulation do, at their times, in one
// namespace.
func deeds(all []simulation.Deed) story {
	var done chan error
	return story{
		begin: func(s *stage) {
			done = make(chan error, 1)
			s.parts.Go(func() {
				err := s.doAll(all)
				if done <- err; err != nil && s.ctx.Err() == nil {
					s.t.Error(err)
					s.stop() // nobody need wait for what comes of it
				}
			})
		},
		end: func(s *stage) {
			s.t.Helper()
			s.must(<-done)
			for _, d := range all {
				if d.Verb == "create" && d.Expect.Reason != "" {
					s.comesTo(d, slices.ContainsFunc(all, func(o simulation.Deed) bool {
						return o.Verb != "create" && o.Resource == d.Resource && o.Name == d.Name
					}))
				}
			}
		},
	}
}

func (s *stage) doAll(all []simulation.Deed) error {
	from := time.Now()
	for _, d := range all {
		s.pass(time.Until(from.Add(d.At)))
		if s.ctx.Err() != nil {
			return s.ctx.Err()
		}
		if err := s.do(d); err != nil {
			return fmt.Errorf("user: %s %s %s: %w", d.Verb, d.Resource, d.Name, err)
		}
	}
	return nil
}

// do does one of them in the stage's namespace, to the program of this stage.
func (s *stage) do(d simulation.Deed) error {
	client, path := s.cluster.tekton, s.path(d.Resource)
	switch d.Verb {
	case "create":
		body, err := s.real(d.Body)
		if err != nil {
			return err
		}
		s.created[d.Name] = time.Now()
		return client.Post().AbsPath(path).Body(body).Do(s.ctx).Error()
	case "update":
		body, err := s.real(d.Body)
		if err != nil {
			return err
		}
		return client.Patch(types.MergePatchType).AbsPath(path, d.Name).Body(body).Do(s.ctx).Error()
	case "patch":
		return client.Patch(types.MergePatchType).AbsPath(path, d.Name).Body(d.Body).Do(s.ctx).Error()
	case "delete":
		return client.Delete().AbsPath(path, d.Name).Do(s.ctx).Error()
	default:
		return fmt.Errorf("what is it to %s?", d.Verb)
	}
}

// path is where the namespace's objects of a resource are.
func (s *stage) path(resource string) string {
	group := "apis/" + crds.Group + "/v1"
	switch resource {
	case "pods", "persistentvolumeclaims", "serviceaccounts":
		group = "api/v1"
	case "stepactions":
		group = "apis/" + crds.Group + "/v1beta1"
	}
	return fmt.Sprintf("/%s/namespaces/%s/%s", group, s.ns, resource)
}

// real makes an object of the simulation one for a real server: what the server gives
// goes, the words of its steps are read by a shell, and it is this program's.
func (s *stage) real(object []byte) ([]byte, error) {
	var o map[string]any
	if err := json.Unmarshal(object, &o); err != nil {
		return nil, err
	}
	delete(o, "status")
	meta, _ := o["metadata"].(map[string]any)
	o["metadata"] = map[string]any{"name": meta["name"], "namespace": s.ns, "labels": meta["labels"]}
	spec, _ := o["spec"].(map[string]any)
	if o["kind"] == "TaskRun" || o["kind"] == "PipelineRun" {
		spec["managedBy"] = s.ns
	}
	spoken(spec, meta["name"])
	return json.Marshal(o)
}

//go:embed testdata/words.sh
var words string

// spoken has a shell read the words of every step in an object. The step of a
// StepAction is taken to have its name.
func spoken(v, of any) {
	switch v := v.(type) {
	case map[string]any:
		if name, ok := v["name"]; ok {
			of = name
		}
		if command, ok := v["command"].([]any); ok && len(command) == 1 && command[0] == "sim" {
			v["command"] = []any{"sh", "-c", words, of}
		}
		for _, inner := range v {
			spoken(inner, of)
		}
	case []any:
		for _, inner := range v {
			spoken(inner, of)
		}
	}
}

// comesTo waits for a run's end. What users have changed ends in some way, or is gone.
func (s *stage) comesTo(d simulation.Deed, changed bool) {
	s.t.Helper()
	var got struct {
		metav1.ObjectMeta `json:"metadata"`
		Status            struct{ Conditions crds.Conditions }
	}
	ended := false
	s.within(patience, d.Resource+" "+d.Name+" to end", func() bool {
		raw, err := s.cluster.tekton.Get().Namespace(s.ns).Resource(d.Resource).Name(d.Name).Do(s.ctx).Raw()
		if err != nil || json.Unmarshal(raw, &got) != nil {
			return changed && err != nil && strings.Contains(err.Error(), "not found")
		}
		c, _ := got.Status.Conditions.Get(crds.ConditionSucceeded)
		ended = c.Status == "True" || c.Status == "False"
		return ended
	})
	if changed {
		return
	}
	if c, _ := got.Status.Conditions.Get(crds.ConditionSucceeded); c.Reason != d.Expect.Reason {
		s.fatalf("%s %s ended with %s (%s), and ends with %s in the simulation (I16)", d.Resource, d.Name, c.Reason, c.Message, d.Expect.Reason)
	}
	if d.Resource == crds.ResourceTaskRuns {
		s.made[d.Name] = max(1, d.Expect.Attempts)
		return
	}
	s.childrenAre(d)
}

// childrenAre fails unless each task of a PipelineRun has had its TaskRuns (I3).
func (s *stage) childrenAre(d simulation.Deed) {
	s.t.Helper()
	var list struct{ Items []crds.TaskRun }
	s.must(s.list(&list))
	made := map[string]int{}
	for _, run := range list.Items {
		if run.Labels["tekton.dev/pipelineRun"] == d.Name {
			made[run.Labels["tekton.dev/pipelineTask"]]++
		}
	}
	if got, want := fmt.Sprint(made), fmt.Sprint(d.Expect.Runs); got != want {
		s.fatalf("%s has TaskRuns by task %s, want %s (I3)", d.Name, got, want)
	}
}
