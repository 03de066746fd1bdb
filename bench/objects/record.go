package objects

import (
	"bytes"
	"embed"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/klauspost/compress/zstd"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
)

//go:embed testdata/*.zst
var testdata embed.FS

// Half is one half of what was recorded. Each file was run twice, and each half
// has one run of it.
type Half int

const (
	// Measured is the half that benchmarks measure.
	Measured Half = iota
	// Dictionary is the half that a dictionary may be made of.
	Dictionary
)

// node is what the recorded node is called here. Its own name stands for a
// registry too.
const node = "worker-01"

// recorded is one run as it was recorded: each state of it, and of its pod.
type recorded struct {
	key  types.NamespacedName // of the run
	file int                  // the number of the file that made it
	runs []*unstructured.Unstructured
	pods []*corev1.Pod // none if the run never had one
}

// record is all TaskRuns of a half, in the order of their keys.
func record(half Half) ([]*recorded, error) {
	byKey, err := recordedRuns("taskruns.json")
	if err != nil {
		return nil, err
	}
	for pod, err := range recordedPods() {
		if err != nil {
			return nil, err
		}
		key := types.NamespacedName{Namespace: pod.Namespace, Name: pod.Labels["tekton.dev/taskRun"]}
		if byKey[key] == nil {
			return nil, fmt.Errorf("pod %s of no run", pod.Name)
		}
		if pod.Spec.NodeName != "" {
			pod.Spec.NodeName = node
		}
		// One pod a run: those of other attempts look alike.
		if r := byKey[key]; len(r.pods) == 0 || r.pods[0].Name == pod.Name {
			r.pods = append(r.pods, pod)
		}
	}
	return halve(byKey, half), nil
}

// recordPipelines is all PipelineRuns of a half, likewise.
func recordPipelines(half Half) ([]*recorded, error) {
	byKey, err := recordedRuns("pipelineruns.json")
	if err != nil {
		return nil, err
	}
	return halve(byKey, half), nil
}

// recordedRuns are the runs of a stream, without pods.
func recordedRuns(name string) (map[types.NamespacedName]*recorded, error) {
	byKey := map[types.NamespacedName]*recorded{}
	for frame, err := range jsonFrames(name) {
		if err != nil {
			return nil, err
		}
		run := &unstructured.Unstructured{}
		if err := json.Unmarshal(frame, &run.Object); err != nil {
			return nil, fmt.Errorf("a run of %s: %w", name, err)
		}
		key := types.NamespacedName{Namespace: run.GetNamespace(), Name: run.GetName()}
		if byKey[key] == nil {
			byKey[key] = &recorded{key: key}
		}
		byKey[key].runs = append(byKey[key].runs, run)
	}
	return byKey, nil
}

// again ends the namespaces of the second time that a file was run.
const again = "-2"

// halve picks the runs of a half, and numbers their files.
func halve(byKey map[types.NamespacedName]*recorded, half Half) []*recorded {
	var files []string
	for key := range byKey {
		files = append(files, strings.TrimSuffix(key.Namespace, again))
	}
	slices.Sort(files)
	files = slices.Compact(files)
	var mine []*recorded
	for key, r := range byKey {
		r.file, _ = slices.BinarySearch(files, strings.TrimSuffix(key.Namespace, again))
		if strings.HasSuffix(key.Namespace, again) == (half == Dictionary) {
			mine = append(mine, r)
		}
	}
	slices.SortFunc(mine, func(a, b *recorded) int { return strings.Compare(a.key.String(), b.key.String()) })
	return mine
}

// recordedPods are the states of all pods. They are read from protobuf, which
// says all that there is.
func recordedPods() func(yield func(*corev1.Pod, error) bool) {
	return func(yield func(*corev1.Pod, error) bool) {
		for frame, err := range protobufFrames("pods.pb") {
			pod := &corev1.Pod{}
			if err == nil {
				err = decodeProtobuf(frame, pod)
			}
			if !yield(pod, err) {
				return
			}
		}
	}
}

// jsonFrames are the objects of a recorded JSON stream, byte for byte.
func jsonFrames(name string) func(yield func([]byte, error) bool) {
	return func(yield func([]byte, error) bool) {
		raw, err := unpack(name)
		if err != nil {
			yield(nil, err)
			return
		}
		d := json.NewDecoder(bytes.NewReader(raw))
		for {
			var event struct {
				Object json.RawMessage `json:"object"`
			}
			if err := d.Decode(&event); errors.Is(err, io.EOF) || !yield(event.Object, err) {
				return
			}
		}
	}
}

// protobufFrames are the objects of a recorded protobuf stream, in their
// envelopes, byte for byte.
func protobufFrames(name string) func(yield func([]byte, error) bool) {
	return func(yield func([]byte, error) bool) {
		raw, err := unpack(name)
		if err != nil {
			yield(nil, err)
			return
		}
		for len(raw) > 0 {
			n := 4 + binary.BigEndian.Uint32(raw)
			var event metav1.WatchEvent
			err := event.Unmarshal(raw[4:n])
			if !yield(event.Object.Raw, err) {
				return
			}
			raw = raw[n:]
		}
	}
}

func unpack(name string) ([]byte, error) {
	packed, err := testdata.ReadFile("testdata/" + name + ".zst")
	if err != nil {
		return nil, err
	}
	d, err := zstd.NewReader(nil)
	if err != nil {
		return nil, err
	}
	defer d.Close()
	return d.DecodeAll(packed, nil)
}
