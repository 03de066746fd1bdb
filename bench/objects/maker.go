package objects

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"sync"
	"time"

	"millrace/wire"
)

// Maker makes runs and their pods of one half of the record.
type Maker struct {
	seed      uint64
	shapes    []*shape // of TaskRuns
	podded    []*shape // those that have a pod
	pipelines []*shape // of PipelineRuns
}

// shape is one recorded run, or a variation of one, with all of its states
// encoded.
type shape struct {
	recorded  *recorded
	variation int

	// once makes the rest, when it is asked for: a test needs few of them.
	once   sync.Once
	values []value
	name   int // which value is the run's name
	runs   []template
	pods   map[wire.Format][]template
}

// New makes a Maker. The same seed and halves make the same objects.
func New(seed uint64, halves ...Half) (*Maker, error) {
	m := &Maker{seed: seed}
	for _, half := range halves {
		all, err := record(half)
		if err != nil {
			return nil, err
		}
		m.shapes = append(m.shapes, varied(all)...)
		if all, err = recordPipelines(half); err != nil {
			return nil, err
		}
		m.pipelines = append(m.pipelines, varied(all)...)
	}
	m.podded = slices.DeleteFunc(slices.Clone(m.shapes), func(s *shape) bool { return len(s.recorded.pods) == 0 })
	return m, nil
}

// varied are all variations of all runs.
func varied(all []*recorded) (shapes []*shape) {
	for _, each := range all {
		for n := range variations {
			shapes = append(shapes, &shape{recorded: each, variation: n})
		}
	}
	return shapes
}

// Between is a Maker of the shapes whose last state as a TaskRun or PipelineRun has so
// many bytes of JSON.
func (m *Maker) Between(least, most int) *Maker {
	return m.only(func(s *shape) bool {
		r := vary(s.recorded, s.variation)
		n := len(encodeJSON(r.runs[len(r.runs)-1].Object))
		return n >= least && n <= most
	})
}

// EveryOther is a Maker of every other file's shapes: the even ones' or the odd
// ones'.
func (m *Maker) EveryOther(odd bool) *Maker {
	return m.only(func(s *shape) bool { return (s.recorded.file%2 == 1) == odd })
}

func (m *Maker) only(in func(*shape) bool) *Maker {
	not := func(s *shape) bool { return !in(s) }
	return &Maker{
		seed:      m.seed,
		shapes:    slices.DeleteFunc(slices.Clone(m.shapes), not),
		podded:    slices.DeleteFunc(slices.Clone(m.podded), not),
		pipelines: slices.DeleteFunc(slices.Clone(m.pipelines), not),
	}
}

// fill encodes all states, and finds what varies in them.
func (s *shape) fill() {
	r := vary(s.recorded, s.variation)
	runs := make([][]byte, len(r.runs))
	for i, run := range r.runs {
		run.SetResourceVersion(placeholder)
		runs[i] = encodeJSON(run.Object)
	}
	podsJSON, podsProtobuf := make([][]byte, len(r.pods)), make([][]byte, len(r.pods))
	for i, pod := range r.pods {
		pod.ResourceVersion = placeholder
		podsJSON[i], podsProtobuf[i] = encodeJSON(pod), encodeProtobuf(pod)
	}
	s.values = values(r, slices.Concat(runs, podsJSON))
	s.name = slices.IndexFunc(s.values, func(v value) bool { return v.kind == name })
	s.runs = templates(runs, s.values)
	s.pods = map[wire.Format][]template{wire.JSON: templates(podsJSON, s.values), wire.Protobuf: templates(podsProtobuf, s.values)}
}

// Run is one TaskRun and its pod, or one PipelineRun, in all their states.
type Run struct {
	shape *shape
	texts []string
}

// month is how far the times of runs lie apart at most.
const month = 30 * 24 * time.Hour

// Run is run i of those that may or may not have a pod.
func (m *Maker) Run(i int) Run { return m.make(m.shapes, i) }

// WithPod is run i of those that have a pod.
func (m *Maker) WithPod(i int) Run { return m.make(m.podded, i) }

// PipelineRun is PipelineRun i. It has no pod, and of its TaskRuns the names alone.
func (m *Maker) PipelineRun(i int) Run { return m.make(m.pipelines, i) }

func (m *Maker) make(of []*shape, i int) Run {
	r := chance{Rand: rand.New(rand.NewPCG(m.seed, uint64(i))), run: i}
	s := of[r.IntN(len(of))]
	s.once.Do(s.fill)
	r.name, r.shift = r.Uint64(), time.Duration(r.Int64N(int64(month))).Truncate(time.Second)
	run := Run{shape: s, texts: make([]string, len(s.values))}
	for j, v := range s.values {
		run.texts[j] = v.another(r)
	}
	return run
}

// Name is the name of the run.
func (r Run) Name() string { return r.texts[r.shape.name] }

// States is how many states of the run were recorded; the last one is final.
func (r Run) States() int { return len(r.shape.runs) }

// PodStates is the same of its pod: 0 if it has none.
func (r Run) PodStates() int { return len(r.shape.pods[wire.JSON]) }

// AppendRun appends the run as JSON.
func (r Run) AppendRun(b []byte, state int, version uint64) []byte {
	return r.shape.runs[state].fill(b, r.texts, text(version))
}

// AppendPod appends the pod; as protobuf it is in its envelope.
func (r Run) AppendPod(b []byte, f wire.Format, state int, version uint64) []byte {
	return r.shape.pods[f][state].fill(b, r.texts, text(version))
}

// FirstVersion is the least resourceVersion that an object can be given, and
// LastVersion the greatest: all of them are equally long.
const (
	FirstVersion = 400_000_000
	LastVersion  = 999_999_999
)

func text(version uint64) string {
	if version < FirstVersion || version > LastVersion {
		panic(fmt.Sprintf("objects: resourceVersion %d has another length than the others", version))
	}
	return strconv.FormatUint(version, 10)
}
