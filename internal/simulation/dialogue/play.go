package dialogue

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"
)

// A Server is one that scripts are played against.
type Server struct {
	// URL is where it is, without a path; Client knows how to get there, and who asks.
	URL    string
	Client *http.Client
	// Compact has the server forget its oldest versions.
	Compact func(context.Context) error
	// Pause passes the time until an exchange is tried again: what controllers do
	// comes in their own time.
	Pause func(context.Context) error
}

// patience is how long an exchange may wait for others to act. The garbage collector
// looks for new resources each half a minute only, so what is owned by an object of a CRD
// that was applied just now goes when it has; and a slow machine has much else to do.
const patience = 5 * time.Minute

// Play asks what the script asks, and returns the answers as they are recorded,
// in the order of the exchanges. The namespace has to be there.
func (s *Server) Play(ctx context.Context, script *Script, namespace string) ([]string, error) {
	p := &player{Server: s, namespace: namespace, named: map[string]any{}}
	var all []*answer
	for _, e := range script.Exchanges {
		a, err := p.play(ctx, e)
		if err != nil {
			return nil, fmt.Errorf("%s: %q: %w", script.Name, e.Title, err)
		}
		all = append(all, a)
	}
	return masked(namespace, all), nil
}

type player struct {
	*Server

	namespace string
	named     map[string]any
}

// answer is what came back.
type answer struct {
	asked  string // the request as it is written
	code   int
	header http.Header
	body   any // as encoding/json knows it; for a watch its events
}

func (p *player) play(ctx context.Context, e *Exchange) (*answer, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for {
		a, err := p.ask(ctx, e)
		if err != nil {
			return nil, err
		}
		if e.until == 0 || a.code == e.until {
			p.named[e.name] = a.body
			return a, nil
		}
		if err := p.Pause(ctx); err != nil {
			return nil, fmt.Errorf("the answer is still %d: %w", a.code, err)
		}
	}
}

func (p *player) ask(ctx context.Context, e *Exchange) (*answer, error) {
	if e.method == "COMPACT" {
		return &answer{code: http.StatusOK}, p.Compact(ctx)
	}
	path, err := p.filledIn(e.path)
	if err != nil {
		return nil, err
	}
	text, err := p.filledIn(e.body)
	if err != nil {
		return nil, err
	}
	r, err := http.NewRequestWithContext(ctx, e.method, p.URL+p.absolute(path), nil)
	if err != nil {
		return nil, err
	}
	for _, h := range e.header {
		r.Header.Add(h[0], h[1])
	}
	if err := setBody(r, text); err != nil {
		return nil, err
	}
	response, err := p.Client.Do(r)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	a := &answer{asked: e.path + e.body, code: response.StatusCode, header: response.Header}
	a.body, err = read(response, strings.Contains(path, "watch"), e.take)
	return a, err
}

// absolute puts what is in no path of its own below the script's namespace.
func (p *player) absolute(path string) string {
	if strings.HasPrefix(path, "/") {
		return path
	}
	resource, _, _ := strings.Cut(path, "/")
	resource, _, _ = strings.Cut(resource, "?")
	group := "/api/v1"
	switch resource {
	case "leases":
		group = "/apis/coordination.k8s.io/v1"
	case "tasks", "taskruns", "pipelines", "pipelineruns":
		group = "/apis/tekton.dev/v1"
	case "stepactions", "customruns":
		group = "/apis/tekton.dev/v1beta1"
	case "resolutionrequests":
		group = "/apis/resolution.tekton.dev/v1beta1"
	}
	return group + "/namespaces/" + p.namespace + "/" + path
}

var reference = regexp.MustCompile(`\$\{([^}]+)\}`)

// filledIn puts in what the text speaks of: ${NS}, and parts of answers that have
// a name, as ${made.metadata.uid} or ${list.items.0}.
func (p *player) filledIn(text string) (string, error) {
	var failed error
	return reference.ReplaceAllStringFunc(text, func(ref string) string {
		what := ref[2 : len(ref)-1]
		if what == "NS" {
			return p.namespace
		}
		path := strings.Split(what, ".")
		at, ok := p.named[path[0]]
		for _, step := range path[1:] {
			switch x := at.(type) {
			case map[string]any:
				at, ok = x[step]
			case []any:
				i, err := strconv.Atoi(step)
				if ok = err == nil && i < len(x); ok {
					at = x[i]
				}
			default:
				ok = false
			}
		}
		if !ok {
			failed = errors.Join(failed, fmt.Errorf("there is no %s in %v", ref, p.named[path[0]]))
		}
		return fmt.Sprint(at)
	}), failed
}

// setBody gives a request its body: what is YAML is sent as JSON, or as protobuf
// where the header says so, and all else as it is.
func setBody(r *http.Request, text string) error {
	if text == "" {
		return nil
	}
	raw := []byte(text)
	if asJSON, err := yaml.YAMLToJSONStrict(raw); err == nil && !strings.Contains(r.Header.Get("Content-Type"), "yaml") {
		raw = asJSON
	}
	switch r.Header.Get("Content-Type") {
	case "":
		r.Header.Set("Content-Type", runtime.ContentTypeJSON)
	case runtime.ContentTypeProtobuf:
		object, _, err := codecs().UniversalDeserializer().Decode(raw, nil, nil)
		if err != nil {
			return err
		}
		if raw, err = encodeProtobuf(object); err != nil {
			return err
		}
	}
	r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(raw)), int64(len(raw))
	return nil
}
