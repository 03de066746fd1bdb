package validation

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"millrace/crds"
)

// TaskRunUpdate tells what may not be changed any more: managedBy never; once the run has
// started, all but status and statusMessage; once it has ended, those, too. Metadata may
// always be changed. The specs are compared as if both had their defaults, so a client
// that knows none of them, or fewer, changes nothing by leaving them out.
func TaskRunUpdate(now, old *crds.TaskRun, o Options) field.ErrorList {
	r := &report{Options: o}
	at := field.NewPath("spec")
	changed := changes(now.Spec, old.Spec)
	if hasDefaults(changed) {
		changed = changes(defaulted(now, o.Defaults.TaskRun).Spec, defaulted(old, o.Defaults.TaskRun).Spec)
	}
	started := old.HasStarted() || old.Status.TaskSpec != nil || len(old.Status.RetriesStatus) > 0
	for _, name := range changed {
		switch at := at.Child(name); {
		case name == "managedBy":
			r.forbidden(at, "who executes a run is said when it is created, and cannot be changed: create another")
		case old.IsDone():
			r.forbidden(at, "the run has ended, and cannot be changed: create another")
		case started && name != "status" && name != "statusMessage":
			r.forbidden(at, "the run has started, and only status and statusMessage can be changed: create another")
		}
	}
	if started && !old.IsDone() && now.IsPending() && !old.IsPending() {
		r.forbidden(at.Child("status"), "the run has started, and cannot wait any more: cancel it with %s", crds.TaskRunSpecStatusCancelled)
	}
	return r.errs
}

// hasDefaults tells that fields which differ as they are written may be the same with
// their defaults. It is rare: most updates are of metadata, or end a run.
func hasDefaults(changed []string) bool {
	return slices.ContainsFunc(changed, func(name string) bool { return name != "status" && name != "statusMessage" })
}

// changes are the fields of two specs that differ, as they are called in JSON,
// sorted. No list and an empty one are the same, as 60m and 1h are.
func changes[T any](now, old T) []string {
	var changed []string
	a, b := reflect.ValueOf(now), reflect.ValueOf(old)
	for i := range a.NumField() {
		x, y := a.Field(i).Interface(), b.Field(i).Interface()
		if !reflect.DeepEqual(x, y) && !equality.Semantic.DeepEqual(x, y) { // the first is fast, and says no too often
			name, _, _ := strings.Cut(a.Type().Field(i).Tag.Get("json"), ",")
			changed = append(changed, name)
		}
	}
	slices.Sort(changed)
	return changed
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
