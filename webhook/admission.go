package webhook

import (
	"encoding/json"
	"net/http"
	"unicode/utf8"

	admissionv1 "k8s.io/api/admission/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// asked is what an AdmissionReview asks, as far as it matters here.
type asked struct {
	kind   schema.GroupVersionKind
	name   string
	update bool
	object []byte
	old    []byte // of an update
}

// A decision is the answer. Nothing in it is to allow.
type decision struct {
	patch    []operation
	errs     field.ErrorList
	refused  *metav1.Status // for what is not about a field
	warnings []string
}

// admission answers an AdmissionReview. The error is a *refusal.
func admission(body []byte, decide func(asked) decision) (any, error) {
	var review admissionv1.AdmissionReview
	if err := decodeReview(body, admissionv1.SchemeGroupVersion.String(), "AdmissionReview", &review, &review.TypeMeta); err != nil {
		return nil, err
	}
	request := review.Request
	if request == nil {
		return nil, badRequest("the review has no request")
	}
	var d decision
	if a, matters := question(request); matters {
		d = decide(a)
	}
	review.Request, review.Response = nil, response(request, d)
	return review, nil
}

// question is what is to be decided, if anything is.
func question(r *admissionv1.AdmissionRequest) (a asked, matters bool) {
	a = asked{
		kind: schema.GroupVersionKind(r.Kind), name: r.Name, update: r.Operation == admissionv1.Update,
		object: r.Object.Raw, old: r.OldObject.Raw,
	}
	return a, r.SubResource == "" && (a.update || r.Operation == admissionv1.Create)
}

func response(r *admissionv1.AdmissionRequest, d decision) *admissionv1.AdmissionResponse {
	out := &admissionv1.AdmissionResponse{UID: r.UID, Allowed: true}
	for _, w := range d.warnings {
		out.Warnings = append(out.Warnings, short(w))
	}
	switch {
	case d.refused != nil:
		out.Allowed, out.Result = false, d.refused
	case len(d.errs) > 0:
		invalid := apierrors.NewInvalid(schema.GroupKind{Group: r.Kind.Group, Kind: r.Kind.Kind}, r.Name, d.errs)
		out.Allowed, out.Result = false, &invalid.ErrStatus
	case len(d.patch) > 0:
		kind := admissionv1.PatchTypeJSONPatch
		out.Patch, out.PatchType = encode(d.patch), &kind
	}
	return out
}

// short is a warning as long as API servers show it: they cut what has more than 256
// characters, and count them as we do.
func short(warning string) string {
	const most = 255
	if utf8.RuneCountInString(warning) <= most {
		return warning
	}
	return string([]rune(warning)[:most-1]) + "…"
}

// badObject refuses what cannot be judged.
func badObject(message string) decision {
	return decision{refused: &metav1.Status{Status: metav1.StatusFailure, Reason: metav1.StatusReasonBadRequest, Code: http.StatusBadRequest, Message: message}}
}

// outline is what is looked at before an object is decoded as a whole.
type outline struct {
	Metadata struct {
		DeletionTimestamp *metav1.Time `json:"deletionTimestamp"`
	} `json:"metadata"`
	Spec json.RawMessage `json:"spec"`
}

// settled tells whether there is nothing to decide: the object is on its way out, or
// the update leaves its spec as it is, to the byte. What is being created is on no way
// out, whatever it says: an API server takes that off it, in part only after we were asked.
func (a asked) settled() bool {
	if !a.update {
		return false
	}
	var now, old outline
	if json.Unmarshal(a.object, &now) != nil {
		return false // which is for others to say
	}
	if now.Metadata.DeletionTimestamp != nil {
		return true
	}
	return json.Unmarshal(a.old, &old) == nil && len(now.Spec) > 0 && string(now.Spec) == string(old.Spec)
}
