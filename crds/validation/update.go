package validation

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// A life is how far a run has come, and what may still be changed of it.
type life struct {
	started, ended bool
	free           []string // fields of spec that may be changed once it has started
	waits          bool     // it is told to wait, and was not before
	cancel         string   // what status says to end it
}

// frozen refuses changes of what may not be changed any more. managedBy never may; what
// has not started may otherwise.
func (r *report) frozen(changed []string, of life) {
	at := field.NewPath("spec")
	for _, name := range changed {
		switch at := at.Child(name); {
		case name == "managedBy":
			r.forbidden(at, "who executes a run is said when it is created, and cannot be changed: create another")
		case of.ended:
			r.forbidden(at, "the run has ended, and cannot be changed: create another")
		case of.started && !slices.Contains(of.free, name):
			r.forbidden(at, "the run has started, and only %s can be changed: create another", strings.Join(of.free, " and "))
		}
	}
	if of.started && !of.ended && of.waits {
		r.forbidden(at.Child("status"), "the run has started, and cannot wait any more: cancel it with %s", of.cancel)
	}
}

// changed are the fields of the specs of two objects that differ, as they are called in
// JSON, sorted. They are compared as if both had their defaults; to fill those in is rare,
// since most updates are of metadata, or end a run.
func changed[T, S any](now, old *T, spec func(*T) S, fill func(*T)) []string {
	names := differing(spec(now), spec(old))
	if slices.ContainsFunc(names, func(name string) bool { return name != "status" && name != "statusMessage" }) {
		return differing(spec(defaulted(now, fill)), spec(defaulted(old, fill)))
	}
	return names
}

// differing takes no list and an empty one for the same, and 60m and 1h.
func differing[S any](now, old S) []string {
	var names []string
	a, b := reflect.ValueOf(now), reflect.ValueOf(old)
	for i := range a.NumField() {
		x, y := a.Field(i).Interface(), b.Field(i).Interface()
		if !reflect.DeepEqual(x, y) && !equality.Semantic.DeepEqual(x, y) { // the first is fast, and says no too often
			name, _, _ := strings.Cut(a.Type().Field(i).Tag.Get("json"), ",")
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// defaulted is a copy of the object with its defaults filled in.
func defaulted[T any](object *T, fill func(*T)) *T {
	var out T
	raw, err := json.Marshal(object)
	if err == nil {
		err = json.Unmarshal(raw, &out)
	}
	if err != nil {
		return object // what JSON cannot say did not come from a client
	}
	fill(&out)
	return &out
}
