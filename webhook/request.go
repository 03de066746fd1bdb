package webhook

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// A refusal is the answer to what is no review.
type refusal struct {
	code    int
	reason  metav1.StatusReason
	message string
}

func (r *refusal) Error() string { return r.message }

func (r *refusal) status() (int, []byte) { return status(r.code, r.reason, r.message) }

func badRequest(format string, args ...any) error {
	return &refusal{http.StatusBadRequest, metav1.StatusReasonBadRequest, fmt.Sprintf(format, args...)}
}

func asRefusal(err error) *refusal {
	if r := (*refusal)(nil); errors.As(err, &r) {
		return r
	}
	return &refusal{http.StatusInternalServerError, metav1.StatusReasonInternalError, err.Error()}
}

// posted is the body of a request, which must be a POST of JSON.
func posted(w http.ResponseWriter, r *http.Request, limit int64) (io.Reader, error) {
	if r.Method != http.MethodPost {
		return nil, &refusal{http.StatusMethodNotAllowed, metav1.StatusReasonMethodNotAllowed, "reviews are POSTed"}
	}
	if media, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || media != "application/json" {
		return nil, &refusal{http.StatusUnsupportedMediaType, metav1.StatusReasonUnsupportedMediaType, fmt.Sprintf("Content-Type %q: want application/json", r.Header.Get("Content-Type"))}
	}
	return http.MaxBytesReader(w, r.Body, limit), nil
}

// read reads all that there is.
func read(into *bytes.Buffer, from io.Reader) error {
	_, err := into.ReadFrom(from)
	if large := (*http.MaxBytesError)(nil); errors.As(err, &large) {
		return &refusal{http.StatusRequestEntityTooLarge, metav1.StatusReasonRequestEntityTooLarge, fmt.Sprintf("the review has more than %d bytes", large.Limit)}
	}
	if err != nil {
		return badRequest("read the review: %v", err)
	}
	return nil
}

// decodeReview decodes a review of a kind.
func decodeReview(body []byte, apiVersion, kind string, into any, is *metav1.TypeMeta) error {
	if err := json.Unmarshal(body, into); err != nil {
		return badRequest("this is not the JSON of a review: %v", err)
	}
	if is.APIVersion != apiVersion || is.Kind != kind {
		return badRequest("got %q of %q: want %s of %s", is.Kind, is.APIVersion, kind, apiVersion)
	}
	return nil
}

func encode(answer any) []byte {
	raw, err := json.Marshal(answer)
	if err != nil {
		panic(fmt.Errorf("encode an answer: %w", err)) // it is made of parts that were decoded
	}
	return raw
}
