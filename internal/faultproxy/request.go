package faultproxy

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"millrace/internal/simulation/apiserver"
)

// name tells what a request asks, by its path and parameters; body is that of a
// write. A path that is none of a resource's has the path as its resource.
func name(r *http.Request, body []byte) apiserver.Request {
	is := apiserver.Request{Verb: strings.ToLower(r.Method), Resource: r.URL.Path}
	segments := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	switch {
	case len(segments) > 2 && segments[0] == "api":
		segments = segments[2:]
	case len(segments) > 3 && segments[0] == "apis":
		segments = segments[3:]
	default:
		return is
	}
	if segments[0] == "namespaces" && len(segments) > 2 {
		is.Key.Namespace, segments = segments[1], segments[2:]
	}
	is.Resource = segments[0]
	if len(segments) > 1 {
		is.Key.Name = segments[1]
	}
	is.Subresource = strings.Join(segments[min(2, len(segments)):], "/")
	query := r.URL.Query()
	switch {
	case r.Method == http.MethodPost:
		is.Verb, is.Key.Name = "create", metadata(body).Name
	case r.Method == http.MethodPut:
		is.Verb = "update"
	case r.Method != http.MethodGet || is.Key.Name != "":
	case query.Get("watch") == "true" || query.Get("watch") == "1":
		is.Verb, is.Initial = "watch", query.Get("sendInitialEvents") == "true"
	default:
		is.Verb, is.Continues = "list", query.Get("continue") != ""
	}
	return is
}

// readBody takes the body of a write, and leaves the request with one to send on.
func readBody(r *http.Request) ([]byte, error) {
	if r.Body == nil || r.Method == http.MethodGet {
		return nil, nil
	}
	body, err := io.ReadAll(r.Body)
	r.Body = io.NopCloser(bytes.NewReader(body))
	return body, err
}

// metadata is what an object of either format says of itself; of what is no
// object it is empty. The metadata of all built-in types is field 1, so the type
// need not be known.
func metadata(object []byte) metav1.ObjectMeta {
	var partial metav1.PartialObjectMetadata
	if raw, ok := unwrap(object); ok {
		if partial.Unmarshal(raw) != nil {
			return metav1.ObjectMeta{}
		}
	} else if json.Unmarshal(object, &partial) != nil {
		return metav1.ObjectMeta{}
	}
	return partial.ObjectMeta
}

// unwrap is the message in the envelope that Kubernetes puts around protobuf.
func unwrap(object []byte) (raw []byte, ok bool) {
	enveloped, ok := bytes.CutPrefix(object, []byte("k8s\x00"))
	if !ok {
		return nil, false
	}
	var unknown runtime.Unknown
	if unknown.Unmarshal(enveloped) != nil {
		return nil, true
	}
	return unknown.Raw, true
}

// insists is the UID and the version that a write is only done for.
func insists(verb string, body []byte) (types.UID, string) {
	if verb != "delete" {
		m := metadata(body)
		return m.UID, m.ResourceVersion
	}
	var options metav1.DeleteOptions
	if raw, ok := unwrap(body); ok {
		if options.Unmarshal(raw) != nil {
			return "", ""
		}
	} else if json.Unmarshal(body, &options) != nil {
		return "", ""
	}
	var uid types.UID
	var version string
	if p := options.Preconditions; p != nil {
		if p.UID != nil {
			uid = *p.UID
		}
		if p.ResourceVersion != nil {
			version = *p.ResourceVersion
		}
	}
	return uid, version
}
