package taskrun

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"

	"millrace/crds"
	"millrace/reconcile"
)

var update = flag.Bool("update", false, "write the golden files instead of comparing with them")

// A story is a file of YAML: a TaskRun, the Tasks that are there, and what
// happens then. Its golden file says what the reconciler made of each moment: the
// plan, the API calls with their bodies, and the events.
//
//	make no change to a golden file that you cannot explain
func TestStories(t *testing.T) {
	files, err := filepath.Glob("testdata/stories/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatal("no stories", err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".yaml")
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				compare(t, strings.TrimSuffix(file, ".yaml")+".golden", tell(t, file))
			})
		})
	}
}

func compare(t *testing.T, golden, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatalf("%v (go test ./reconcile/taskrun -update writes it)", err)
	}
	if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(got, "\n")); diff != "" {
		t.Errorf("%s (-want +got):\n%s", golden, diff)
	}
}

// A moment is one document after the TaskRun and the Tasks.
type moment struct {
	Kind string `json:"kind"` // Moment
	At   string `json:"at"`   // since the run was created
	Say  string `json:"say"`

	Run       map[string]any    `json:"run,omitempty"`       // a user's merge patch
	Pod       *corev1.PodStatus `json:"pod,omitempty"`       // what the kubelet reports
	Deleting  *int64            `json:"deleting,omitempty"`  // somebody deletes the pod, with that grace in seconds
	Gone      bool              `json:"gone,omitempty"`      // the pod is gone
	Log       string            `json:"log,omitempty"`       // what the collector of results has printed
	Warning   string            `json:"warning,omitempty"`   // what events tell of the pod
	Unlabeled bool              `json:"unlabeled,omitempty"` // somebody takes the pod's labels away
	Foreign   string            `json:"foreign,omitempty"`   // a pod of that owner UID has the pod's name
	TaskGone  bool              `json:"taskGone,omitempty"`
	Answer    string            `json:"answer,omitempty"`  // what a resolver has found
	Restart   bool              `json:"restart,omitempty"` // the controller starts anew
	Refuse    *metav1.Status    `json:"refuse,omitempty"`  // the answer to the creation of pods; code 0 lifts it

	RefuseClaims *metav1.Status `json:"refuseClaims,omitempty"` // likewise, of claims
	ClaimsGone   bool           `json:"claimsGone,omitempty"`
}

type world struct {
	t      *testing.T
	server *server
	config storyConfig
	rec    *Reconciler
	events []string
	out    bytes.Buffer
	start  time.Time
}

// storyConfig is the first document of a story, if it is of kind Config.
type storyConfig struct {
	Kind                    string                `json:"kind"`
	Mode                    Mode                  `json:"mode,omitempty"`
	ImagePullBackOffTimeout metav1.Duration       `json:"imagePullBackOffTimeout,omitzero"`
	ResultsFrom             ResultsFrom           `json:"resultsFrom,omitempty"`
	MaxResultSize           int                   `json:"maxResultSize,omitempty"`
	CompressMessages        bool                  `json:"compressMessages,omitempty"`
	KeepPodOnCancel         bool                  `json:"keepPodOnCancel,omitempty"`
	ForbiddenEnv            []string              `json:"forbiddenEnv,omitempty"`
	Images                  map[string]storyImage `json:"images,omitempty"`

	DefaultTimeout        metav1.Duration                        `json:"defaultTimeout,omitzero"`
	DefaultServiceAccount string                                 `json:"defaultServiceAccount,omitempty"`
	ManagedByLabel        string                                 `json:"managedByLabel,omitempty"`
	PodTemplate           *crds.PodTemplate                      `json:"podTemplate,omitempty"`
	ContainerResources    map[string]corev1.ResourceRequirements `json:"containerResources,omitempty"`
	WorkspaceBinding      *crds.WorkspaceBinding                 `json:"workspaceBinding,omitempty"`
	ParamEnum             bool                                   `json:"paramEnum,omitempty"`
	CEL                   bool                                   `json:"cel,omitempty"`
	Resolvers             []string                               `json:"resolvers,omitempty"`
	Namespace             string                                 `json:"namespace,omitempty"`
}

type storyImage struct {
	Pinned     string   `json:"pinned,omitempty"`
	Entrypoint []string `json:"entrypoint,omitempty"`
	Cmd        []string `json:"cmd,omitempty"`
	Missing    string   `json:"missing,omitempty"` // the registry says so
	Trouble    string   `json:"trouble,omitempty"` // the registry does not answer
}

func (c storyConfig) Entrypoint(_ context.Context, image string, _ []corev1.Secret) (Image, error) {
	answer, ok := c.Images[image]
	switch {
	case !ok:
		panic("the story says nothing of image " + image)
	case answer.Missing != "":
		return Image{}, fmt.Errorf("%w: %s", ErrNoImage, answer.Missing)
	case answer.Trouble != "":
		return Image{}, errors.New(answer.Trouble)
	default:
		return Image{Pinned: answer.Pinned, Entrypoint: answer.Entrypoint, Cmd: answer.Cmd}, nil
	}
}

func tell(t *testing.T, file string) string {
	t.Helper()
	w := &world{t: t, start: time.Now()}
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var ranges []corev1.LimitRange
	accounts, secrets := map[string]*corev1.ServiceAccount{}, map[string]*corev1.Secret{}
	tasks, actions := map[string]*crds.Task{}, map[string]*crds.StepAction{}
	began := false
	for document := range strings.SplitSeq(string(raw), "\n---\n") {
		var kind metav1.TypeMeta
		check(yaml.Unmarshal([]byte(document), &kind))
		switch kind.Kind {
		case "Config":
			w.read(document, &w.config)
		case crds.KindTask:
			task := &crds.Task{}
			w.read(document, task)
			tasks[task.Name] = task
		case crds.KindStepAction:
			action := &crds.StepAction{}
			w.read(document, action)
			actions[action.Name] = action
		case "ServiceAccount":
			account := &corev1.ServiceAccount{}
			w.read(document, account)
			accounts[account.Name] = account
		case "LimitRange":
			var one corev1.LimitRange
			w.read(document, &one)
			ranges = append(ranges, one)
		case "Secret":
			secret := &corev1.Secret{}
			w.read(document, secret)
			secrets[secret.Name] = secret
		case crds.KindTaskRun:
			run := &crds.TaskRun{}
			w.read(document, run)
			w.server = newServer(run)
			w.server.tasks, w.server.steps = tasks, actions
			w.server.ranges = ranges
			w.server.accounts, w.server.secrets = accounts, secrets
			w.restart()
		case "Moment":
			if !began {
				w.reconcile("0s", "the run is created")
				began = true
			}
			var m moment
			w.read(document, &m)
			w.happen(m)
		default:
			t.Fatalf("%s: kind %q", file, kind.Kind)
		}
	}
	if !began {
		w.reconcile("0s", "the run is created")
	}
	return w.out.String()
}

func (w *world) read(document string, into any) {
	w.t.Helper()
	if err := yaml.UnmarshalStrict([]byte(document), into); err != nil {
		w.t.Fatalf("%v in\n%s", err, document)
	}
}

func (w *world) restart() {
	w.rec = New(Config{
		EntrypointImage:         "registry.example/millrace:v1",
		Release:                 "abc1234",
		Mode:                    w.config.Mode,
		ImagePullBackOffTimeout: w.config.ImagePullBackOffTimeout.Duration,
		ResultsFrom:             w.config.ResultsFrom,
		MaxResultSize:           w.config.MaxResultSize,
		CompressMessages:        w.config.CompressMessages,
		KeepPodOnCancel:         w.config.KeepPodOnCancel,
		ForbiddenEnv:            w.config.ForbiddenEnv,
		DefaultTimeout:          w.config.DefaultTimeout.Duration,
		DefaultServiceAccount:   w.config.DefaultServiceAccount,
		ManagedByLabel:          w.config.ManagedByLabel,
		PodTemplate:             w.config.PodTemplate,
		ContainerResources:      w.config.ContainerResources,
		WorkspaceBinding:        w.config.WorkspaceBinding,
		ParamEnum:               w.config.ParamEnum,
		CEL:                     w.config.CEL,
		Resolver:                func(name string) bool { return slices.Contains(w.config.Resolvers, name) },
		Namespace:               w.config.Namespace,
	}, Parts{
		Caches:   w.server.caches(),
		Client:   w.server,
		Gate:     openGate{},
		Images:   w.config,
		Recorder: w,
	})
}

// openGate is for caches that are always up to date.
type openGate struct{}

func (openGate) Wrote(types.NamespacedName, reconcile.Cache, string) {}
func (openGate) Doubt(types.NamespacedName)                          {}
func (openGate) InDoubt(types.NamespacedName) bool                   { return false }
func (openGate) Clear(types.NamespacedName)                          {}

func (w *world) Event(_ runtime.Object, eventType, reason, message string) {
	w.events = append(w.events, strings.TrimSpace(fmt.Sprintf("%s %s %s", eventType, reason, message)))
}

func (w *world) happen(m moment) {
	at, err := time.ParseDuration(m.At)
	if err != nil {
		w.t.Fatalf("moment %q: %v", m.Say, err)
	}
	time.Sleep(time.Until(w.start.Add(at)))
	name := podName(w.server.run)
	pod := w.server.pods[name]
	switch {
	case m.Run != nil:
		w.server.user(must(json.Marshal(m.Run)))
	case m.Pod != nil:
		pod.Status = *m.Pod
	case m.Unlabeled:
		pod.Labels = nil
	case m.Gone:
		delete(w.server.pods, name)
	case m.Answer != "":
		w.server.request.Status.Data = base64.StdEncoding.EncodeToString([]byte(m.Answer))
		w.server.request.Status.Source = &crds.RefSource{URI: "git+https://example.dev/repository"}
		w.server.request.Status.Conditions.Set(crds.Condition{Type: crds.ConditionSucceeded, Status: corev1.ConditionTrue}, time.Now())
	case m.TaskGone:
		clear(w.server.tasks)
		clear(w.server.steps)
	case m.Restart:
		w.restart()
	}
	if m.Warning != "" {
		w.server.warning = m.Warning
		pod.Spec.NodeName = "node"
	}
	if m.Log != "" {
		w.server.log = m.Log
	}
	if m.Foreign != "" {
		yes := true
		pod = &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, UID: "foreign", Labels: map[string]string{labelTaskRun: "x"},
			OwnerReferences: []metav1.OwnerReference{{Kind: crds.KindTaskRun, Name: m.Foreign, UID: "another", Controller: &yes}}}}
		w.server.setPod(pod)
	}
	if m.Deleting != nil {
		until := metav1.NewTime(time.Now().Add(time.Duration(*m.Deleting) * time.Second))
		pod.DeletionTimestamp, pod.DeletionGracePeriodSeconds = &until, m.Deleting
	}
	if m.ClaimsGone {
		clear(w.server.claims)
	}
	w.server.refuse = answerOf(m.Refuse, w.server.refuse)
	w.server.refuseClaims = answerOf(m.RefuseClaims, w.server.refuseClaims)
	w.reconcile(m.At, m.Say)
}

func answerOf(status *metav1.Status, before error) error {
	switch {
	case status == nil:
		return before
	case status.Code == 0:
		return nil
	default:
		return statusError(int(status.Code), status.Reason, status.Message)
	}
}

func (w *world) reconcile(at, say string) {
	w.server.calls, w.events = nil, nil
	fmt.Fprintf(&w.out, "%s after its creation: %s\n", at, say)
	key := types.NamespacedName{Namespace: "default", Name: w.server.run.Name}
	w.tellPlan(key)
	w.events = nil
	result, err := w.rec.Reconcile(context.Background(), key)
	for _, c := range w.server.calls {
		fmt.Fprintf(&w.out, "-> %s\n", c.verb)
		if c.body != nil {
			w.out.WriteString(indent(string(must(yaml.Marshal(c.body)))))
		}
	}
	for _, e := range w.events {
		fmt.Fprintf(&w.out, "event: %s\n", e)
	}
	if err != nil {
		fmt.Fprintf(&w.out, "error: %v\n", err)
	}
	if result != (reconcile.Result{}) {
		fmt.Fprintf(&w.out, "result: %+v\n", result)
	}
	w.out.WriteString("\n")
}

// tellPlan prints the first plan of the reconcile, and holds it to being a pure
// function: the same arguments give the same plan, and stay the same.
func (w *world) tellPlan(key types.NamespacedName) {
	o := must(w.rec.observe(context.Background(), key))
	w.rec.recall.forget(key) // the reconcile itself is told of below
	w.server.calls = nil
	before := string(must(yaml.Marshal(o.Run))) + string(must(yaml.Marshal(o.Pod))) + string(must(yaml.Marshal(o.Task)))
	first := plan(*o, time.Now(), w.rec.config)
	second := plan(*o, time.Now(), w.rec.config)
	after := string(must(yaml.Marshal(o.Run))) + string(must(yaml.Marshal(o.Pod))) + string(must(yaml.Marshal(o.Task)))
	if diff := cmp.Diff(before, after); diff != "" {
		w.t.Errorf("plan has changed its arguments:\n%s", diff)
	}
	if diff := cmp.Diff(first, second); diff != "" {
		w.t.Errorf("two plans for one observation:\n%s", diff)
	}
	fmt.Fprintf(&w.out, "plan: %s\n", first)
}

func indent(text string) string {
	return "   " + strings.ReplaceAll(strings.TrimSuffix(text, "\n"), "\n", "\n   ") + "\n"
}
