package apiserver

import (
	"bytes"
	"encoding/json"
	"fmt"
	"mime"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	serializerjson "k8s.io/apimachinery/pkg/runtime/serializer/json"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/yaml"
)

// A body is an object as somebody wants it.
type body struct {
	*unstructured.Unstructured

	typed   runtime.Object  // of a built-in kind
	unknown []string        // fields that nobody knows, and that are gone
	invalid field.ErrorList // what the schema does not allow
}

// bodies reads objects out of requests.
type bodies struct {
	strict, proto runtime.Decoder
	shapes        map[*Resource]func() *shape
}

func newBodies(all map[string]*Resource) *bodies {
	b := &bodies{
		strict: serializerjson.NewSerializerWithOptions(serializerjson.DefaultMetaFactory, scheme.Scheme, scheme.Scheme, serializerjson.SerializerOptions{Strict: true}),
		proto:  protobuf.NewSerializer(scheme.Scheme, scheme.Scheme),
		shapes: map[*Resource]func() *shape{},
	}
	for _, r := range all {
		if r.custom != nil {
			b.shapes[r] = sync.OnceValue(func() *shape { return shapes{}.of(reflect.TypeOf(r.custom())) })
		}
	}
	return b
}

// read reads the body of a request.
func (b *bodies) read(a ask, contentType string, raw []byte) (*body, *apierrors.StatusError) {
	media, _, _ := mime.ParseMediaType(contentType)
	switch {
	case media == "application/yaml":
		asJSON, err := yaml.YAMLToJSON(raw)
		if err != nil {
			return nil, apierrors.NewBadRequest(err.Error())
		}
		raw = asJSON
	case media == runtime.ContentTypeProtobuf && a.resource.builtIn():
		return b.typed(a, b.proto, raw)
	case media != "" && media != runtime.ContentTypeJSON:
		return nil, unsupported("application/json, application/yaml, application/vnd.kubernetes.protobuf")
	}
	return b.readJSON(a, raw)
}

func unsupported(accepted string) *apierrors.StatusError {
	return status(http.StatusUnsupportedMediaType, metav1.StatusReasonUnsupportedMediaType, "the body of the request was in an unknown format - accepted media types include: "+accepted)
}

func (b *bodies) readJSON(a ask, raw []byte) (*body, *apierrors.StatusError) {
	if a.resource.builtIn() {
		return b.typed(a, b.strict, raw)
	}
	return b.custom(a, raw)
}

// typed reads a built-in kind, and fills in what is left out.
func (b *bodies) typed(a ask, from runtime.Decoder, raw []byte) (*body, *apierrors.StatusError) {
	r, gvk := a.resource, a.resource.gvk()
	object, is, err := from.Decode(raw, &gvk, nil)
	strict, lenient := runtime.AsStrictDecodingError(err)
	switch {
	case err != nil && !lenient:
		return nil, undecodable(r, is, err, raw)
	case *is != gvk:
		return nil, undecodable(r, is, fmt.Errorf("converting (v1.%s) to (core.%s): unknown conversion", is.Kind, r.Kind), raw)
	}
	to := &body{typed: object}
	if lenient {
		for _, unknown := range strict.Errors() {
			to.unknown = append(to.unknown, unknown.Error())
		}
	}
	if r.rules.fill != nil {
		r.rules.fill(object)
	}
	to.Unstructured = untype(r, object)
	return to, a.tolerates(to.unknown)
}

func untype(r *Resource, object runtime.Object) *unstructured.Unstructured {
	u := &unstructured.Unstructured{Object: must(runtime.DefaultUnstructuredConverter.ToUnstructured(object))}
	u.SetAPIVersion(r.apiVersion())
	u.SetKind(r.Kind)
	return u
}

// custom reads a custom resource, and takes out what its schema does not know.
func (b *bodies) custom(a ask, raw []byte) (*body, *apierrors.StatusError) {
	u := &unstructured.Unstructured{}
	gvk, err := serializerjson.DefaultMetaFactory.Interpret(raw)
	if err == nil && gvk.Kind == "" {
		err = runtime.NewMissingKindErr(string(raw))
		gvk = nil
	}
	if err == nil {
		err = u.UnmarshalJSON(raw)
	}
	if err != nil {
		return nil, undecodable(a.resource, gvk, err, raw)
	}
	if want := a.gv.String(); u.GetAPIVersion() != want {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("the API version in the data (%s) does not match the expected API version (%s)", u.GetAPIVersion(), want))
	}
	to := &body{Unstructured: u}
	if gvk.Kind != a.resource.Kind {
		to.invalid = field.ErrorList{field.Invalid(field.NewPath("kind"), gvk.Kind, "must be "+a.resource.Kind)}
		return to, nil
	}
	u.SetAPIVersion(a.resource.apiVersion())
	to.unknown, to.invalid = b.shapes[a.resource]().prune(u.Object, nil)
	for i, path := range to.unknown {
		to.unknown[i] = fmt.Sprintf("unknown field %q", path)
	}
	slices.Sort(to.unknown)
	return to, a.tolerates(to.unknown)
}

// tolerates refuses fields that nobody knows, where whoever asks wants that.
func (a ask) tolerates(unknown []string) *apierrors.StatusError {
	if len(unknown) == 0 || a.query.Get("fieldValidation") != metav1.FieldValidationStrict {
		return nil
	}
	return apierrors.NewBadRequest(fmt.Sprintf("%s in version %q cannot be handled as a %s: strict decoding error: %s",
		a.resource.Kind, a.resource.Version, a.resource.Kind, strings.Join(unknown, ", ")))
}

// undecodable says why something is no object of a kind.
func undecodable(r *Resource, is *schema.GroupVersionKind, err error, raw []byte) *apierrors.StatusError {
	if is != nil && is.Kind != "" {
		return apierrors.NewBadRequest(fmt.Sprintf("%s in version %q cannot be handled as a %s: %v", is.Kind, is.Version, r.Kind, err))
	}
	const most = 30
	summary := string(raw)
	switch {
	case len(raw) == 0:
		summary = "<empty>"
	case len(raw) > most:
		summary = summary[:most] + " ..."
	}
	return apierrors.NewBadRequest(fmt.Sprintf("the object provided is unrecognized (must be of type %s): %v (%s)", r.Kind, err, summary))
}

// agrees tells whether an object is the one of the path. A new one need not have
// a name yet, and takes the path's namespace.
func (b *body) agrees(a ask) *apierrors.StatusError {
	ns := b.GetNamespace()
	switch name := b.GetName(); {
	case a.Verb == "create":
	case name == "":
		return apierrors.NewBadRequest(fmt.Sprintf("the name of the object (%s based on URL) was undeterminable: name must be provided", a.Key.Name))
	case name != a.Key.Name:
		return apierrors.NewBadRequest(fmt.Sprintf("the name of the object (%s) does not match the name on the URL (%s)", name, a.Key.Name))
	}
	if ns != "" && ns != a.Key.Namespace {
		return apierrors.NewBadRequest("the namespace of the provided object does not match the namespace sent on the request")
	}
	b.SetNamespace(a.Key.Namespace)
	return nil
}

func decodeOptions(raw []byte) (metav1.DeleteOptions, error) {
	var o metav1.DeleteOptions
	if !bytes.HasPrefix(raw, []byte("k8s\x00")) {
		if _, err := serializerjson.DefaultMetaFactory.Interpret(raw); err != nil {
			return o, err
		}
		return o, json.Unmarshal(raw, &o)
	}
	decoded, _, err := scheme.Codecs.UniversalDeserializer().Decode(raw, nil, nil)
	if err != nil {
		return o, err
	}
	options, ok := decoded.(*metav1.DeleteOptions)
	if !ok {
		return o, fmt.Errorf("the body of a deletion is a %T", decoded)
	}
	return *options, nil
}
