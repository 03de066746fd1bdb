package wire_test

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/json"

	"millrace/wire"
)

// bigPod is of the 10 KB class: the pod of a run with several steps,
// managedFields included.
var bigPod = func() []byte {
	var steps, fields []string
	for i := range 6 {
		steps = append(steps, fmt.Sprintf(`{"name":"step-%d","image":"registry.example.com/team/image@sha256:%064d","command":["/tekton/bin/entrypoint"],"args":["-wait_file","/tekton/run/%d/out","-post_file","/tekton/run/%d/out","-termination_path","/tekton/termination","-step_metadata_dir","/tekton/steps/step-%d","-entrypoint","sh","--","-c","echo \"step %d\"\nexit 0\n"],"env":[{"name":"HOME","value":"/tekton/home"},{"name":"GOFLAGS","value":"-mod=mod"}],"resources":{"requests":{"cpu":"100m","memory":"128Mi"}},"volumeMounts":[{"name":"tekton-internal-workspace","mountPath":"/workspace"},{"name":"tekton-internal-home","mountPath":"/tekton/home"},{"name":"tekton-internal-steps","mountPath":"/tekton/steps","readOnly":true}],"terminationMessagePath":"/tekton/termination","imagePullPolicy":"IfNotPresent"}`, i, i, i-1, i, i, i))
		fields = append(fields, fmt.Sprintf(`"k:{\"name\":\"step-%d\"}":{".":{},"f:args":{},"f:command":{},"f:env":{".":{},"k:{\"name\":\"HOME\"}":{".":{},"f:name":{},"f:value":{}}},"f:image":{},"f:imagePullPolicy":{},"f:name":{},"f:resources":{},"f:volumeMounts":{}}`, i))
	}
	p := strings.Replace(pod, `"k:{\"name\":\"step-hello\"}":{".":{},"f:image":{}}`, strings.Join(fields, ","), 1)
	return []byte(strings.Replace(p, `"containers":[`, `"containers":[`+strings.Join(steps, ",")+",", 1))
}()

func BenchmarkScan(b *testing.B) {
	b.SetBytes(int64(len(bigPod)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := wire.Scan(wire.JSON, bigPod); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkDecodeMetadata is what the ordinary decoder takes for the same
// facts.
func BenchmarkDecodeMetadata(b *testing.B) {
	b.SetBytes(int64(len(bigPod)))
	b.ReportAllocs()
	for b.Loop() {
		var p metav1.PartialObjectMetadata
		if err := json.Unmarshal(bigPod, &p); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkScanProtobuf and the other benchmarks of protobuf are those of JSON,
// for the same pod.
func BenchmarkScanProtobuf(b *testing.B) {
	raw := sealed(b, podOf(b, bigPod))
	b.SetBytes(int64(len(raw)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := wire.Scan(wire.Protobuf, raw); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkDecodeMetadataProtobuf(b *testing.B) {
	raw := sealed(b, podOf(b, bigPod))
	b.SetBytes(int64(len(raw)))
	b.ReportAllocs()
	for b.Loop() {
		var p metav1.PartialObjectMetadata
		if err := ordinarily(raw, &p); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkDecodeProtobuf(b *testing.B) {
	o := scanProtobuf(b, podOf(b, bigPod))
	b.SetBytes(int64(len(o.Bytes())))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := wire.Decode[corev1.Pod](o); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkCutProtobuf(b *testing.B) {
	o := scanProtobuf(b, podOf(b, bigPod))
	b.SetBytes(int64(len(o.Bytes())))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := o.Cut(managedFields, lastApplied); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkChangedProtobuf(b *testing.B) {
	p := podOf(b, bigPod)
	x := cut(b, scanProtobuf(b, p), managedFields, lastApplied)
	p.Status.Phase = corev1.PodSucceeded
	y := cut(b, scanProtobuf(b, p), managedFields, lastApplied)
	b.SetBytes(int64(len(x.Bytes())))
	b.ReportAllocs()
	for b.Loop() {
		if wire.Changed(x, y, wire.Path{"status"}) {
			b.Fatal("changed")
		}
	}
}

func BenchmarkDecode(b *testing.B) {
	o := scan(b, string(bigPod))
	b.SetBytes(int64(len(bigPod)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := wire.Decode[corev1.Pod](o); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkCut(b *testing.B) {
	o := scan(b, string(bigPod))
	b.SetBytes(int64(len(bigPod)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := o.Cut(managedFields, lastApplied); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkChanged is what a predicate asks that is not interested in the
// status: for the big pod, for the same as the cache has it, for an object of
// 200 bytes; where only the status has changed (which is usual), where the spec
// has, and where a member has been added, so that both have to be taken apart.
func BenchmarkChanged(b *testing.B) {
	big := string(bigPod)
	cut, err := scan(b, big).Cut(managedFields, lastApplied)
	if err != nil {
		b.Fatal(err)
	}
	small := `{"kind":"Task","metadata":{"name":"x","namespace":"n","uid":"u","resourceVersion":"1"},"spec":{"image":"a","steps":[{"name":"one"}]},"status":{"phase":"Running"}}`
	status := []string{`"phase":"Running"`, `"phase":"Succeeded"`}
	for _, c := range []struct {
		name, object string
		edit         []string
		want         bool
	}{
		{"big/status", big, status, false},
		{"cut/status", string(cut.Bytes()), status, false},
		{"cut/spec", string(cut.Bytes()), []string{`"priority":0`, `"priority":1`}, true},
		{"cut/added", string(cut.Bytes()), []string{`"restartPolicy"`, `"nodeName":"n","restartPolicy"`}, true},
		{"small/status", small, status, false},
	} {
		b.Run(c.name, func(b *testing.B) {
			now := strings.Replace(c.object, c.edit[0], c.edit[1], 1)
			if now == c.object {
				b.Fatalf("%s is not in it", c.edit[0])
			}
			x, y := scan(b, c.object), scan(b, now)
			b.SetBytes(int64(len(c.object)))
			b.ReportAllocs()
			for b.Loop() {
				if wire.Changed(x, y, wire.Path{"status"}) != c.want {
					b.Fatalf("changed: %v", !c.want)
				}
			}
		})
	}
}

// BenchmarkEvent is one watch event from the stream's bytes to the object that
// is kept.
func BenchmarkEvent(b *testing.B) {
	benchmarkEvent(b, wire.JSON, append(append([]byte(`{"type":"MODIFIED","object":`), bigPod...), "}\n"...))
}

func BenchmarkEventProtobuf(b *testing.B) {
	benchmarkEvent(b, wire.Protobuf, framed(b, "MODIFIED", sealed(b, podOf(b, bigPod))))
}

func benchmarkEvent(b *testing.B, f wire.Format, frame []byte) {
	b.Helper()
	b.SetBytes(int64(len(frame)))
	b.ReportAllocs()
	r := new(wire.Scanner).Events(f, &again{of: frame})
	for b.Loop() {
		e, err := r.Next()
		if err != nil {
			b.Fatal(err)
		}
		if _, err := e.Object.Cut(managedFields, lastApplied); err != nil {
			b.Fatal(err)
		}
	}
}

// again is a stream of the same bytes for ever.
type again struct {
	of   []byte
	rest bytes.Reader
}

func (a *again) Read(p []byte) (int, error) {
	if a.rest.Len() == 0 {
		a.rest.Reset(a.of)
	}
	return a.rest.Read(p)
}

var _ io.Reader = (*again)(nil)
