package main

import (
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// A webhook's refusal as the API server passes it on: its status, with words before.
func refusedByWebhook(code int32, fields ...string) error {
	status := metav1.Status{Status: metav1.StatusFailure, Code: code, Message: "admission webhook denied the request: no", Details: &metav1.StatusDetails{}}
	for _, f := range fields {
		status.Details.Causes = append(status.Details.Causes, metav1.StatusCause{Field: f, Message: "no"})
	}
	return &apierrors.StatusError{ErrStatus: status}
}

func TestACasePassesByVerdictAndPath(t *testing.T) {
	bySchema := apierrors.NewInvalid(schema.GroupKind{Kind: "Task"}, "x", field.ErrorList{
		field.Required(field.NewPath("spec", "steps").Index(0).Child("image"), "x")})
	refuse := func(paths ...string) sample { return sample{Verdict: "refuse", Paths: paths} }
	cases := []struct {
		name string
		want sample
		got  error
		pass bool
	}{
		{"refused there, by the schema", refuse("spec.steps[0].image"), bySchema, true},
		{"refused there, by a webhook", refuse("spec.tasks"), refusedByWebhook(http.StatusForbidden, "spec.tasks"), true},
		{"refused above it", refuse("spec.steps[0].image"), refusedByWebhook(http.StatusUnprocessableEntity, "spec.steps[0]"), true},
		{"refused below it", refuse("spec.tasks"), refusedByWebhook(http.StatusBadRequest, "spec.tasks[1].runAfter[0]"), true},
		{"refused at one of several", refuse("spec.taskRef", "spec.taskSpec"), refusedByWebhook(http.StatusForbidden, "metadata.name", "spec.taskSpec"), true},
		{"refused anywhere", refuse(), refusedByWebhook(http.StatusForbidden), true},
		{"accepted", sample{Verdict: "accept"}, nil, true},
		{"refused beside it", refuse("spec.taskSpec"), refusedByWebhook(http.StatusForbidden, "spec.taskRef"), false},
		{"refused at what begins like it", refuse("spec.task"), refusedByWebhook(http.StatusForbidden, "spec.tasks"), false},
		{"refused without a field", refuse("spec"), refusedByWebhook(http.StatusForbidden, ""), false},
		{"accepted, and should not be", refuse(), nil, false},
		{"refused, and should not be", sample{Verdict: "accept"}, bySchema, false},
		{"the webhook was away", refuse(), apierrors.NewInternalError(errors.New("failed calling webhook")), false},
		{"the server was away", refuse(), errors.New("connection refused"), false},
		{"the name is taken", refuse(), apierrors.NewAlreadyExists(schema.GroupResource{}, "x"), false},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			if wrong := c.want.judge(answerOf(c.got)); (wrong == "") != c.pass {
				t.Errorf("judged: %q", wrong)
			}
		})
	}
}

func TestTheServersWordsAreOnTheLine(t *testing.T) {
	s := sample{Name: "x", Verdict: "refuse", Paths: []string{"spec.a"}}
	line := s.line(answerOf(refusedByWebhook(http.StatusForbidden, "spec.b")), 5)
	if want := "fail  x      refused, but at none of spec.a: admission webhook denied the request: no"; line != want {
		t.Errorf("%q, want %q", line, want)
	}
}

func TestCasesThatCannotBeReadAreAnError(t *testing.T) {
	for name, text := range map[string]string{
		"no list":          `{}`,
		"an empty list":    `[]`,
		"another verdict":  `[{"verdict": "refused", "object": {}}]`,
		"no object":        `[{"verdict": "refuse"}]`,
		"an unknown field": `[{"verdict": "refuse", "object": {}, "path": []}]`,
		"two lists":        `[{"verdict": "refuse", "object": {}}] []`,
	} {
		path := filepath.Join(t.TempDir(), "cases.json")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := readSamples(path); err == nil || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestOurOwnCasesCanBeRead(t *testing.T) {
	samples, err := readSamples(filepath.Join("testdata", "validation.json"))
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]bool{}
	for _, s := range samples {
		if names[s.Name] {
			t.Errorf("%s is there twice", s.Name)
		}
		names[s.Name] = true
	}
}
