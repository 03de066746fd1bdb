package defaulting

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"millrace/crds"
)

// LabelManagedBy says what a run is managed by.
const LabelManagedBy = "app.kubernetes.io/managed-by"

// Defaults are what an administrator has decided, in the ConfigMap config-defaults. The
// zero value is Tekton's.
type Defaults struct {
	// Timeout is for runs that name none: default-timeout-minutes. Default: one hour;
	// negative: none.
	Timeout time.Duration
	// ServiceAccount is for runs that name none: default-service-account. Default:
	// "default".
	ServiceAccount string
	// ManagedBy is the value of LabelManagedBy on TaskRuns that have none:
	// default-managed-by-label-value. Default: "tekton-pipelines".
	ManagedBy string
	// PodTemplate is for what the pod template of a run leaves out:
	// default-pod-template; see MergePodTemplate. Default: nothing.
	PodTemplate *crds.PodTemplate
	// Resolver is for references that name neither an object nor a resolver:
	// default-resolver-type. Default: none, and such a reference is refused.
	Resolver string
}

// RunTimeout is how long a run may take that does not say; 0 is for ever.
func (d Defaults) RunTimeout() time.Duration {
	switch {
	case d.Timeout < 0:
		return 0
	case d.Timeout == 0:
		return time.Hour
	default:
		return d.Timeout
	}
}

// Manager is the value of LabelManagedBy.
func (d Defaults) Manager() string {
	if d.ManagedBy == "" {
		return "tekton-pipelines"
	}
	return d.ManagedBy
}

func (d Defaults) serviceAccount(name *string) {
	switch {
	case *name != "":
	case d.ServiceAccount != "":
		*name = d.ServiceAccount
	default:
		*name = "default"
	}
}

func (d Defaults) timeout(of **metav1.Duration) {
	if *of == nil {
		*of = &metav1.Duration{Duration: d.RunTimeout()}
	}
}

func (d Defaults) resolver(name string, ref *crds.ResolverRef) {
	if name == "" && ref.Resolver == "" {
		ref.Resolver = d.Resolver
	}
}

// taskRef fills in the kind of a Task of the namespace. A reference with an apiVersion of
// another group is to somebody's custom task, and only its author knows of which kind.
func (d Defaults) taskRef(ref *crds.TaskRef) {
	if ref == nil {
		return
	}
	if !crds.IsGroup(ref.APIVersion) {
		return
	}
	d.resolver(ref.Name, &ref.ResolverRef)
	if ref.Kind == "" && ref.Resolver == "" {
		ref.Kind = crds.KindTask
	}
}
