package validation

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"millrace/crds"
	"millrace/crds/graph"
	"millrace/crds/reference"
)

// lastContexts looks for variables of the scope "context" that nobody knows. Tekton
// looks at the last task of a list alone, and at its parameters; in others they stay as
// they are written, and ours ends such a run.
func (r *report) lastContexts(tasks []crds.PipelineTask, at *field.Path) {
	known := contexts()
	for i := range tasks {
		graph.Texts(&tasks[i], at.Index(i), func(text graph.Text) {
			if text.Place == graph.Steps || text.Place == graph.Spec || text.Place == graph.DisplayName || !strings.Contains(text.Text, "$(context.") {
				return
			}
			looks := i == len(tasks)-1 && (text.Place == graph.Params || text.Place == graph.Matrix)
			reference.Each(text.Text, func(name string) {
				for scope, names := range known {
					if v, is := reference.Of(scope, name); is && !slices.Contains(names, v.Name) {
						r.unknownContext(looks, scope, name, names, text.At)
					}
				}
			})
		})
	}
}

func (r *report) unknownContext(looks bool, scope, name string, names []string, at *field.Path) {
	const what = "$(%s) is not known, and of %s there is %s: correct the name"
	if looks {
		r.invalid(at, "$("+name+")", what, name, scope, strings.Join(names, ", "))
		return
	}
	r.fails(at, "$("+name+")", what, name, scope, strings.Join(names, ", "))
}
