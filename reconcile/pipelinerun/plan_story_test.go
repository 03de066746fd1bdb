package pipelinerun

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"millrace/crds"
)

// A story is a file of YAML: a PipelineRun, the Pipeline and the Tasks that are there,
// and what happens then. Its golden file says what was planned at each moment, what
// was created, and what the status said afterwards. Every moment is planned from
// nothing but what the server has.
//
//	make no change to a golden file that you cannot explain
func TestPlanStories(t *testing.T) {
	files, err := filepath.Glob("testdata/plans/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatal("no stories", err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".yaml")
		t.Run(name, func(t *testing.T) {
			compareGolden(t, strings.TrimSuffix(file, ".yaml")+".golden", tellPlan(t, file))
		})
	}
}

// A moment is one document after the PipelineRun.
type planMoment struct {
	Kind string `json:"kind"` // Moment
	At   string `json:"at"`   // since the run was created
	Say  string `json:"say"`

	End    map[string]ending `json:"end,omitempty"`    // children that have ended, by name
	Start  []string          `json:"start,omitempty"`  // CustomRuns whose attempt begins
	Delete []string          `json:"delete,omitempty"` // children that somebody deletes
	Forget []string          `json:"forget,omitempty"` // the references to children, that a writer died before it wrote
	Run    map[string]any    `json:"run,omitempty"`    // a user's merge patch
	Answer *answer           `json:"answer,omitempty"` // of a resolver
	Refuse map[string]string `json:"refuse,omitempty"` // what the server says to the creation of objects of these names
}

type answer struct {
	Pipeline string `json:"pipeline,omitempty"` // as the resolver has found it
	Failure  string `json:"failure,omitempty"`  // why it has not
}

type ending struct {
	Reason  string                     `json:"reason"`
	Results map[string]crds.ParamValue `json:"results,omitempty"`
}

// planConfig is the first document of a story, if it is of kind Config.
type planConfig struct {
	Kind           string          `json:"kind"`
	DefaultTimeout metav1.Duration `json:"defaultTimeout,omitzero"`
	MaxMatrix      int             `json:"maxMatrix,omitempty"`
	CEL            bool            `json:"cel,omitempty"`
	Alpha          bool            `json:"alpha,omitempty"`
	ParamEnum      bool            `json:"paramEnum,omitempty"`
	Resolvers      []string        `json:"resolvers,omitempty"`
	Namespace      string          `json:"namespace,omitempty"`
}

type teller struct {
	*world

	out  bytes.Buffer
	told bool
}

func tellPlan(t *testing.T, file string) string {
	t.Helper()
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	s := &teller{}
	var config planConfig
	var pipeline *crds.Pipeline
	tasks := map[string]*crds.TaskSpec{}
	for document := range strings.SplitSeq(string(raw), "\n---\n") {
		var kind metav1.TypeMeta
		if err := yaml.Unmarshal([]byte(document), &kind); err != nil {
			t.Fatal(err)
		}
		switch kind.Kind {
		case "Config":
			readDocument(t, document, &config)
		case crds.KindTask:
			task := &crds.Task{}
			readDocument(t, document, task)
			tasks[task.Name] = &task.Spec
		case crds.KindPipeline:
			pipeline = &crds.Pipeline{}
			readDocument(t, document, pipeline)
		case crds.KindPipelineRun:
			run := &crds.PipelineRun{}
			readDocument(t, document, run)
			s.world = newWorld(t, run)
			s.tasks, s.pipeline = tasks, pipeline
			s.config = Config{Namespace: config.Namespace, DefaultTimeout: config.DefaultTimeout.Duration, MaxMatrix: config.MaxMatrix, CEL: config.CEL, Alpha: config.Alpha, ParamEnum: config.ParamEnum,
				Resolver: func(name string) bool { return slices.Contains(config.Resolvers, name) }}
		case "Moment":
			s.begin()
			var m planMoment
			readDocument(t, document, &m)
			s.happen(m)
		default:
			t.Fatalf("%s: kind %q", file, kind.Kind)
		}
	}
	s.begin()
	return s.out.String()
}

func readDocument(t *testing.T, document string, into any) {
	t.Helper()
	if err := yaml.UnmarshalStrict([]byte(document), into); err != nil {
		t.Fatalf("%v in\n%s", err, document)
	}
}

func (s *teller) begin() {
	if !s.told {
		s.told = true
		s.tell("0s", "the run is created")
	}
}

func (s *teller) happen(m planMoment) {
	at, err := time.ParseDuration(m.At)
	if err != nil {
		s.t.Fatalf("moment %q: %v", m.Say, err)
	}
	s.now = s.start.Add(at)
	for _, name := range slices.Sorted(maps.Keys(m.End)) {
		var results []crds.TaskRunResult
		for _, result := range slices.Sorted(maps.Keys(m.End[name].Results)) {
			results = append(results, crds.TaskRunResult{Name: result, Value: m.End[name].Results[result]})
		}
		s.end(name, m.End[name].Reason, results...)
	}
	for _, name := range m.Start {
		s.child(name).Started = s.now
	}
	for _, name := range m.Delete {
		s.vanish(name)
	}
	s.run.Status.ChildReferences = slices.DeleteFunc(s.run.Status.ChildReferences, func(r crds.ChildStatusReference) bool { return slices.Contains(m.Forget, r.Name) })
	if m.Answer != nil {
		s.resolve(*m.Answer)
	}
	if m.Run != nil {
		s.patch(m.Run)
	}
	for name, message := range m.Refuse {
		s.refuse[name] = apierrors.NewForbidden(schema.GroupResource{Group: crds.Group, Resource: crds.ResourceTaskRuns}, name, fmt.Errorf("%s", message))
		if message == "" {
			delete(s.refuse, name)
		}
		if rest, bad := strings.CutPrefix(message, "bad: "); bad {
			s.refuse[name] = apierrors.NewBadRequest(rest)
		}
	}
	s.tell(m.At, m.Say)
}

func (s *teller) resolve(a answer) {
	condition := success("", "")
	if a.Failure != "" {
		condition = failure("ResolutionFailed", a.Failure)
	}
	s.request.Status.Conditions.Set(condition, s.now)
	s.request.Status.Data = base64.StdEncoding.EncodeToString([]byte(a.Pipeline))
	s.request.Status.RefSource = &crds.RefSource{URI: "git+https://example.dev/repository", EntryPoint: "pipeline.yaml"}
}

func (s *teller) patch(change map[string]any) {
	patch, err := json.Marshal(change)
	if err != nil {
		s.t.Fatal(err)
	}
	raw, err := jsonpatch.MergePatch([]byte(text(s.run)), patch)
	if err != nil {
		s.t.Fatal(err)
	}
	s.run = &crds.PipelineRun{}
	if err := json.Unmarshal(raw, s.run); err != nil {
		s.t.Fatal(err)
	}
}

func (s *teller) tell(at, say string) {
	fmt.Fprintf(&s.out, "%s after its creation: %s\n", at, say)
	before := len(s.created)
	status := s.run.Status
	for _, p := range s.reconcile() {
		fmt.Fprintf(&s.out, "plan: %s\n", p)
	}
	for _, name := range s.created[before:] {
		s.out.WriteString("-> created\n" + indented(s.createdObject(name)))
	}
	s.tellStatus(status)
	s.out.WriteString("\n")
}

// tellStatus tells what is new in the status; the condition is in the plan.
func (s *teller) tellStatus(before crds.PipelineRunStatus) {
	after := *clone(&s.run.Status)
	after.PipelineSpec, after.ObservedGeneration, after.Conditions = nil, 0, nil
	after.ChildReferences = after.ChildReferences[min(len(before.ChildReferences), len(after.ChildReferences)):]
	after.SkippedTasks = slices.DeleteFunc(after.SkippedTasks, func(skip crds.SkippedTask) bool {
		return slices.ContainsFunc(before.SkippedTasks, func(old crds.SkippedTask) bool { return text(old) == text(skip) })
	})
	if before.StartTime != nil {
		after.StartTime = nil
	}
	if before.FinallyStartTime != nil {
		after.FinallyStartTime = nil
	}
	if before.CompletionTime == nil || after.CompletionTime == nil {
		if told := text(after); told != "{}" {
			s.out.WriteString("-> new in the status\n" + indented(after))
		}
	}
}

// createdObject leaves out what all children have.
func (s *teller) createdObject(name string) any {
	if run, ok := s.taskRuns[name]; ok {
		run = clone(run)
		s.strip(&run.ObjectMeta)
		return run
	}
	if run, ok := s.pipelines[name]; ok {
		run = clone(run)
		s.strip(&run.ObjectMeta)
		return run
	}
	run := clone(s.customs[name])
	s.strip(&run.ObjectMeta)
	return run
}

func (s *teller) strip(meta *metav1.ObjectMeta) {
	meta.OwnerReferences, meta.Namespace = nil, ""
	for _, usual := range []string{labelPipeline, labelPipelineRun, labelPipelineRunUID, labelPipelineTask} {
		delete(meta.Labels, usual)
	}
	if meta.Labels[labelMemberOf] == memberOfTasks {
		delete(meta.Labels, labelMemberOf)
	}
}

func indented(value any) string {
	raw, err := yaml.Marshal(value)
	if err != nil {
		panic(err)
	}
	return "   " + strings.ReplaceAll(strings.TrimSuffix(string(raw), "\n"), "\n", "\n   ") + "\n"
}
