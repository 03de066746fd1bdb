package apiserver

import (
	"encoding/json"
	"mime"
	"net/http"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// A form is how an answer is encoded, and whether it is metadata alone.
type form struct {
	binary, partial bool
}

// negotiate takes the first form of those that a client accepts. Custom resources
// have none in protobuf, but their metadata has, and so have refusals.
func negotiate(accept string, builtIn bool) (f form, ok bool) {
	if accept == "" {
		return f, true
	}
	for clause := range strings.SplitSeq(accept, ",") {
		media, params, err := mime.ParseMediaType(strings.TrimSpace(clause))
		if err != nil {
			continue
		}
		f := form{binary: media == runtime.ContentTypeProtobuf, partial: strings.HasPrefix(params["as"], "PartialObjectMetadata")}
		switch {
		case !f.binary && media != runtime.ContentTypeJSON && media != "*/*" && media != "application/*":
		case params["as"] != "" && (!f.partial || params["g"] != metav1.GroupName || params["v"] != "v1"):
		case f.binary && !f.partial && !builtIn:
		default:
			return f, true
		}
	}
	return f, false
}

const accepted = "application/json, application/yaml, application/vnd.kubernetes.protobuf"

// notAcceptable has two wordings: that of the library that takes paths apart, which
// knows media types alone, and that of the handlers behind it.
func notAcceptable(accept string, builtIn bool) *apierrors.StatusError {
	if _, ok := negotiate(accept, true); builtIn && !ok && !strings.Contains(accept, "as=") {
		err := status(http.StatusNotAcceptable, metav1.StatusReasonNotAcceptable, "406: Not Acceptable\n\nAvailable representations: "+accepted)
		err.ErrStatus.Details = &metav1.StatusDetails{}
		return err
	}
	return status(http.StatusNotAcceptable, metav1.StatusReasonNotAcceptable, "only the following media types are accepted: "+accepted)
}

// status is a refusal without details.
func status(code int32, reason metav1.StatusReason, message string) *apierrors.StatusError {
	return &apierrors.StatusError{ErrStatus: metav1.Status{Status: metav1.StatusFailure, Code: code, Reason: reason, Message: message}}
}

// contentType of an object in a form.
func (f form) contentType() string {
	if f.binary {
		return runtime.ContentTypeProtobuf
	}
	return runtime.ContentTypeJSON
}

// encoded is one object in a form.
func (f form) encoded(o *Object) []byte {
	switch {
	case f.partial && f.binary:
		return encodeProto(o.metadata())
	case f.partial:
		return o.partial()
	case f.binary:
		return o.proto()
	default:
		return o.JSON()
	}
}

// status in a form.
func (f form) status(s metav1.Status) []byte {
	s.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}
	if f.binary {
		return encodeProto(&s)
	}
	return must(json.Marshal(s))
}
