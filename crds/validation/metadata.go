package validation

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// maxName is what a name can have that becomes the value of a label.
const maxName = validation.LabelValueMaxLength

// metadata looks at the name only; a name that is still to be generated is cut to fit by
// the API server. What else a name can have is the API server's to say.
func (r *report) metadata(meta *metav1.ObjectMeta) {
	if n := len(meta.Name); n > maxName {
		r.invalid(field.NewPath("metadata", "name"), field.OmitValueType{}, "it has %d characters, and becomes the value of a label, which has %d at most: choose a shorter one", n, maxName)
	}
}
