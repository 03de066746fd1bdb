package dialogue

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	"k8s.io/client-go/kubernetes/scheme"
)

// read takes the body of an answer apart. Protobuf becomes what JSON would be,
// and a watch the list of its events.
func read(response *http.Response, watch bool, take int) (any, error) {
	contentType := response.Header.Get("Content-Type")
	binary := strings.HasPrefix(contentType, runtime.ContentTypeProtobuf)
	if watch && response.StatusCode == http.StatusOK {
		return readEvents(response.Body, binary, take)
	}
	raw, err := io.ReadAll(response.Body)
	switch {
	case err != nil || len(raw) == 0:
		return nil, err
	case binary:
		return readProtobuf(raw)
	case strings.HasPrefix(contentType, runtime.ContentTypeJSON):
		return readJSON(raw)
	default:
		return strings.TrimSpace(string(raw)), nil
	}
}

func readJSON(raw []byte) (value any, err error) {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	return value, d.Decode(&value)
}

func readProtobuf(raw []byte) (any, error) {
	object, _, err := codecs().UniversalDeserializer().Decode(raw, nil, nil)
	if err != nil {
		return nil, err
	}
	asJSON, err := json.Marshal(object)
	if err != nil {
		return nil, err
	}
	return readJSON(asJSON)
}

func encodeProtobuf(object runtime.Object) ([]byte, error) {
	var out bytes.Buffer
	err := protobuf.NewSerializer(nil, nil).Encode(object, &out)
	return out.Bytes(), err
}

// codecs know the built-in kinds, and metadata on its own.
func codecs() serializer.CodecFactory {
	kinds := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{scheme.AddToScheme, metav1.AddMetaToScheme} {
		if err := add(kinds); err != nil {
			panic(err) // two types of one kind
		}
	}
	return serializer.NewCodecFactory(kinds)
}

// readEvents reads a watch to its end, or until it has told so many events.
func readEvents(body io.Reader, binary bool, take int) (any, error) {
	next := nextJSON(body)
	if binary {
		next = nextFrame(body)
	}
	events := []any{}
	for take == 0 || len(events) < take {
		e, err := next()
		switch {
		case errors.Is(err, io.EOF) && take == 0:
			return events, nil
		case err != nil:
			return nil, fmt.Errorf("after %d events: %w", len(events), err)
		}
		events = append(events, e)
	}
	return events, nil
}

func nextJSON(body io.Reader) func() (any, error) {
	d := json.NewDecoder(body)
	d.UseNumber()
	return func() (event any, err error) { return event, d.Decode(&event) }
}

// nextFrame reads events that have their length before them.
func nextFrame(body io.Reader) func() (any, error) {
	return func() (any, error) {
		var length uint32
		if err := binary.Read(body, binary.BigEndian, &length); err != nil {
			return nil, err
		}
		raw := make([]byte, length)
		if _, err := io.ReadFull(body, raw); err != nil {
			return nil, err
		}
		var e metav1.WatchEvent
		if err := e.Unmarshal(raw); err != nil {
			return nil, err
		}
		object, err := readProtobuf(e.Object.Raw)
		return map[string]any{"type": e.Type, "object": object}, err
	}
}
