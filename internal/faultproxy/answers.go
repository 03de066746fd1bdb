package faultproxy

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	"k8s.io/client-go/kubernetes/scheme"
)

// Answer is a refusal with a code, as an API server words it. Without a reason it
// has none: that is how a proxy or etcd answers through one.
func Answer(code int, reason metav1.StatusReason, message string) *apierrors.StatusError {
	return &apierrors.StatusError{ErrStatus: metav1.Status{
		Status: metav1.StatusFailure, Code: int32(code), Reason: reason, Message: message,
	}}
}

// Expired is what a server says that has forgotten a version.
func Expired() *apierrors.StatusError {
	return apierrors.NewResourceExpired("too old resource version")
}

// Invalid is what a server says to a parameter that it does not take.
func Invalid(why string) *apierrors.StatusError {
	return Answer(http.StatusUnprocessableEntity, metav1.StatusReasonInvalid, why)
}

// InPages is a Query that has a list come in pages of that many items.
func InPages(items int) func(url.Values) {
	return func(q url.Values) { q.Set("limit", strconv.Itoa(items)) }
}

func exactly(version string) func(url.Values) {
	return func(q url.Values) {
		q.Set("resourceVersion", version)
		q.Set("resourceVersionMatch", "Exact")
	}
}

// Truncated is a Garble that ends in the middle.
func Truncated(b []byte) []byte { return b[:len(b)/2] }

// Instead is a Garble of JSON that puts a text in place of the first one like it.
func Instead(of, put string) func([]byte) []byte {
	return func(b []byte) []byte { return bytes.Replace(b, []byte(of), []byte(put), 1) }
}

const (
	asJSON       = runtime.ContentTypeJSON
	asProtobuf   = runtime.ContentTypeProtobuf
	watchAsProto = asProtobuf + ";stream=watch"
)

// refuse writes a Status as JSON, which every client reads, whatever it asked for.
func refuse(w http.ResponseWriter, e *apierrors.StatusError) int {
	status := e.ErrStatus
	status.TypeMeta = metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}
	w.Header().Set("Content-Type", asJSON)
	if d := status.Details; d != nil && d.RetryAfterSeconds > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(int(d.RetryAfterSeconds)))
	}
	w.WriteHeader(int(status.Code))
	json.NewEncoder(w).Encode(status) //nolint:errcheck,errchkjson // who asked may have gone
	return int(status.Code)
}

// errorEvent is an ERROR event of a watch, in the format of its stream.
func errorEvent(contentType string, e *apierrors.StatusError) ([]byte, error) {
	status := e.ErrStatus
	status.TypeMeta = metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}
	if !strings.HasPrefix(contentType, asProtobuf) {
		line, err := json.Marshal(map[string]any{"type": "ERROR", "object": status})
		return append(line, '\n'), err
	}
	var object bytes.Buffer
	if err := protobuf.NewSerializer(scheme.Scheme, scheme.Scheme).Encode(&status, &object); err != nil {
		return nil, err
	}
	event := metav1.WatchEvent{Type: "ERROR", Object: runtime.RawExtension{Raw: object.Bytes()}}
	body, err := event.Marshal()
	return append(binary.BigEndian.AppendUint32(nil, uint32(len(body))), body...), err
}
