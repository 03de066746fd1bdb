package crds

// ParamSpec declares one parameter of a Task or StepAction.
type ParamSpec struct {
	// What the parameter is called in $(params.<name>). Letters, digits, "_",
	// "-" and ".", beginning with a letter or "_"; object parameters without dots.
	Name string `json:"name"`
	// string, array or object. Left out, it follows from the default, else it is string.
	// +kubebuilder:validation:Enum="";string;array;object
	Type ParamType `json:"type,omitempty"`
	// What the parameter is for, for people.
	Description string `json:"description,omitempty"`
	// The keys of an object parameter.
	Properties map[string]PropertySpec `json:"properties,omitempty"`
	// The value when a run gives none: a string, an array of strings or an
	// object of strings. Without it the parameter must be given.
	Default *ParamValue `json:"default,omitempty"`
	// The only values that are accepted. Needs the feature flag enable-param-enum.
	Enum []string `json:"enum,omitempty"`
}

// ParamSpecs are the declared parameters, in the order of the file.
type ParamSpecs []ParamSpec

// PropertySpec declares one key of an object.
type PropertySpec struct {
	// Always string.
	// +kubebuilder:validation:Enum="";string
	Type ParamType `json:"type,omitempty"`
}

// Param gives a parameter its value.
type Param struct {
	// The declared name.
	Name string `json:"name"`
	// A string, an array of strings or an object of strings.
	Value ParamValue `json:"value"`
}

// Params are parameters with their values, in the order of the file.
type Params []Param
