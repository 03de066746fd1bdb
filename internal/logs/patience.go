package logs

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
)

const (
	// mostPause is between tries of what fails.
	mostPause = 15 * time.Second
	// mostQuiet is between looks at what there may be no news of.
	mostQuiet = 5 * time.Second
)

// A pause is how long was waited last.
type pause time.Duration

// next is half a second, then ever twice as long, up to most.
func (p *pause) next(most time.Duration) time.Duration {
	*p = pause(min(max(2*time.Duration(*p), time.Second/2), most))
	return time.Duration(*p)
}

// tries are those of one thing, one after the other.
type tries struct {
	*printer

	since time.Time // the first that failed; zero: none has
	pause pause
	told  bool
}

func (p *printer) tries() tries { return tries{printer: p} }

// errNoNews is how a watch ends that has been for nothing.
var errNoNews = errors.New("there is no news")

// again returns nil when it is time for the next try, after one that has failed so, or
// that has failed for good why.
func (t *tries) again(ctx context.Context, err error) error {
	most := mostPause
	switch {
	case !t.Follow || refused(err):
		return err
	case errors.Is(err, errNoNews):
		t.since, most = time.Time{}, mostQuiet
	case t.since.IsZero():
		t.since = time.Now()
	case time.Since(t.since) >= t.Patience:
		return fmt.Errorf("given up after %s: %w", t.Patience, err)
	case !t.told: // that one connection is lost is nothing to tell
		t.told = true
		t.paper.notef("the server does not answer, and is asked again (%v)", err)
	}
	select {
	case <-time.After(t.pause.next(most)):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// refused tells an answer that will be no other the next time. Who has no valid
// credentials may have some by then: those of many clouds are for minutes.
func refused(err error) bool {
	var answer apierrors.APIStatus
	if !errors.As(err, &answer) {
		return false
	}
	switch code := answer.Status().Code; code {
	case http.StatusUnauthorized, http.StatusRequestTimeout, http.StatusTooManyRequests:
		return false
	default:
		return code >= 400 && code < 500
	}
}

// A versioned object is a run.
type versioned interface{ GetResourceVersion() string }

// now is a run as it is, as soon as it can be read.
func now[T versioned](ctx context.Context, p *printer, key types.NamespacedName, read func(context.Context, types.NamespacedName) (T, error)) (run T, err error) {
	for tries := p.tries(); ; {
		if run, err = read(ctx, key); err == nil {
			return run, nil
		}
		if err = tries.again(ctx, err); err != nil {
			return run, err
		}
	}
}

// later is a run when it is not any more what it was.
func later[T versioned](ctx context.Context, p *printer, resource string, key types.NamespacedName, was T, read func(context.Context, types.NamespacedName) (T, error)) (T, error) {
	for tries := p.tries(); ; {
		err := p.News(ctx, resource, key, was.GetResourceVersion())
		if err == nil {
			var run T
			if run, err = read(ctx, key); err == nil {
				if run.GetResourceVersion() != was.GetResourceVersion() {
					return run, nil
				}
				err = errNoNews
			}
		}
		if err = tries.again(ctx, err); err != nil {
			return was, err
		}
	}
}
