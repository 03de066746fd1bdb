package taskrun

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/url"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
)

// A shop is a registry over plain HTTP that counts requests.
type shop struct {
	*httptest.Server
	requests atomic.Int32
	status   int    // answered to everything, if set
	password string // asked of everybody, if set
}

func newShop(t *testing.T) *shop {
	t.Helper()
	s := &shop{}
	inner := registry.New(registry.Logger(log.New(io.Discard, "", 0)))
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.requests.Add(1)
		if s.status != 0 {
			w.WriteHeader(s.status)
			return
		}
		if _, password, _ := r.BasicAuth(); password != s.password {
			w.Header().Set("WWW-Authenticate", `Basic realm="shop"`)
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		inner.ServeHTTP(w, r)
	}))
	t.Cleanup(s.Close)
	return s
}

func (s *shop) host() string { return must(url.Parse(s.URL)).Host }

func (s *shop) push(t *testing.T, repository string, entrypoint, cmd []string) v1.Hash {
	t.Helper()
	image := must(mutate.Config(empty.Image, v1.Config{Entrypoint: entrypoint, Cmd: cmd}))
	ref := must(name.ParseReference(s.host() + "/" + repository))
	if err := remote.Write(ref, image); err != nil {
		t.Fatal(err)
	}
	return must(image.Digest())
}

func (s *shop) pushIndex(t *testing.T, repository string, entrypoint []string) {
	t.Helper()
	image := must(mutate.Config(empty.Image, v1.Config{Entrypoint: entrypoint}))
	index := mutate.AppendManifests(empty.Index, mutate.IndexAddendum{
		Add: image, Descriptor: v1.Descriptor{Platform: &v1.Platform{OS: "linux", Architecture: runtime.GOARCH}},
	})
	if err := remote.WriteIndex(must(name.ParseReference(s.host()+"/"+repository)), index); err != nil {
		t.Fatal(err)
	}
}

func TestRegistryPinsAndRemembers(t *testing.T) {
	s := newShop(t)
	digest := s.push(t, "team/tool:v1", []string{"/tool"}, []string{"serve"})
	r := must(NewRegistry(RegistryConfig{}))
	image := s.host() + "/team/tool:v1"
	got, err := r.Entrypoint(context.Background(), image, nil)
	if err != nil {
		t.Fatal(err)
	}
	if want := fmt.Sprintf("%s/team/tool@%s", s.host(), digest); got.Pinned != want || !slices.Equal(got.Entrypoint, []string{"/tool"}) || !slices.Equal(got.Cmd, []string{"serve"}) {
		t.Errorf("got %+v, want it pinned to %s", got, want)
	}
	before := s.requests.Load()
	if again, err := r.Entrypoint(context.Background(), image, nil); err != nil || again.Pinned != got.Pinned {
		t.Errorf("the second time: %+v %v", again, err)
	}
	// One to see whether this is a registry, one for the manifest, none for the configuration.
	if n := s.requests.Load() - before; n > 2 {
		t.Errorf("%d requests for a known image", n)
	}
}

func TestMirrorAnswersForEveryRegistry(t *testing.T) {
	s := newShop(t)
	s.push(t, "library/busybox:latest", nil, []string{"sh"})
	s.pushIndex(t, "team/multi:v2", []string{"/multi"})
	r := must(NewRegistry(RegistryConfig{Mirror: s.URL}))
	got, err := r.Entrypoint(context.Background(), "busybox", nil)
	if err != nil || !slices.Equal(got.Cmd, []string{"sh"}) || got.Pinned != "" {
		t.Errorf("busybox: %+v %v", got, err)
	}
	got, err = r.Entrypoint(context.Background(), "registry.invalid/team/multi:v2", nil)
	if err != nil || !slices.Equal(got.Entrypoint, []string{"/multi"}) {
		t.Errorf("multi: %+v %v", got, err)
	}
}

func TestRegistryAnswersAndTrouble(t *testing.T) {
	for status, final := range map[int]bool{404: true, 401: true, 403: true, 429: false, 500: false, 503: false} {
		s := newShop(t)
		s.status = status
		_, err := must(NewRegistry(RegistryConfig{Mirror: s.URL})).Entrypoint(context.Background(), "busybox", nil)
		if err == nil || errors.Is(err, ErrNoImage) != final {
			t.Errorf("%d: final %v, want %v: %v", status, errors.Is(err, ErrNoImage), final, err)
		}
	}
	s := newShop(t)
	s.Close()
	_, err := must(NewRegistry(RegistryConfig{Mirror: s.URL})).Entrypoint(context.Background(), "busybox", nil)
	if err == nil || errors.Is(err, ErrNoImage) {
		t.Errorf("nobody there: %v", err)
	}
	_, err = must(NewRegistry(RegistryConfig{})).Entrypoint(context.Background(), "Not An Image", nil)
	if !errors.Is(err, ErrNoImage) {
		t.Errorf("no name: %v", err)
	}
}

func TestMirrorMustBeAURL(t *testing.T) {
	for _, mirror := range []string{"10.0.0.1:5000", "ftp://x", "http://", "http://x/path", "http://x y"} {
		if _, err := NewRegistry(RegistryConfig{Mirror: mirror}); err == nil || !strings.Contains(err.Error(), mirror) {
			t.Errorf("%s: %v", mirror, err)
		}
	}
}

func TestRegistryForgetsWhenItHasTooMany(t *testing.T) {
	r := must(NewRegistry(RegistryConfig{}))
	for i := range 2 * maxImages {
		r.remember(v1.Hash{Hex: fmt.Sprint(i)}, Image{})
	}
	if len(r.seen) > maxImages {
		t.Errorf("%d images, at most %d", len(r.seen), maxImages)
	}
}

func TestCommandOfImage(t *testing.T) {
	both := Image{Entrypoint: []string{"e"}, Cmd: []string{"c"}}
	for _, c := range []struct {
		image Image
		args  bool
		want  []string
	}{
		{both, true, []string{"e"}},
		{both, false, []string{"e", "c"}},
		{Image{Cmd: []string{"c"}}, true, []string{"c"}},
		{Image{Cmd: []string{"c"}}, false, []string{"c"}},
		{Image{}, true, nil},
	} {
		if got := c.image.command(c.args); !slices.Equal(got, c.want) {
			t.Errorf("%+v with args %v: %v, want %v", c.image, c.args, got, c.want)
		}
	}
}
