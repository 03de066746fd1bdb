package objects

import (
	"bytes"
	"encoding/json"
	"testing"

	corev1 "k8s.io/api/core/v1"
)

// If encoding again gives what the server sent, then what is encoded here after
// a change is what a server would send.
func TestEncodingIsTheServers(t *testing.T) {
	n := 0
	for frame, err := range protobufFrames("pods.pb") {
		check(t, err)
		var pod corev1.Pod
		check(t, decodeProtobuf(frame, &pod))
		again := encodeProtobuf(&pod)
		if !bytes.Equal(frame, again) {
			t.Fatalf("pod %s is not the same after decoding and encoding it", pod.Name)
		}
		n++
	}
	for frame, err := range jsonFrames("pods.json") {
		check(t, err)
		var pod corev1.Pod
		check(t, json.Unmarshal(frame, &pod))
		again := encodeJSON(&pod)
		if !bytes.Equal(frame, again) {
			t.Fatalf("pod %s is not the same after decoding and encoding it:\n%s\n%s", pod.Name, frame, again)
		}
		n++
	}
	for _, name := range []string{"taskruns.json", "pipelineruns.json"} {
		for frame, err := range jsonFrames(name) {
			check(t, err)
			var run map[string]any
			check(t, json.Unmarshal(frame, &run))
			again := encodeJSON(run)
			if !bytes.Equal(frame, again) {
				t.Fatalf("a run of %s is not the same after decoding and encoding it:\n%s\n%s", name, frame, again)
			}
			n++
		}
	}
	if n < 1000 {
		t.Errorf("only %d states were recorded", n)
	}
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
