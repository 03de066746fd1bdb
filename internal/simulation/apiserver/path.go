package apiserver

import (
	"net/http"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// parse takes a request apart. It returns nil for what is no resource of the model.
// What is to be created has its name in the body.
func (s *Server) parse(r *http.Request, a ask) *ask {
	parts := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	switch {
	case len(parts) > 2 && parts[0] == "api":
		a.gv, parts = schema.GroupVersion{Version: parts[1]}, parts[2:]
	case len(parts) > 3 && parts[0] == "apis":
		a.gv, parts = schema.GroupVersion{Group: parts[1], Version: parts[2]}, parts[3:]
	default:
		return nil
	}
	watch := parts[0] == "watch" // as one asked for watches in earlier times
	if watch {
		parts = parts[1:]
	}
	if len(parts) > 2 && parts[0] == "namespaces" {
		a.Key.Namespace, parts = parts[1], parts[2:]
	}
	if len(parts) == 0 {
		return nil
	}
	a.Group, a.Resource = a.gv.Group, parts[0]
	if len(parts) > 1 {
		a.Key.Name = parts[1]
	}
	if len(parts) > 2 {
		a.Subresource = parts[2]
	}
	a.resource = s.resources[a.Resource]
	if a.resource == nil || !a.resource.serves(a.gv) {
		return nil
	}
	a.Verb = verb(r, a)
	if watch {
		a.Verb = "watch"
	}
	a.Continues, a.Initial = a.query.Has("continue"), a.query.Get("sendInitialEvents") == "true"
	if a.Verb == "list" || a.Verb == "watch" {
		a.Only = onlyName(a.query.Get("fieldSelector"))
	}
	return &a
}

// onlyName is the name that a selection by fields narrows to, if it does. Servers ask
// the authorizer for that name then, so that a right to it alone will do.
func onlyName(selector string) string {
	by, err := fields.ParseSelector(selector)
	if err != nil {
		return ""
	}
	name, _ := by.RequiresExactMatch("metadata.name")
	return name
}

func verb(r *http.Request, a ask) string {
	switch r.Method {
	case http.MethodPost:
		return "create"
	case http.MethodPut:
		return "update"
	case http.MethodPatch:
		return "patch"
	case http.MethodDelete:
		if a.Key.Name == "" {
			return "deletecollection"
		}
		return "delete"
	}
	switch {
	case a.Key.Name != "":
		return "get"
	case a.query.Get("watch") == "true" || a.query.Get("watch") == "1":
		return "watch"
	default:
		return "list"
	}
}

// served tells whether the path has that verb.
func (a ask) served() *apierrors.StatusError {
	builtIn := a.resource.builtIn()
	named := a.Key.Name != ""
	switch {
	case a.Subresource != "" && (a.Subresource != "status" || !a.resource.status):
		if builtIn {
			return noResource()
		}
		return apierrors.NewNotFound(a.resource.GroupResource(), a.Key.Name)
	case a.Verb == "get" || a.Verb == "list" || a.Verb == "watch":
		return nil
	case a.Key.Namespace == "" && !a.resource.global && !builtIn:
		return noPath()
	case builtIn && (a.Key.Namespace == "" && !a.resource.global || named == (a.Verb == "create" || a.Verb == "deletecollection")):
		return methodNotAllowed()
	case !named && (a.Verb == "update" || a.Verb == "patch"):
		return apierrors.NewBadRequest("name must be provided")
	case named && a.Verb == "create":
		return methodNotAllowed()
	default:
		return nil
	}
}

func methodNotAllowed() *apierrors.StatusError {
	err := status(http.StatusMethodNotAllowed, metav1.StatusReasonMethodNotAllowed, "the server does not allow this method on the requested resource")
	err.ErrStatus.Details = &metav1.StatusDetails{}
	return err
}

func noResource() *apierrors.StatusError {
	err := status(http.StatusNotFound, metav1.StatusReasonNotFound, "the server could not find the requested resource")
	err.ErrStatus.Details = &metav1.StatusDetails{}
	return err
}

// noPath is what is said of a path in a group that knows nothing of it. It goes
// without a Status.
func noPath() *apierrors.StatusError {
	err := status(http.StatusNotFound, metav1.StatusReasonNotFound, "404 page not found")
	err.ErrStatus.Status = ""
	return err
}
