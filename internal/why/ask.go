package why

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"regexp"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"millrace/internal/terminal"
)

// A getter is how a replica is asked: what it answers, or errUnknown.
type getter func(ctx context.Context, path string, query url.Values) ([]byte, error)

// errUnknown is the answer of a replica that does not know the key.
var errUnknown = errors.New("not known")

// unknown tells the answer that a replica does not know the key, or has no such controller,
// as one that has no share yet, from that of a server which knows nothing of keys.
func unknown(answer []byte) bool {
	return strings.Contains(string(answer), "knows no such key") ||
		strings.HasPrefix(string(answer), "parameter controller=") && strings.Contains(string(answer), "there is none of that name")
}

// standsBy tells the answer of a replica that has the key in its cache, and works on
// nothing.
func standsBy(answer []byte) bool { return standing().Match(answer) }

func standing() *regexp.Regexp { return regexp.MustCompile(`(?m)^replica +does not lead`) }

// askAll asks one replica after the other, until one knows the key and works on it. The
// errors are told if none does; where something is forbidden, it is with all of them.
func (q Question) askAll(ctx context.Context, replicas []string, at func(replica string) getter, out io.Writer) error {
	var second []byte
	var failed []error
	for _, replica := range replicas {
		answer, err := q.ask(ctx, at(replica))
		switch {
		case errors.Is(err, errUnknown):
		case apierrors.IsForbidden(err):
			return err
		case err != nil:
			failed = append(failed, err)
		case standsBy(answer):
			second = answer
		default:
			return show(answer, out)
		}
	}
	if second != nil {
		return show(second, out)
	}
	if len(failed) > 0 {
		return errors.Join(failed...)
	}
	return fmt.Errorf("no %s of that name is known: %s", strings.Join(q.Controllers, " or "), q.Key)
}

// ask is what one replica says; errUnknown if it knows the key of no controller.
func (q Question) ask(ctx context.Context, get getter) ([]byte, error) {
	for _, controller := range q.Controllers {
		answer, err := get(ctx, "debug/key", url.Values{"controller": {controller}, "key": {q.Key.String()}})
		if !errors.Is(err, errUnknown) {
			return answer, err
		}
	}
	return nil, errUnknown
}

func show(answer []byte, out io.Writer) error {
	_, err := io.WriteString(out, terminal.Plain(string(answer), "\n\t"))
	return err
}
