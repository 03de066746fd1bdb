package apiserver

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"path"
	"slices"
	"strconv"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/internalversion"
	"k8s.io/apimachinery/pkg/apis/meta/internalversion/scheme"
	"k8s.io/apimachinery/pkg/apis/meta/internalversion/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// listOptions reads the query of a list or a watch, and refuses what servers refuse.
func (s *Server) listOptions(a ask) (o internalversion.ListOptions, refused *apierrors.StatusError) {
	if err := scheme.ParameterCodec.DecodeParameters(a.query, metav1.SchemeGroupVersion, &o); err != nil {
		return o, apierrors.NewBadRequest(err.Error())
	}
	o.Watch = a.Verb == "watch"
	if errs := validation.ValidateListOptions(&o, !s.cfg.NoWatchList); len(errs) > 0 {
		return o, apierrors.NewInvalid(metav1.SchemeGroupVersion.WithKind("ListOptions").GroupKind(), "", errs)
	}
	return o, selectable(a.resource, o.FieldSelector)
}

// selectable refuses a selection by fields that servers do not select by.
func selectable(r *Resource, by fields.Selector) *apierrors.StatusError {
	if by == nil {
		return nil
	}
	for _, each := range by.Requirements() {
		switch {
		case each.Field == "metadata.name" || each.Field == "metadata.namespace" || slices.Contains(r.fields, each.Field):
		case r.builtIn() && len(r.fields) == 0:
			return apierrors.NewBadRequest(fmt.Sprintf("%q is not a known field selector: only \"metadata.name\", \"metadata.namespace\"", each.Field))
		default:
			return apierrors.NewBadRequest("field label not supported: " + each.Field)
		}
	}
	return nil
}

// writeOptions reads the options of a write, which stand in the query, and of a
// deletion in the body, too.
func (s *Server) writeOptions(w *write, a ask, contentType string) *apierrors.StatusError {
	var kind string
	var errs field.ErrorList
	var err error
	read := func(into runtime.Object) {
		err = scheme.ParameterCodec.DecodeParameters(a.query, metav1.SchemeGroupVersion, into)
	}
	switch a.Verb {
	case "create":
		o := &metav1.CreateOptions{}
		read(o)
		kind, errs = "CreateOptions", metav1validation.ValidateCreateOptions(o)
	case "update":
		o := &metav1.UpdateOptions{}
		read(o)
		kind, errs = "UpdateOptions", metav1validation.ValidateUpdateOptions(o)
	case "patch":
		if refused := patchable(a.resource, contentType); refused != nil {
			return refused
		}
		o := &metav1.PatchOptions{}
		read(o)
		kind, errs = "PatchOptions", metav1validation.ValidatePatchOptions(o, types.PatchType(contentType))
	default:
		if len(a.body) > 0 {
			w.options, err = decodeOptions(a.body)
		} else {
			read(&w.options)
		}
		kind, errs = "DeleteOptions", metav1validation.ValidateDeleteOptions(&w.options)
		w.dryRun = len(w.options.DryRun) > 0
	}
	switch {
	case err != nil:
		return apierrors.NewBadRequest(err.Error())
	case len(errs) > 0:
		return apierrors.NewInvalid(metav1.SchemeGroupVersion.WithKind(kind).GroupKind(), "", errs)
	default:
		return nil
	}
}

// patchable tells whether there are patches of that type: of built-in kinds also
// the strategic ones. Of server-side apply the model knows nothing.
func patchable(r *Resource, contentType string) *apierrors.StatusError {
	switch types.PatchType(contentType) {
	case types.MergePatchType, types.JSONPatchType:
		return nil
	case types.StrategicMergePatchType:
		if r.builtIn() {
			return nil
		}
	}
	if r.builtIn() {
		err := status(http.StatusUnsupportedMediaType, metav1.StatusReasonUnsupportedMediaType, "415: Unsupported Media Type")
		err.ErrStatus.Details = &metav1.StatusDetails{}
		return err
	}
	return unsupported("application/json-patch+json, application/merge-patch+json, application/apply-patch+yaml")
}

// a selection is which objects a request is about.
type selection struct {
	namespace string
	labels    labels.Selector
	fields    fields.Selector
}

func selected(a ask, o internalversion.ListOptions) selection {
	s := selection{namespace: a.Key.Namespace, labels: labels.Everything(), fields: fields.Everything()}
	if o.LabelSelector != nil {
		s.labels = o.LabelSelector
	}
	if o.FieldSelector != nil {
		s.fields = o.FieldSelector
	}
	return s
}

func (s selection) everything() bool { return s.labels.Empty() && s.fields.Empty() }

func (s selection) has(o *Object) bool {
	return o != nil && (s.namespace == "" || s.namespace == o.GetNamespace()) &&
		s.labels.Matches(labels.Set(o.GetLabels())) && (s.fields.Empty() || s.fields.Matches(fieldsOf{o}))
}

// fieldsOf finds the fields of an object by their paths.
type fieldsOf struct{ *Object }

func (f fieldsOf) Has(path string) bool { return f.Get(path) != "" }

func (f fieldsOf) Get(path string) string {
	var at any = f.Object.Object
	for name := range strings.SplitSeq(path, ".") {
		m, ok := at.(map[string]any)
		if !ok {
			return ""
		}
		at = m[name]
	}
	text, _ := at.(string)
	return text
}

func parseVersion(text string) (uint64, *apierrors.StatusError) {
	if text == "" {
		return 0, nil
	}
	version, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		return 0, apierrors.NewBadRequest(fmt.Sprintf("invalid resource version: resourceVersion: Invalid value: %q: %v", text, err))
	}
	return version, nil
}

// A continuation is where the next page begins, and of which version it is: -1
// is that of now, for who takes an inconsistent list over none.
type continuation struct {
	APIVersion string `json:"v"`
	Version    int64  `json:"rv"`
	Start      string `json:"start"` // below the prefix of all keys of the list
}

func (c continuation) String() string {
	c.APIVersion = "meta.k8s.io/v1"
	return base64.RawURLEncoding.EncodeToString(must(json.Marshal(c)))
}

func parseContinuation(token string) (c continuation, refused *apierrors.StatusError) {
	bad := func(why any) (continuation, *apierrors.StatusError) {
		return continuation{}, apierrors.NewBadRequest(fmt.Sprintf("invalid continue token: continue key is not valid: %v", why))
	}
	raw, err := base64.RawURLEncoding.DecodeString(token)
	if err != nil {
		return bad(err)
	}
	if err := json.Unmarshal(raw, &c); err != nil {
		return bad(err)
	}
	if !strings.HasPrefix(c.Start, "/") {
		c.Start = "/" + c.Start
	}
	switch {
	case c.APIVersion != "meta.k8s.io/v1":
		return bad("server does not recognize this encoded version " + c.APIVersion)
	case c.Version == 0:
		return bad("incorrect encoded start resourceVersion (version meta.k8s.io/v1)")
	case c.Start == "/":
		return bad("encoded start key empty (version meta.k8s.io/v1)")
	case path.Clean(c.Start) != c.Start:
		return bad(c.Start)
	}
	return c, nil
}
