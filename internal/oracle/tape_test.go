package oracle

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"encoding/json"
	"errors"
	"io"
	"os"
	"slices"
	"strconv"
	"testing"

	"github.com/klauspost/compress/zstd"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"millrace/wire"
)

// recorded is where the benchmarks keep what a kube-apiserver said of real runs
// and their pods.
const recorded = "../../bench/objects/testdata/"

// tape is what was recorded of a resource: its changes in the order of their
// resourceVersions, as events showed them, and the first page of a list.
type tape struct {
	frames  [][]byte
	changes []change
	page    []byte
}

func (t *tape) String() string { return "a tape" }

// recordedPods are pods of real runs.
func recordedPods(t *testing.T) resource {
	t.Helper()
	r := pods()
	r.name = "recorded pods"
	return r.recorded(t, "pods.pb")
}

// recordedPodsInJSON are the same pods from a server without protobuf.
func recordedPodsInJSON(t *testing.T) resource {
	t.Helper()
	r := podsInJSON()
	r.name = "recorded pods in JSON"
	return r.recorded(t, "pods.json")
}

// recordedRuns are the TaskRuns.
func recordedRuns(t *testing.T) resource {
	t.Helper()
	r := anything()
	r.name, r.kind = "recorded TaskRuns", "TaskRun"
	r.Group, r.Resource = "tekton.dev", "taskruns"
	r.facets = []wire.Facet{
		wire.NewFacet("status.conditions[type=Succeeded].status"), wire.NewFacet("status.podName"),
		wire.NewFacet("status.steps[#]"), wire.NewFacet("status.steps[].name"),
	}
	return r.recorded(t, "taskruns.json")
}

// recorded is the resource with its tape.
func (r resource) recorded(t *testing.T, file string) resource {
	t.Helper()
	r.label, r.values = "app.kubernetes.io/managed-by", []string{"tekton-pipelines", "none"}
	r.tape = &tape{frames: r.frames(unpack(t, file)), page: unpack(t, "list-"+file)}
	for _, frame := range r.tape.frames {
		r.tape.changes = append(r.tape.changes, r.change(frame))
	}
	// The frames of an object stand together on the tape.
	slices.SortFunc(r.tape.changes, func(a, b change) int { return cmp.Compare(a.version, b.version) })
	return r
}

func unpack(t *testing.T, file string) []byte {
	t.Helper()
	packed, err := os.ReadFile(recorded + file + ".zst")
	must(t, err)
	d, err := zstd.NewReader(nil)
	must(t, err)
	defer d.Close()
	raw, err := d.DecodeAll(packed, nil)
	must(t, err)
	return raw
}

// frames cuts a stream.
func (r resource) frames(stream []byte) (frames [][]byte) {
	if r.protobuf() {
		for len(stream) > 0 {
			n := 4 + binary.BigEndian.Uint32(stream)
			frames, stream = append(frames, stream[:n]), stream[n:]
		}
		return frames
	}
	for d := json.NewDecoder(bytes.NewReader(stream)); ; {
		var frame json.RawMessage
		err := d.Decode(&frame)
		if errors.Is(err, io.EOF) {
			return frames
		}
		if err != nil {
			panic(err)
		}
		frames = append(frames, append(frame, '\n'))
	}
}

// change reads one frame.
func (r resource) change(frame []byte) change {
	kind, object := r.opened(frame)
	meta := r.metaOf(r.item(object))
	version, err := strconv.Atoi(meta.ResourceVersion)
	if err != nil {
		panic(err)
	}
	c := change{kind: kind}
	c.key = types.NamespacedName{Namespace: meta.Namespace, Name: meta.Name}
	c.uid, c.version, c.item = meta.UID, version, r.item(object)
	return c
}

// opened is what is in a frame.
func (r resource) opened(frame []byte) (kind string, object []byte) {
	if r.protobuf() {
		var e metav1.WatchEvent
		if err := e.Unmarshal(frame[4:]); err != nil {
			panic(err)
		}
		return e.Type, e.Object.Raw
	}
	var e struct {
		Type   string
		Object json.RawMessage
	}
	if err := json.Unmarshal(frame, &e); err != nil {
		panic(err)
	}
	return e.Type, e.Object
}

func (r resource) metaOf(item []byte) metav1.ObjectMeta {
	var pod corev1.Pod
	var partial metav1.PartialObjectMetadata
	if r.protobuf() {
		if err := pod.Unmarshal(item); err != nil {
			panic(err)
		}
		return pod.ObjectMeta
	}
	if err := json.Unmarshal(item, &partial); err != nil {
		panic(err)
	}
	return partial.ObjectMeta
}

// What the server of these tests says of recorded objects is, to the byte, what
// the recorded one said: each event, and a page of a list.
func TestTheServerSpellsWhatWasRecordedAsItWasRecorded(t *testing.T) {
	for _, r := range []resource{recordedPods(t), recordedPodsInJSON(t), recordedRuns(t)} {
		t.Run(r.name, func(t *testing.T) {
			for _, frame := range r.tape.frames {
				c := r.change(frame)
				if got := r.event(c.kind, r.alone(c.item)); !bytes.Equal(got, frame) {
					t.Fatalf("recorded, and said:\n%.200q\n%.200q", frame, got)
				}
			}
			if got := r.list(r.pageOnTape(t)); !bytes.Equal(got, r.tape.page) {
				t.Errorf("recorded, and said:\n%.300q\n%.300q", r.tape.page, got)
			}
		})
	}
}

// pageOnTape is what the recorded page says of itself, and the items that it
// should have, from the recorded events.
func (r resource) pageOnTape(t *testing.T) (meta metav1.ListMeta, items [][]byte) {
	t.Helper()
	meta, shown := r.openedPage(t)
	for _, item := range shown {
		of := r.metaOf(item)
		for _, c := range r.tape.changes {
			if c.uid == of.UID && strconv.Itoa(c.version) == of.ResourceVersion {
				items = append(items, c.item)
			}
		}
	}
	return meta, items
}

func (r resource) openedPage(t *testing.T) (meta metav1.ListMeta, items [][]byte) {
	t.Helper()
	if !r.protobuf() {
		var page struct {
			Metadata metav1.ListMeta
			Items    []json.RawMessage
		}
		must(t, json.Unmarshal(r.tape.page, &page))
		for _, each := range page.Items {
			items = append(items, each)
		}
		return page.Metadata, items
	}
	var u runtime.Unknown
	var page corev1.PodList
	must(t, u.Unmarshal(r.tape.page[4:]))
	must(t, page.Unmarshal(u.Raw))
	for _, pod := range page.Items {
		items = append(items, marshal(&pod))
	}
	return page.ListMeta, items
}
