package objects

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"millrace/crds"
	"millrace/wire"
)

const some = 1000

var makers = map[Half]*Maker{}

// maker is made once: that takes most of a second.
func maker(t *testing.T, half Half) *Maker {
	t.Helper()
	if makers[half] == nil {
		m, err := New(1, half)
		check(t, err)
		makers[half] = m
	}
	return makers[half]
}

func TestTheSameSeedMakesTheSameObjects(t *testing.T) {
	a := maker(t, Measured)
	b, err := New(1, Measured)
	check(t, err)
	for i := range 100 {
		x, y := a.WithPod(i), b.WithPod(i)
		if !bytes.Equal(x.AppendRun(nil, 0, FirstVersion), y.AppendRun(nil, 0, FirstVersion)) {
			t.Errorf("run %d is not the same twice", i)
		}
		for _, f := range []wire.Format{wire.JSON, wire.Protobuf} {
			if !bytes.Equal(x.AppendPod(nil, f, 1, FirstVersion), y.AppendPod(nil, f, 1, FirstVersion)) {
				t.Errorf("pod %d is not the same twice", i)
			}
		}
	}
}

func TestNoTwoAreTheSame(t *testing.T) {
	m := maker(t, Measured)
	keys, uids, versions := map[types.NamespacedName]bool{}, map[types.UID]bool{}, map[string]bool{}
	for i := range 20 * some {
		r := m.Run(i)
		o, err := wire.Scan(wire.JSON, r.AppendRun(nil, r.States()-1, FirstVersion+uint64(i)))
		check(t, err)
		keys[o.Key()], uids[o.UID()], versions[o.ResourceVersion()] = true, true, true
	}
	if len(keys) != 20*some || len(uids) != 20*some || len(versions) != 20*some {
		t.Errorf("of %d objects: %d keys, %d UIDs, %d resourceVersions", 20*some, len(keys), len(uids), len(versions))
	}
}

func TestWhatIsMadeDecodesToTheSameInBothFormats(t *testing.T) {
	m := maker(t, Measured)
	for i := range some {
		r := m.WithPod(i)
		state := i % r.PodStates()
		var a, b corev1.Pod
		check(t, json.Unmarshal(r.AppendPod(nil, wire.JSON, state, FirstVersion+7), &a))
		check(t, decodeProtobuf(r.AppendPod(nil, wire.Protobuf, state, FirstVersion+7), &b))
		if !reflect.DeepEqual(a, b) {
			t.Fatalf("pod %d differs: %s", i, cmp.Diff(a, b))
		}
		if a.ResourceVersion != "400000007" {
			t.Errorf("pod %d is at %s", i, a.ResourceVersion)
		}
		var run crds.TaskRun
		check(t, json.Unmarshal(r.AppendRun(nil, i%r.States(), FirstVersion), &run))
	}
}

func TestAPodBelongsToItsRun(t *testing.T) {
	m := maker(t, Measured)
	for i := range some {
		r := m.WithPod(i)
		var run crds.TaskRun
		check(t, json.Unmarshal(r.AppendRun(nil, r.States()-1, FirstVersion), &run))
		pod, err := wire.Scan(wire.Protobuf, r.AppendPod(nil, wire.Protobuf, r.PodStates()-1, FirstVersion))
		check(t, err)
		owner, _ := pod.Controller()
		label, _ := pod.Label("tekton.dev/taskRun")
		if owner.UID != run.UID || owner.Name != run.Name || label != run.Name || pod.Key().Namespace != run.Namespace || r.Name() != run.Name {
			t.Fatalf("run %s/%s (%s, %s), pod %v of %v with label %s", run.Namespace, run.Name, run.UID, r.Name(), pod, owner, label)
		}
	}
}

func TestAPipelineRunsChildrenAreCalledAfterIt(t *testing.T) {
	m := maker(t, Measured)
	children, uids := 0, map[types.UID]bool{}
	for i := range some {
		r := m.PipelineRun(i)
		var run crds.PipelineRun
		check(t, json.Unmarshal(r.AppendRun(nil, r.States()-1, FirstVersion), &run))
		uids[run.UID] = true
		if run.Name != r.Name() || run.Status.CompletionTime == nil || run.Status.PipelineSpec == nil {
			t.Fatalf("PipelineRun %s (%s) has not come to its end: %+v", run.Name, r.Name(), run.Status)
		}
		for _, child := range run.Status.ChildReferences {
			if !strings.HasPrefix(child.Name, run.Name+"-") {
				t.Errorf("a child of %s is called %s", run.Name, child.Name)
			}
			children++
		}
	}
	if len(uids) != some || children < 5*some {
		t.Errorf("%d PipelineRuns have %d UIDs and %d children", some, len(uids), children)
	}
}

func TestSizesAreThoseOfTheRecord(t *testing.T) {
	for _, half := range []Half{Measured, Dictionary} {
		m := maker(t, half)
		for kind, of := range map[string]struct {
			record func(Half) ([]*recorded, error)
			run    func(int) Run
		}{"TaskRuns": {record, m.Run}, "PipelineRuns": {recordPipelines, m.PipelineRun}} {
			recorded, err := of.record(half)
			check(t, err)
			var want, got int
			for _, each := range recorded {
				want += len(encodeJSON(each.runs[len(each.runs)-1].Object))
			}
			for i := range some {
				r := of.run(i)
				got += len(r.AppendRun(nil, r.States()-1, FirstVersion))
			}
			if a, b := float64(got)/some, float64(want)/float64(len(recorded)); a/b < 0.9 || a/b > 1.1 {
				t.Errorf("half %d: %s of %.0f bytes, recorded are %.0f", half, kind, a, b)
			}
		}
	}
}

func TestTheHalvesHaveNoRunInCommon(t *testing.T) {
	a, err := record(Measured)
	check(t, err)
	b, err := record(Dictionary)
	check(t, err)
	inA := map[types.NamespacedName]bool{}
	uids := map[types.UID]bool{}
	for _, r := range a {
		inA[r.key] = true
		uids[r.runs[0].GetUID()] = true
	}
	for _, r := range b {
		if inA[r.key] || uids[r.runs[0].GetUID()] {
			t.Errorf("%s is in both halves", r.key)
		}
	}
	if len(a) < 50 || len(b) < 50 {
		t.Errorf("halves of %d and %d runs", len(a), len(b))
	}
	pipelines, err := recordPipelines(Measured)
	check(t, err)
	others, err := recordPipelines(Dictionary)
	check(t, err)
	for i, r := range pipelines {
		if len(others) != len(pipelines) || r.key.Namespace+again != others[i].key.Namespace || r.file != others[i].file {
			t.Errorf("of %d and %d PipelineRuns %s stands beside none of its file", len(pipelines), len(others), r.key)
		}
	}
}

func TestEveryOtherFileHasNoFileInCommonWithTheRest(t *testing.T) {
	m := maker(t, Measured)
	even, odd := m.EveryOther(false), m.EveryOther(true)
	files := map[int]bool{}
	for _, s := range even.shapes {
		files[s.recorded.file] = true
	}
	for _, s := range odd.shapes {
		if files[s.recorded.file] {
			t.Errorf("file %d is in both", s.recorded.file)
		}
	}
	if len(even.shapes)+len(odd.shapes) != len(m.shapes) || len(even.podded) == 0 || len(odd.podded) == 0 {
		t.Errorf("%d and %d shapes of %d", len(even.shapes), len(odd.shapes), len(m.shapes))
	}
}

func TestWhatVariesIsReplaced(t *testing.T) {
	recorded, err := record(Measured)
	check(t, err)
	s := &shape{recorded: recorded[0]}
	m := &Maker{seed: 1, shapes: []*shape{s}}
	first, second := m.Run(0).AppendRun(nil, 0, FirstVersion), m.Run(1).AppendRun(nil, 0, FirstVersion)
	if bytes.Equal(first, second) {
		t.Error("two runs of one shape are the same")
	}
	for _, v := range s.values {
		if v.kind == uid && (bytes.Contains(first, []byte(v.text)) || bytes.Contains(second, []byte(v.text))) {
			t.Errorf("%s is still there", v.text)
		}
	}
}

func BenchmarkPod(b *testing.B) {
	m, err := New(1, Measured)
	if err != nil {
		b.Fatal(err)
	}
	var raw []byte
	for i := 0; b.Loop(); i++ {
		r := m.WithPod(i)
		raw = r.AppendPod(raw[:0], wire.Protobuf, r.PodStates()-1, FirstVersion)
	}
}
