package call

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
)

// Get reads one object of a kind as JSON. One that is no T is an *UnreadableError. What is
// of another kind, or of none, is trouble, and for another try: no server keeps such a
// thing there.
func Get[T any](ctx context.Context, request *rest.Request, kind string) (*T, error) {
	raw, err := Body(request.MaxRetries(0).SetHeader("Accept", runtime.ContentTypeJSON).Do(ctx))
	if err != nil {
		return nil, err
	}
	return decode[T](raw, kind)
}

// decode looks at the kind first: what has only the metadata of a run would be taken for
// one that has not begun.
func decode[T any](raw []byte, kind string) (*T, error) {
	var is metav1.TypeMeta
	if err := json.Unmarshal(raw, &is); err != nil {
		return nil, fmt.Errorf("decode the answer: %w", err)
	}
	if is.Kind != kind {
		return nil, fmt.Errorf("decode the answer: its kind is %q, and not %s", is.Kind, kind)
	}
	object := new(T)
	if err := json.Unmarshal(raw, object); err != nil {
		return nil, &UnreadableError{err}
	}
	return object, nil
}

// List reads objects of a kind, all of them in one answer. If some are no T, the error is
// an *UnreadableError, and the others are returned beside it. What is of another kind is
// trouble, as for Get, and none is returned.
func List[T any](ctx context.Context, request *rest.Request, kind string) ([]T, error) {
	list, err := Get[struct {
		Items []json.RawMessage `json:"items"`
	}](ctx, request, kind+"List")
	if err != nil {
		return nil, err
	}
	items := make([]T, 0, len(list.Items))
	var unreadable *UnreadableError
	for i, raw := range list.Items {
		item, err := decode[T](raw, kind)
		switch {
		case err == nil:
			items = append(items, *item)
		case !errors.As(err, &unreadable):
			return nil, fmt.Errorf("item %d: %w", i, err)
		}
	}
	if unreadable != nil {
		return items, unreadable
	}
	return items, nil
}

// Body is the answer's bytes, or the error that they tell of: Raw alone does not
// read what the server says, and only knows its status code.
func Body(result rest.Result) ([]byte, error) {
	raw, err := result.Raw()
	if err != nil {
		return nil, result.Error()
	}
	return raw, nil
}

// onlyMetadata asks for the answer without spec and status, which nobody reads.
const onlyMetadata = runtime.ContentTypeJSON + ";as=PartialObjectMetadata;g=meta.k8s.io;v=v1," + runtime.ContentTypeJSON

// Write sends a body in JSON, and returns the resource version that came of it.
func Write(ctx context.Context, request *rest.Request, body []byte) (resourceVersion string, err error) {
	raw, err := Body(request.MaxRetries(0).SetHeader("Accept", onlyMetadata).Body(body).Do(ctx))
	if err != nil {
		return "", err
	}
	var answer metav1.PartialObjectMetadata
	if err := json.Unmarshal(raw, &answer); err != nil {
		return "", fmt.Errorf("decode the answer to a write: %w", err)
	}
	return answer.ResourceVersion, nil
}

// Find takes an object from the cache, or from the server where the cache has none:
// what is created together with its run may reach its cache later than the run did.
// none is why there is no object, for good; trouble is for another try.
func Find[T any](
	ctx context.Context, key types.NamespacedName,
	cache func(types.NamespacedName) (T, bool, error), server func(context.Context, types.NamespacedName) (*T, error),
) (object *T, none, trouble error) {
	cached, ok, err := cache(key)
	if ok && err != nil {
		return nil, err, nil
	}
	if ok {
		return &cached, nil, nil
	}
	object, err = server(ctx, key)
	var unreadable *UnreadableError
	switch {
	case apierrors.IsNotFound(err), errors.As(err, &unreadable):
		return nil, err, nil
	case err != nil:
		return nil, nil, err
	default:
		return object, nil, nil
	}
}
