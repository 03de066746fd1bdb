package webhook

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	admissionv1 "k8s.io/api/admission/v1"
)

// answered is what a body, whatever is in it, must come to: 200 with a review, or a
// Status with a code that says whose fault it was.
func answered(t *testing.T, path, body string) []byte {
	t.Helper()
	w := post(NewHandler(Config{}), path, body)
	switch w.Code {
	case http.StatusOK, http.StatusBadRequest, http.StatusRequestEntityTooLarge:
	default:
		t.Fatalf("HTTP %d: %s", w.Code, w.Body)
	}
	if !json.Valid(w.Body.Bytes()) {
		t.Fatalf("no JSON: %s", w.Body)
	}
	if w.Code != http.StatusOK {
		return nil
	}
	return w.Body.Bytes()
}

func FuzzAdmissionReview(f *testing.F) {
	for _, object := range []string{good, bad, `{"spec":null}`, `{"spec":{"tasks":[{"name":"a","runAfter":["a"]}]}}`, `7`} {
		for _, kind := range []string{"Task", "TaskRun", "Pipeline", "PipelineRun"} {
			f.Add(review{kind: kind, object: object}.body())
			f.Add(review{kind: kind, operation: "UPDATE", object: object, old: good}.body())
		}
	}
	f.Add(`{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview"}`)
	f.Add(strings.Repeat("[", 100_000))
	f.Fuzz(func(t *testing.T, body string) {
		answered(t, PathValidate, body)
		raw := answered(t, PathDefault, body)
		if raw == nil {
			return
		}
		var in, out admissionv1.AdmissionReview
		decode(t, string(raw), &out)
		decode(t, body, &in)
		if out.Response.UID != in.Request.UID {
			t.Fatalf("uid %q became %q", in.Request.UID, out.Response.UID)
		}
		if len(out.Response.Patch) == 0 {
			return
		}
		// A patch fits the object, and fills it in for good.
		patched := apply(t, string(in.Request.Object.Raw), out.Response.Patch)
		in.Request.Object.Raw = []byte(patched)
		again, err := json.Marshal(in)
		if err != nil {
			t.Fatal(err)
		}
		var settled admissionv1.AdmissionReview
		decode(t, string(answered(t, PathDefault, string(again))), &settled)
		if len(settled.Response.Patch) > 0 {
			t.Fatalf("%s is patched once more: %s", patched, settled.Response.Patch)
		}
	})
}

func FuzzConversionReview(f *testing.F) {
	for _, object := range []string{betaTask("a"), good, `{}`, `null`, `{"apiVersion":"tekton.dev/v1beta1","kind":"PipelineRun","metadata":{"annotations":7},"spec":[]}`} {
		for _, to := range []string{"tekton.dev/v1", "tekton.dev/v1beta1", ""} {
			f.Add(`{"apiVersion":"apiextensions.k8s.io/v1","kind":"ConversionReview","request":{"uid":"u","desiredAPIVersion":"` + to + `","objects":[` + object + `]}}`)
		}
	}
	f.Add(`{"apiVersion":"apiextensions.k8s.io/v1","kind":"ConversionReview"}`)
	f.Fuzz(func(t *testing.T, body string) {
		raw := answered(t, PathConvert, body)
		if raw == nil {
			return
		}
		var in, out conversionReview
		decode(t, string(raw), &out)
		decode(t, body, &in)
		ok := out.Response.Result.Status == "Success" && len(out.Response.ConvertedObjects) == len(in.Request.Objects)
		failed := out.Response.Result.Status == "Failure" && len(out.Response.ConvertedObjects) == 0 && out.Response.Result.Message != ""
		if !ok && !failed || out.Response.UID != in.Request.UID {
			t.Fatalf("%s", raw)
		}
	})
}
