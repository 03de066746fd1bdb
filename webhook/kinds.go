package webhook

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"millrace/crds"
	"millrace/crds/conversion"
	"millrace/crds/defaulting"
	"millrace/crds/validation"
)

// A kind is what is known of one: how a decision about it is made.
type kind struct {
	versions  []string // in which it may come; a webhook configuration has the API server convert others
	byDefault func(a asked, o validation.Options) ([]operation, error)
	validate  func(a asked, o validation.Options) decision
}

type kindTable map[schema.GroupKind]kind

func kinds() kindTable {
	tekton := func(name string) schema.GroupKind { return schema.GroupKind{Group: crds.Group, Kind: name} }
	return kindTable{
		tekton(crds.KindTask):        of(defaulting.Defaults.Task, validation.Task, nil, crds.Version),
		tekton(crds.KindTaskRun):     ofRun(defaulting.Defaults.TaskRun, validation.TaskRun, validation.TaskRunUpdate, crds.Version),
		tekton(crds.KindPipeline):    of(defaulting.Defaults.Pipeline, validation.Pipeline, nil, crds.Version),
		tekton(crds.KindPipelineRun): ofRun(defaulting.Defaults.PipelineRun, validation.PipelineRun, validation.PipelineRunUpdate, crds.Version),
		tekton(crds.KindStepAction):  of(defaulting.Defaults.StepAction, validation.StepAction, nil, crds.VersionStepActions, "v1alpha1"),
		tekton(crds.KindCustomRun):   of(defaulting.Defaults.CustomRun, validation.CustomRun, nil, crds.VersionCustomRuns),
		{Group: crds.GroupResolution, Kind: crds.KindResolutionRequest}: of(
			defaulting.Defaults.ResolutionRequest, validation.ResolutionRequest, nil, crds.VersionResolution),
	}
}

// of makes a kind of its rules.
func of[T any](
	fill func(defaulting.Defaults, *T),
	judge func(*T, validation.Options) (field.ErrorList, []string),
	judgeUpdate func(now, old *T, o validation.Options) field.ErrorList,
	versions ...string,
) kind {
	return kindOf(func(a asked, d defaulting.Defaults, object *T) { fill(d, object) }, judge, judgeUpdate, versions)
}

// ofRun makes one of those that Tekton's Chains and Results annotate once they are done
// with them: nobody creates one that says so already. Those two update it, as may
// whoever has the right to.
func ofRun[T any, P interface {
	*T
	metav1.Object
}](
	fill func(defaulting.Defaults, *T),
	judge func(*T, validation.Options) (field.ErrorList, []string),
	judgeUpdate func(now, old *T, o validation.Options) field.ErrorList,
	versions ...string,
) kind {
	return kindOf(func(a asked, d defaulting.Defaults, object *T) {
		fill(d, object)
		if !a.update {
			maps.DeleteFunc(P(object).GetAnnotations(), func(name, _ string) bool { return crds.IsReservedAnnotation(name) })
		}
	}, judge, judgeUpdate, versions)
}

// kindOf is what the others are. The type of the object is known in here alone.
func kindOf[T any](
	fill func(asked, defaulting.Defaults, *T),
	judge func(*T, validation.Options) (field.ErrorList, []string),
	judgeUpdate func(now, old *T, o validation.Options) field.ErrorList,
	versions []string,
) kind {
	decode := func(raw []byte) (*T, error) {
		if n := values(raw); n > mostValues {
			return nil, fmt.Errorf("the object has %d values, %d at most", n, mostValues)
		}
		object := new(T)
		return object, json.Unmarshal(raw, object)
	}
	return kind{
		versions: versions,
		byDefault: func(a asked, o validation.Options) ([]operation, error) {
			object, err := decode(a.object)
			if err != nil {
				return nil, err
			}
			before := encode(object)
			fill(a, o.Defaults, object)
			return patch(a.object, before, encode(object))
		},
		validate: func(a asked, o validation.Options) (d decision) {
			object, err := decode(a.object)
			if err != nil {
				return decision{errs: field.ErrorList{misfit(err)}}
			}
			d.errs, d.warnings = judge(object, o)
			d.warnings = append(d.warnings, conversion.WithoutEffect(a.object)...)
			if !a.update {
				return d
			}
			old, err := decode(a.old)
			if err != nil { // what is stored is no object of this kind: any that is one may take its place
				return d
			}
			if len(d.errs) > 0 {
				before, _ := judge(old, o)
				d.forgive(before)
			}
			if judgeUpdate != nil {
				d.errs = append(d.errs, judgeUpdate(object, old, o)...)
			}
			return d
		},
	}
}

// mostValues is how many an object may have to be looked at: of the largest that a store
// takes (1.5 MiB) each has thirty bytes then. We are asked before the schema is looked at,
// and a list of empty steps has three bytes for each, which in memory has hundreds.
const mostValues = 50_000

// values counts what is in JSON: one, and one more for each comma that is in no text.
func values(raw []byte) int {
	n, text := 1, false
	for i := 0; i < len(raw); i++ {
		switch c := raw[i]; {
		case c == '"':
			text = !text
		case c == '\\' && text:
			i++
		case c == ',' && !text:
			n++
		}
	}
	return n
}

// forgive makes warnings of the errors that an object had before its update, which
// somebody who wants to change something else of it is not to blame for.
func (d *decision) forgive(before field.ErrorList) {
	had := map[string]bool{}
	for _, e := range before {
		had[e.Error()] = true
	}
	d.errs = slices.DeleteFunc(d.errs, func(e *field.Error) bool {
		if had[e.Error()] {
			d.warnings = append(d.warnings, "was wrong before: "+e.Error())
		}
		return had[e.Error()]
	})
}

// find looks a kind up.
func (t kindTable) find(gvk schema.GroupVersionKind) (kind, error) {
	k, known := t[gvk.GroupKind()]
	if !known || !slices.Contains(k.versions, gvk.Version) {
		return kind{}, fmt.Errorf("this webhook knows nothing of %s: its configuration should not ask it", gvk)
	}
	return k, nil
}

// byDefault answers with the patch that fills in defaults. An object that does not fit
// its type passes: the API server has not looked at its schema yet, and says it better.
func (t kindTable) byDefault(a asked, o validation.Options) decision {
	k, err := t.find(a.kind)
	if err != nil {
		return badObject(err.Error())
	}
	if a.settled() {
		return decision{}
	}
	changes, err := k.byDefault(a, o)
	if err != nil {
		return decision{}
	}
	return decision{patch: changes}
}

func (t kindTable) validate(a asked, o validation.Options) decision {
	k, err := t.find(a.kind)
	if err != nil {
		return badObject(err.Error())
	}
	if a.settled() {
		return decision{}
	}
	return k.validate(a, o)
}

// misfit is what is wrong with JSON that is not that of the type.
func misfit(err error) *field.Error {
	if wrong := (*json.UnmarshalTypeError)(nil); errors.As(err, &wrong) && wrong.Field != "" {
		parts := strings.Split(wrong.Field, ".")
		return field.TypeInvalid(field.NewPath(parts[0], parts[1:]...), wrong.Value, "must be "+wrong.Type.String())
	}
	return field.Invalid(field.NewPath("spec"), field.OmitValueType{}, err.Error())
}
