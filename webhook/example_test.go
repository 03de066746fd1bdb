package webhook_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"

	admissionv1 "k8s.io/api/admission/v1"

	"millrace/webhook"
)

// What an API server does with an object that somebody creates: it asks for the
// defaults, then whether it may be.
func Example() {
	server := httptest.NewServer(webhook.NewHandler(webhook.Config{}))
	defer server.Close()
	ask := func(path, object string) *admissionv1.AdmissionResponse {
		review := `{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{"uid":"1","operation":"CREATE","name":"build",
			"kind":{"group":"tekton.dev","version":"v1","kind":"Task"},"object":` + object + `}}`
		resp, err := http.Post(server.URL+path, "application/json", strings.NewReader(review))
		if err != nil {
			panic(err)
		}
		defer resp.Body.Close()
		raw, err := io.ReadAll(resp.Body)
		if err != nil {
			panic(err)
		}
		var answer admissionv1.AdmissionReview
		if err := json.Unmarshal(raw, &answer); err != nil {
			panic(err)
		}
		return answer.Response
	}

	defaults := ask(webhook.PathDefault, `{"spec":{"params":[{"name":"files","default":["a","b"]}],"steps":[{"image":"busybox","script":"true"}]}}`)
	fmt.Println(string(defaults.Patch))

	verdict := ask(webhook.PathValidate, `{"spec":{"steps":[{"name":"Compile","image":"busybox","script":"true"}]}}`)
	fmt.Println(verdict.Allowed, verdict.Result.Code, verdict.Result.Details.Causes[0].Field)
	// Output:
	// [{"op":"add","path":"/spec/params/0/type","value":"array"}]
	// false 422 spec.steps[0].name
}
