package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// A sample is an object, and whether a server should take it.
type sample struct {
	Name    string `json:"name"`
	Verdict string `json:"verdict"` // accept or refuse
	// Paths of fields, one of which the refusal must be about: itself, or a field
	// above or below it. None: any refusal will do.
	Paths  []string       `json:"paths"`
	Object map[string]any `json:"object"`
}

// readSamples reads a file of them. What it does not understand is an error: a
// misspelt verdict must not pass as another.
func readSamples(path string) ([]sample, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	var samples []sample
	if err := decoder.Decode(&samples); err != nil {
		return nil, fmt.Errorf("cases in %s: %w", path, err)
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("cases in %s: there is more after the list", path)
	}
	if len(samples) == 0 {
		return nil, fmt.Errorf("no cases in %s", path)
	}
	for _, s := range samples {
		if s.Verdict != "accept" && s.Verdict != "refuse" || s.Object == nil {
			return nil, fmt.Errorf("case %q in %s: want the verdict accept or refuse, and an object", s.Name, path)
		}
	}
	return samples, nil
}

// An answer is what a server said to an object.
type answer struct {
	refused bool
	fields  []string // that the refusal is about
	words   string   // the server's
	err     error    // there was no verdict
}

// ask creates the object, but for storing it. Unknown fields are cut in silence, as
// with `kubectl create --dry-run=server --validate=ignore`.
func (c *cluster) ask(ctx context.Context, ns string, object map[string]any) answer {
	o := &unstructured.Unstructured{Object: object}
	resource, err := c.resourceOf(o.GroupVersionKind())
	if err != nil {
		return answer{err: err}
	}
	_, err = c.client.Resource(resource).Namespace(ns).Create(ctx, o, metav1.CreateOptions{
		DryRun: []string{metav1.DryRunAll}, FieldValidation: metav1.FieldValidationIgnore})
	return answerOf(err)
}

// answerOf reads a refusal: by a schema, a rule or an admission webhook. All of them
// say by causes which fields they mean.
func answerOf(err error) answer {
	var status apierrors.APIStatus
	switch {
	case err == nil:
		return answer{}
	case !errors.As(err, &status):
		return answer{err: err}
	}
	said := status.Status()
	if !slices.Contains([]int32{http.StatusBadRequest, http.StatusForbidden, http.StatusUnprocessableEntity}, said.Code) {
		return answer{err: err}
	}
	a := answer{refused: true, words: said.Message}
	if said.Details != nil {
		for _, cause := range said.Details.Causes {
			if cause.Field != "<nil>" { // "some rules were not checked": about no field
				a.fields = append(a.fields, cause.Field)
			}
		}
	}
	return a
}

func (c *cluster) resourceOf(kind schema.GroupVersionKind) (schema.GroupVersionResource, error) {
	list, err := c.discovery.ServerResourcesForGroupVersion(kind.GroupVersion().String())
	if err != nil {
		return schema.GroupVersionResource{}, fmt.Errorf("which resources there are: %w", err)
	}
	for _, r := range list.APIResources {
		if r.Kind == kind.Kind && !strings.Contains(r.Name, "/") {
			return kind.GroupVersion().WithResource(r.Name), nil
		}
	}
	return schema.GroupVersionResource{}, fmt.Errorf("the cluster has no %s of %s", kind.Kind, kind.GroupVersion())
}

// judge returns what is wrong with an answer, or "".
func (s sample) judge(a answer) string {
	switch {
	case a.err != nil:
		return "no verdict: " + a.err.Error()
	case a.refused && s.Verdict == "accept":
		return "refused, and should be accepted: " + a.words
	case !a.refused && s.Verdict == "refuse":
		return "accepted, and should be refused at " + s.where()
	case a.refused && len(s.Paths) > 0 && !s.hit(a.fields):
		return fmt.Sprintf("refused, but at none of %s: %s", s.where(), a.words)
	}
	return ""
}

func (s sample) where() string {
	if len(s.Paths) == 0 {
		return "any field"
	}
	return strings.Join(s.Paths, ", ")
}

func (s sample) hit(fields []string) bool {
	return slices.ContainsFunc(s.Paths, func(path string) bool {
		return slices.ContainsFunc(fields, func(field string) bool { return within(path, field) || within(field, path) })
	})
}

// within tells whether a path is another, or that of a field inside it.
func within(path, above string) bool {
	rest, ok := strings.CutPrefix(path, above)
	return ok && above != "" && (rest == "" || rest[0] == '.' || rest[0] == '[')
}

// tryCases asks for a verdict on each sample, and tells how many were wrong.
func tryCases(ctx context.Context, out io.Writer, c *cluster, samples []sample) (failed int, err error) {
	ns, err := c.namespace(ctx)
	if err != nil {
		return 0, err
	}
	defer c.remove(ns)
	width := 0
	for _, s := range samples {
		width = max(width, len(s.Name))
	}
	for _, s := range samples {
		if err := ctx.Err(); err != nil {
			return failed, err
		}
		a := c.ask(ctx, ns, s.Object)
		line := s.line(a, width)
		if strings.HasPrefix(line, "fail") {
			failed++
		}
		if _, err := fmt.Fprintln(out, line); err != nil {
			return failed, err
		}
	}
	_, err = fmt.Fprintf(out, "%d passed, %d failed\n", len(samples)-failed, failed)
	return failed, err
}

// line is what is printed of a sample.
func (s sample) line(a answer, width int) string {
	wrong := strings.Join(strings.Fields(s.judge(a)), " ") // a refusal of many fields has many lines
	switch {
	case wrong != "":
		return fmt.Sprintf("fail  %-*s  %s", width, s.Name, wrong)
	case a.refused:
		return fmt.Sprintf("pass  %-*s  refused at %s", width, s.Name, strings.Join(slices.Compact(a.fields), ", "))
	default:
		return fmt.Sprintf("pass  %-*s  accepted", width, s.Name)
	}
}
