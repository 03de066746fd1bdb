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
func encodeJSON(v any) ([]byte, error) {
	raw, err := json.Marshal(v)
	if err != nil {
		return nil, fmt.Errorf("encode: %w", err)
	}
	return raw, nil
}

// encodeProtobuf is how the API server writes protobuf.
func encodeProtobuf(pod *corev1.Pod) ([]byte, error) {
	bare := *pod
	kind := bare.TypeMeta
	bare.TypeMeta.Reset()
	raw, err := bare.Marshal()
	if err != nil {
		return nil, fmt.Errorf("encode: %w", err)
	}
	unknown := runtime.Unknown{TypeMeta: runtime.TypeMeta{APIVersion: kind.APIVersion, Kind: kind.Kind}, Raw: raw}
	body, err := unknown.Marshal()
	if err != nil {
		return nil, fmt.Errorf("encode: %w", err)
	}
	return append([]byte(magic), body...), nil
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
