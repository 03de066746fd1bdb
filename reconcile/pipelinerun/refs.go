package pipelinerun

import (
	"millrace/crds"
	"millrace/crds/reference"
)

func referencesOfValue(value crds.ParamValue, found func(reference.Task)) {
	reference.EachTask(value.StringVal, found)
	for _, element := range value.ArrayVal {
		reference.EachTask(element, found)
	}
	for _, one := range value.ObjectVal {
		reference.EachTask(one, found)
	}
}
