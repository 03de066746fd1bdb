package crds

// WhenOperator relates the input of a WhenExpression to its values.
type WhenOperator string

// The operators of a WhenExpression.
const (
	WhenIn    WhenOperator = "in"
	WhenNotIn WhenOperator = "notin"
)

// WhenExpression is a condition: an input that is, or is not, one of some
// values; or an expression in CEL.
type WhenExpression struct {
	// The text to look for; may be a variable.
	Input string `json:"input,omitempty"`
	// in or notin.
	// +kubebuilder:validation:Enum="";in;notin
	Operator WhenOperator `json:"operator,omitempty"`
	// What to look among. An array parameter may stand for several: $(params.<name>[*]).
	Values []string `json:"values,omitempty"`
	// An expression instead of the other three. Needs the feature flag enable-cel-in-whenexpression.
	CEL string `json:"cel,omitempty"`
}

// WhenExpressions hold if each of them does; none at all hold.
type WhenExpressions []WhenExpression
