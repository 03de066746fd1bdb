package wire_test

import (
	"errors"
	"fmt"
	"io"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"millrace/wire"
)

// A watch stream, read event by event. Nothing is decoded until somebody wants
// to know more than the key.
func Example() {
	stream := strings.NewReader(`
{"type":"ADDED","object":{"kind":"Pod","metadata":{"name":"web","namespace":"shop","resourceVersion":"41","managedFields":[{"manager":"kubectl"}]},"spec":{"nodeName":"n1"}}}
{"type":"MODIFIED","object":{"kind":"Pod","metadata":{"name":"web","labels":"oops"}}}
{"type":"BOOKMARK","object":{"kind":"Pod","metadata":{"resourceVersion":"57"}}}
`)
	var scanner wire.Scanner
	events := scanner.Events(wire.JSON, stream)
	for {
		event, err := events.Next()
		if errors.Is(err, io.EOF) {
			fmt.Println("the server has closed the watch")
			return
		}
		if bad, ok := errors.AsType[*wire.ScanError](err); ok {
			fmt.Println("bad object:", bad.Key.Name) // the stream goes on
			continue
		}
		fmt.Println(event.Type, event.Object.Key().Name, "at", event.Object.ResourceVersion())
		if event.Type == wire.Bookmark {
			continue
		}
		kept, err := event.Object.Cut(wire.Path{"metadata", "managedFields"})
		if err != nil {
			fmt.Println(err)
			continue
		}
		fmt.Printf("kept: %s\n", kept.Bytes())
		pod, err := wire.Decode[corev1.Pod](kept)
		fmt.Println("decoded: it runs on", pod.Spec.NodeName, err)
	}
	// Output:
	// ADDED web at 41
	// kept: {"kind":"Pod","metadata":{"name":"web","namespace":"shop","resourceVersion":"41"},"spec":{"nodeName":"n1"}}
	// decoded: it runs on n1 <nil>
	// bad object: web
	// BOOKMARK  at 57
	// the server has closed the watch
}

// What a PipelineRun wants to know of its children, without decoding one of them.
func ExampleNewFacet() {
	succeeded := wire.NewFacet("status.conditions[type=Succeeded].status")
	results := wire.NewFacet("status.results[].name")
	attempts := wire.NewFacet("status.retriesStatus[#]")
	scanner := wire.NewScanner(succeeded, results, attempts)

	run, err := scanner.Scan(wire.JSON, []byte(`{"metadata":{"name":"build"},"status":{
		"conditions":[{"status":"True","type":"Succeeded"}],
		"results":[{"name":"digest","value":"sha256:aa…"},{"name":"url","value":"registry…"}]}}`))
	if err != nil {
		fmt.Println(err)
	}
	value, known := run.Facet(succeeded)
	fmt.Println("succeeded:", value, known)
	names, known := run.FacetValues(results)
	fmt.Println("results:", names, known)
	value, known = run.Facet(attempts)
	fmt.Println("attempts before:", value, known)

	// An object that did not come through that Scanner has to be decoded.
	other, _ := wire.Scan(wire.JSON, run.Bytes())
	value, known = other.Facet(succeeded)
	fmt.Printf("of another one: %q %v\n", value, known)
	// Output:
	// succeeded: True true
	// results: [digest url] true
	// attempts before: 0 true
	// of another one: "" false
}

// A pod in protobuf. What a pod has in its spec only its own type can say, so a
// path that leads there is refused, and nothing is cut.
func ExampleObject_Cut_protobuf() {
	sent := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "web", Namespace: "shop", ManagedFields: []metav1.ManagedFieldsEntry{{Manager: "kubectl"}}},
		Spec:       corev1.PodSpec{NodeName: "n1"},
	}
	body, _ := sent.Marshal()
	around := runtime.Unknown{TypeMeta: runtime.TypeMeta{APIVersion: "v1", Kind: "Pod"}, Raw: body}
	rest, _ := around.Marshal()
	o, err := wire.Scan(wire.Protobuf, append([]byte("k8s\x00"), rest...))
	fmt.Println(o, err)

	kept, err := o.Cut(wire.Path{"metadata", "managedFields"})
	fmt.Println(kept.Saved(), "bytes less", err)
	_, err = o.Cut(wire.Path{"spec", "containers", "env"})
	fmt.Println(err)

	pod, err := wire.Decode[corev1.Pod](kept)
	fmt.Println("decoded: a", pod.Kind, "on", pod.Spec.NodeName, err)
	// Output:
	// shop/web@ <nil>
	// 20 bytes less <nil>
	// cut spec.containers.env out of shop/web: wire: a path that a protobuf object does not show
	// decoded: a Pod on n1 <nil>
}

// Whether something beside the status has changed, without decoding either
// state.
func ExampleChanged() {
	before, _ := wire.Scan(wire.JSON, []byte(`{"metadata":{"name":"web","resourceVersion":"1"},"spec":{"replicas":2},"status":{"ready":1}}`))
	after, _ := wire.Scan(wire.JSON, []byte(`{"status":{"ready":2},"spec":{"replicas":2},"metadata":{"name":"web","resourceVersion":"2"}}`))
	fmt.Println(wire.Changed(before, after))
	fmt.Println(wire.Changed(before, after, wire.Path{"status"}))
	// Output:
	// true
	// false
}
