package webhook

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
)

func conversionOf(t *testing.T, to string, objects ...string) conversionResponse {
	t.Helper()
	body := `{"apiVersion":"apiextensions.k8s.io/v1","kind":"ConversionReview","request":{"uid":"u-2","desiredAPIVersion":"` + to + `","objects":[` + strings.Join(objects, ",") + `]}}`
	w := post(NewHandler(Config{}), PathConvert, body)
	var review conversionReview
	if err := json.Unmarshal(w.Body.Bytes(), &review); err != nil || w.Code != http.StatusOK {
		t.Fatalf("HTTP %d, %v: %s", w.Code, err, w.Body)
	}
	if review.APIVersion != "apiextensions.k8s.io/v1" || review.Kind != "ConversionReview" || review.Request != nil || review.Response.UID != "u-2" {
		t.Fatalf("not the answer to the question: %s", w.Body)
	}
	return *review.Response
}

func betaTask(name string) string {
	return `{"apiVersion":"tekton.dev/v1beta1","kind":"Task","metadata":{"name":"` + name + `","uid":"1"},"spec":{"steps":[{"image":"x","resources":{"limits":{"cpu":"1"}}}]}}`
}

func TestObjectsAreConvertedInTheirOrder(t *testing.T) {
	r := conversionOf(t, "tekton.dev/v1", betaTask("a"), betaTask("b"))
	if r.Result.Status != "Success" || len(r.ConvertedObjects) != 2 {
		t.Fatalf("got %+v", r)
	}
	for i, name := range []string{"a", "b"} {
		got := string(r.ConvertedObjects[i])
		if !strings.Contains(got, `"apiVersion":"tekton.dev/v1"`) || !strings.Contains(got, `"name":"`+name+`"`) || !strings.Contains(got, `"computeResources":{"limits":{"cpu":"1"}}`) {
			t.Errorf("object %d: %s", i, got)
		}
	}
	if r = conversionOf(t, "tekton.dev/v1"); r.Result.Status != "Success" || r.ConvertedObjects == nil {
		t.Errorf("none: %+v", r)
	}
}

func TestAConversionFailsAsAWhole(t *testing.T) {
	for name, other := range map[string]string{
		"another kind": `{"apiVersion":"tekton.dev/v1beta1","kind":"Pod","metadata":{"name":"p","namespace":"ci"}}`,
		"no object":    `7`,
	} {
		r := conversionOf(t, "tekton.dev/v1", betaTask("a"), other)
		if r.Result.Status != "Failure" || len(r.ConvertedObjects) != 0 || !strings.Contains(r.Result.Message, "object 1") {
			t.Errorf("%s: %+v", name, r)
		}
	}
	if r := conversionOf(t, "tekton.dev/v9", betaTask("a")); r.Result.Status != "Failure" {
		t.Errorf("a version that nobody knows: %+v", r)
	}
}

// A page of kubectl's, which has 500 objects, comes in one review.
func TestAPageOfObjectsIsConvertedAtOnce(t *testing.T) {
	objects := make([]string, 500)
	for i := range objects {
		objects[i] = strings.Replace(betaTask("a"), `"image":"x"`, `"image":"x","script":"`+strings.Repeat("y", 20_000)+`"`, 1)
	}
	if r := conversionOf(t, "tekton.dev/v1", objects...); len(r.ConvertedObjects) != 500 {
		t.Errorf("%+v", r.Result)
	}
}
