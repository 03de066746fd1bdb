package server

import (
	"fmt"

	"millrace/bench/objects"
	"millrace/wire"
)

// Resource is what a server serves.
type Resource string

// The resources that were recorded.
const (
	Pods         Resource = "pods"
	TaskRuns     Resource = "taskruns"
	PipelineRuns Resource = "pipelineruns"
)

// Spec says what a server has.
type Spec struct {
	Resource Resource `json:"resource"`
	// Formats that it is asked for.
	Formats []wire.Format `json:"formats"`
	// Objects is how many there are from the beginning, in their last states.
	Objects int `json:"objects"`
	// Events is how many changes happen after Begin: some of the objects, in turn,
	// go through their recorded states, and then others.
	Events int `json:"events"`
	// Least and Most narrow to the shapes whose run has so many bytes of
	// JSON in its last state; both zero: all shapes. Where they are given, no
	// event has less than Least bytes, and objects may come from both halves of
	// the record.
	Least int `json:"least"`
	Most  int `json:"most"`
	// Plain serves HTTP/1.1 without TLS. Otherwise it is HTTP/2 over TLS, as every
	// cluster has it, with a certificate that is not to be checked.
	Plain bool `json:"plain"`
	// Seed of the generator.
	Seed uint64 `json:"seed"`
}

// Path is where the resource is served.
func (r Resource) Path() string {
	if r == Pods {
		return "/api/v1/pods"
	}
	return "/apis/tekton.dev/v1/" + string(r)
}

func (r Resource) kind() (kind, apiVersion string) {
	switch r {
	case Pods:
		return "Pod", "v1"
	case PipelineRuns:
		return "PipelineRun", "tekton.dev/v1"
	default:
		return "TaskRun", "tekton.dev/v1"
	}
}

// FirstVersion and Last are the resourceVersions of the list and of the last
// event.
func (s Spec) listVersion() uint64 { return objects.FirstVersion + uint64(s.Objects) }

// Last is the resourceVersion of the last event.
func (s Spec) Last() string { return fmt.Sprint(s.listVersion() + uint64(s.Events)) }

// Listed is the resourceVersion of a list.
func (s Spec) Listed() string { return fmt.Sprint(s.listVersion()) }

// maker makes the objects, each of which it calls by its number.
func (s Spec) maker() (func(i int) objects.Run, error) {
	halves := []objects.Half{objects.Measured}
	if s.Most > 0 {
		halves = append(halves, objects.Dictionary)
	}
	m, err := objects.New(s.Seed, halves...)
	if err != nil {
		return nil, err
	}
	if s.Most > 0 {
		m = m.Between(s.Least, s.Most)
	}
	return s.runOf(m), nil
}

func (s Spec) runOf(m *objects.Maker) func(int) objects.Run {
	switch s.Resource {
	case Pods:
		return m.WithPod
	case PipelineRuns:
		return m.PipelineRun
	default:
		return m.Run
	}
}

// Scanned is the objects of a spec in their last states, as a chain of ours
// has them before its transform, made by m.
func (s Spec) Scanned(f wire.Format, m *objects.Maker) ([]*wire.Object, error) {
	run := s.runOf(m)
	all := make([]*wire.Object, s.Objects)
	var scanner wire.Scanner // objects of one resource share what they have in common
	var raw []byte
	for i := range all {
		r := run(i)
		raw = s.append(raw[:0], r, f, s.states(r)-1, s.firstOf(i))
		o, err := scanner.Scan(f, raw)
		if err != nil {
			return nil, err
		}
		all[i] = o
	}
	return all, nil
}

func (s Spec) firstOf(i int) uint64 { return objects.FirstVersion + uint64(i) + 1 }

func (s Spec) states(r objects.Run) int {
	if s.Resource == Pods {
		return r.PodStates()
	}
	return r.States()
}

func (s Spec) append(b []byte, r objects.Run, f wire.Format, state int, version uint64) []byte {
	if s.Resource == Pods {
		return r.AppendPod(b, f, state, version)
	}
	return r.AppendRun(b, state, version)
}
