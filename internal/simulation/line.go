package simulation

import (
	"fmt"
	"hash/fnv"
	"io"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"millrace/internal/simulation/apiserver"
)

// A Line is one of the timeline.
type Line struct {
	At    time.Duration
	Text  string
	Actor string // who asked, or was told; empty: nobody
	Run   string // the run that it is about, as namespace/name; empty: none
	Of    string // the PipelineRun that this run is of, likewise
}

// Fault tells whether something goes wrong here.
func (l Line) Fault() bool { return strings.Contains(l.Text, "⚡") }

// Breach tells whether an invariant is broken here.
func (l Line) Breach() bool { return strings.HasPrefix(l.Text, "✗") }

// lines are the timeline while it grows, and its hash.
type lines struct {
	all  []Line
	hash uint64
	runs map[object]string // the run of each object that belongs to one
	of   map[string]string // the PipelineRun of a run
}

func newLines() lines {
	return lines{hash: fnv.New64a().Sum64(), runs: map[object]string{}, of: map[string]string{}}
}

func (l *lines) add(line Line) {
	line.Of = l.of[line.Run]
	l.all = append(l.all, line)
	h := fnv.New64a()
	_, _ = fmt.Fprint(h, l.hash, int64(line.At), line.Text)
	l.hash = h.Sum64()
}

// exchange is the line of one.
func (l *lines) exchange(at time.Duration, e apiserver.Exchange) {
	o := e.After
	if o == nil {
		o = e.Before
	}
	l.add(Line{At: at, Text: e.String(), Actor: e.Actor, Run: l.runOf(object{e.Resource, e.Key}, o)})
}

// event is the line of what a watch is told.
func (l *lines) event(at time.Duration, e apiserver.Event, fault string) {
	if fault != "" {
		fault = "  ⚡ " + fault
	}
	o := object{resource: e.Watch.Resource}
	o.key.Namespace, o.key.Name = e.Object.GetNamespace(), e.Object.GetName()
	text := fmt.Sprintf("%s is told %s %s@%d%s", e.Watch, e.Type, o.key, e.Object.Version(), fault)
	l.add(Line{At: at, Text: text, Actor: e.Watch.Actor, Run: l.runOf(o, e.Object)})
}

// note is the line of what is neither.
func (l *lines) note(at time.Duration, text string) {
	line := Line{At: at, Text: text}
	if first, _, _ := strings.Cut(text, " "); program(first) {
		line.Actor = first
	}
	l.add(line)
}

// mishap is the line of what is going to happen to a pod.
func (l *lines) mishap(at time.Duration, pod *corev1.Pod, kind string) {
	o := object{resource: "pods"}
	o.key.Namespace, o.key.Name = pod.Namespace, pod.Name
	l.add(Line{At: at, Text: fmt.Sprintf("⚡ pods/%s is in for: %s", o.key, kind), Actor: "kubelet", Run: l.runOf(o, nil)})
}

func (l *lines) runOf(o object, is *apiserver.Object) string {
	if is != nil && is.Unstructured != nil && o.resource == "taskruns" {
		if owner := metav1.GetControllerOf(is); owner != nil && owner.Kind == "PipelineRun" {
			l.of[o.key.String()] = o.key.Namespace + "/" + owner.Name
		}
	}
	switch {
	case o.key.Name == "":
		return ""
	case o.resource == "taskruns" || o.resource == "pipelineruns":
		return o.key.String()
	case o.resource == "events": // named for what they tell of
		return o.key.Namespace + "/" + o.key.Name[:max(0, strings.LastIndex(o.key.Name, "."))]
	}
	if is != nil && is.Unstructured != nil {
		if owner := metav1.GetControllerOf(is); owner != nil && owner.Kind == "TaskRun" {
			l.runs[o] = o.key.Namespace + "/" + owner.Name
		}
	}
	return l.runs[o]
}

// notef puts a line into the timeline that is about no request.
func (w *World) notef(format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.lines.note(time.Since(w.begun), fmt.Sprintf(format, args...))
}

// Timeline writes the lines for people.
func (r *Result) Timeline(out io.Writer, only func(Line) bool) {
	for _, l := range r.Lines {
		if only == nil || only(l) {
			_, _ = fmt.Fprintf(out, "%12.6fs  %s\n", l.At.Seconds(), l.Text)
		}
	}
}
