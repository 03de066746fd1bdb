package webhook

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	apijson "k8s.io/apimachinery/pkg/util/json"

	"millrace/crds/conversion"
)

// conversionVersion is that of the reviews: apiextensions.k8s.io/v1, whose module is
// large, and holds nothing else that is needed.
const conversionVersion = "apiextensions.k8s.io/v1"

type conversionReview struct {
	metav1.TypeMeta `json:",inline"`

	Request  *conversionRequest  `json:"request,omitempty"`
	Response *conversionResponse `json:"response,omitempty"`
}

type conversionRequest struct {
	UID               types.UID         `json:"uid"`
	DesiredAPIVersion string            `json:"desiredAPIVersion"`
	Objects           []json.RawMessage `json:"objects"`
}

type conversionResponse struct {
	UID              types.UID         `json:"uid"`
	ConvertedObjects []json.RawMessage `json:"convertedObjects"`
	Result           metav1.Status     `json:"result"`
}

// convert answers a ConversionReview, with objects of no more bytes than the limit: what
// an annotation holds is compressed, and of few kilobytes come millions. The error is a
// *refusal.
func convert(body []byte, limit int64) (any, error) {
	var review conversionReview
	if err := decodeReview(body, conversionVersion, "ConversionReview", &review, &review.TypeMeta); err != nil {
		return nil, err
	}
	request := review.Request
	if request == nil {
		return nil, badRequest("the review has no request")
	}
	answer := &conversionResponse{UID: request.UID, ConvertedObjects: []json.RawMessage{}, Result: metav1.Status{Status: metav1.StatusSuccess}}
	review.Request, review.Response = nil, answer
	for i, raw := range request.Objects {
		request.Objects[i] = nil // a list is large, and one of two copies is enough
		converted, err := convertOne(raw, request.DesiredAPIVersion)
		if limit -= int64(len(converted)); err == nil && limit < 0 {
			err = errors.New("the objects become too large: ask for fewer of them at once")
		}
		if err != nil {
			answer.ConvertedObjects = []json.RawMessage{}
			answer.Result = metav1.Status{Status: metav1.StatusFailure, Reason: metav1.StatusReasonInvalid, Code: http.StatusUnprocessableEntity, Message: fmt.Sprintf("object %d: %v", i, err)}
			break
		}
		answer.ConvertedObjects = append(answer.ConvertedObjects, converted)
	}
	return review, nil
}

// convertOne converts an object. The error names it, if it has a name.
func convertOne(raw []byte, to string) ([]byte, error) {
	var object map[string]any
	if err := apijson.Unmarshal(raw, &object); err != nil {
		return nil, fmt.Errorf("this is not the JSON of an object: %w", err)
	}
	converted, err := conversion.Convert(object, to)
	if err != nil {
		metadata, _ := object["metadata"].(map[string]any)
		return nil, fmt.Errorf("%v %v/%v: %w", object["kind"], metadata["namespace"], metadata["name"], err)
	}
	return json.Marshal(converted)
}
