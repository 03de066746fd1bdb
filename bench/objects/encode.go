package objects

import (
	"bytes"
	"encoding/json"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// magic stands before every protobuf object that comes alone.
const magic = "k8s\x00"

// encodeJSON is how the API server writes JSON.
func encodeJSON(v any) []byte { return must(json.Marshal(v)) }

// encodeProtobuf is how the API server writes protobuf.
func encodeProtobuf(pod *corev1.Pod) []byte {
	bare := *pod
	kind := bare.TypeMeta
	bare.TypeMeta.Reset()
	unknown := runtime.Unknown{TypeMeta: runtime.TypeMeta{APIVersion: kind.APIVersion, Kind: kind.Kind}, Raw: must(bare.Marshal())}
	return append([]byte(magic), must(unknown.Marshal())...)
}

// must takes the encoding of what has been decoded, which cannot fail.
func must(raw []byte, err error) []byte {
	if err != nil {
		panic(err)
	}
	return raw
}

func decodeProtobuf(raw []byte, pod *corev1.Pod) error {
	var unknown runtime.Unknown
	body, ok := bytes.CutPrefix(raw, []byte(magic))
	if !ok {
		return fmt.Errorf("decode: %q is no envelope", raw[:min(len(raw), 8)])
	}
	if err := unknown.Unmarshal(body); err != nil {
		return fmt.Errorf("decode: %w", err)
	}
	if err := pod.Unmarshal(unknown.Raw); err != nil {
		return fmt.Errorf("decode: %w", err)
	}
	pod.APIVersion, pod.Kind = unknown.APIVersion, unknown.Kind
	return nil
}
