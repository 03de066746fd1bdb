package pipelinerun

import (
	"maps"
	"slices"
	"strings"

	"millrace/crds"
	"millrace/crds/reference"
	"millrace/reconcile/variables"
)

// A combination is what one run of a matrix is given.
type combination struct {
	params crds.Params
	name   string // for people; of the include that made it, or fits it
}

// combinations are the runs that a matrix asks for: the product of its parameters,
// the first of which changes fastest; each include is added to those that it does not
// contradict, and is one of its own if there are none. A task without a matrix is one
// combination of nothing.
func combinations(v variables.Set, t *task, most int) ([]combination, *refusal) {
	if t.Matrix == nil {
		return []combination{{}}, nil
	}
	product, r := multiplied(v, t, most)
	if r != nil {
		return nil, r
	}
	var names []string
	for range product {
		names = append(names, "")
	}
	for _, include := range t.Matrix.Include {
		own := includeParams(v, include)
		fitted := false
		for i, one := range product {
			if contradicts(one, own) {
				continue
			}
			fitted = true
			if !afford(v, own) {
				return nil, invalid("%v", v.Overspent())
			}
			maps.Copy(one, own)
			if include.Name != "" {
				names[i] = include.Name
			}
		}
		if !fitted {
			product, names = append(product, own), append(names, include.Name)
		}
		if len(product) > most {
			return nil, tooManyCombinations(t, most)
		}
	}
	return named(product, names), nil
}

// mostRuns is how many runs a task can have at the most: as many as it has combinations,
// where these do not depend on results, which need not be known yet.
func (d *decision) mostRuns(t *task) int {
	if t.Matrix == nil {
		return 1
	}
	if !t.DynamicMatrix {
		v := d.of(t)
		v.Budget = variables.NewBudget() // nothing is put in anywhere
		if all, r := combinations(v, t, d.config.maxMatrix()); r == nil {
			return len(all)
		}
	}
	return d.config.maxMatrix()
}

func typeOf(value crds.ParamValue) crds.ParamType {
	if value.Type == "" {
		return crds.ParamTypeString
	}
	return value.Type
}

func tooManyCombinations(t *task, most int) *refusal {
	return refused(crds.PipelineRunReasonInvalidMatrixParameterTypes, "expected 0 <= combinations of the matrix of pipelineTask %q <= %d, and there are more", t.Name, most)
}

// multiplied is the product of the parameters of a matrix.
func multiplied(v variables.Set, t *task, most int) ([]map[string]string, *refusal) {
	values := make([][]string, len(t.Matrix.Params))
	total := min(len(values), 1)
	for i, param := range t.Matrix.Params {
		value := v.Param(param.Value)
		if value.Type != crds.ParamTypeArray {
			return nil, refused(crds.PipelineRunReasonInvalidMatrixParameterTypes, "parameters of type array only are allowed, but param %q has type %q in pipelineTask %q", param.Name, typeOf(value), t.Name)
		}
		values[i] = value.ArrayVal
		total = min(total, most+1) * len(value.ArrayVal) // one without elements makes nothing of any number
	}
	if total > most {
		return nil, tooManyCombinations(t, most)
	}
	product := make([]map[string]string, total)
	for at := range product {
		product[at] = make(map[string]string, len(values))
		rest := at
		for i, param := range t.Matrix.Params {
			product[at][param.Name] = values[i][rest%len(values[i])]
			rest /= len(values[i])
		}
		if !afford(v, product[at]) {
			return nil, invalid("%v", v.Overspent())
		}
	}
	return product, nil
}

// afford counts what a run is given: many parameters for many runs are more than there
// is memory.
func afford(v variables.Set, params map[string]string) bool {
	bytes := 0
	for name, value := range params {
		bytes += len(name) + len(value)
	}
	return v.Budget.Afford(bytes)
}

func includeParams(v variables.Set, include crds.MatrixInclude) map[string]string {
	own := make(map[string]string, len(include.Params))
	for _, param := range include.Params {
		own[param.Name] = v.Param(param.Value).StringVal
	}
	return own
}

// contradicts tells that an include has another value for a parameter of one.
func contradicts(one, own map[string]string) bool {
	for name, value := range own {
		if have, ok := one[name]; ok && have != value {
			return true
		}
	}
	return false
}

func named(product []map[string]string, names []string) []combination {
	all := make([]combination, len(product))
	for i, one := range product {
		all[i].name = names[i]
		for _, name := range slices.Sorted(maps.Keys(one)) {
			all[i].params = append(all[i].params, crds.Param{Name: name, Value: crds.NewString(one[name])})
		}
	}
	return all
}

// emptyMatrix tells that a parameter of the matrix has no elements, so that there is
// nothing to run.
func (d *decision) emptyMatrix(t *task) bool {
	if t.Matrix == nil {
		return false
	}
	return slices.ContainsFunc(t.Matrix.Params, func(param crds.Param) bool {
		value := d.of(t).Param(param.Value)
		return value.Type == crds.ParamTypeArray && len(value.ArrayVal) == 0
	})
}

// displayName is what people call a run of the task. Parameters of the pipeline come
// before those of the task.
func displayName(v variables.Set, t *task, c combination) string {
	text := t.DisplayName
	if c.name != "" {
		text = c.name
	}
	if !strings.Contains(text, "$(") {
		return text
	}
	own := map[string]string{}
	for _, param := range slices.Concat(t.Params, c.params) {
		value := v.Param(param.Value)
		if value.Type != crds.ParamTypeString && value.Type != "" || v.Known("params."+param.Name) {
			continue
		}
		for _, spelling := range reference.Spellings("params", param.Name) {
			own[spelling] = value.StringVal
		}
	}
	return v.With(own).Text(text)
}
