package taskrun

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/remote/transport"
	corev1 "k8s.io/api/core/v1"
)

const (
	// A registry that takes longer holds up a worker; the run is tried again.
	lookupTimeout = 5 * time.Second
	// How many images are remembered; each is a few hundred bytes.
	maxImages = 1024
)

// RegistryConfig says how images are looked up. Its zero value asks each image's
// own registry.
type RegistryConfig struct {
	// Mirror is the URL (http or https, host and port) of a registry that is asked
	// instead of the one that an image names. Default: none.
	Mirror string
	// Transport makes the requests. Default: http.DefaultTransport.
	Transport http.RoundTripper
}

// Registry asks registries, with the pull secrets of the run; a mirror is asked
// without. What an image runs is remembered by its digest, so that an image costs
// one small request once it has been seen: whether the run may have it, the registry
// says each time.
type Registry struct {
	mirror  *name.Registry
	options []remote.Option

	mu   sync.Mutex
	seen map[v1.Hash]Image // at most maxImages; nothing in it ever changes
}

var _ Images = (*Registry)(nil)

// NewRegistry fails where the mirror is no URL of a registry.
func NewRegistry(config RegistryConfig) (*Registry, error) {
	r := &Registry{seen: map[v1.Hash]Image{}}
	transport := config.Transport
	if transport == nil {
		transport = http.DefaultTransport
	}
	// One try: the queue tries again, and tells the user meanwhile.
	r.options = []remote.Option{
		remote.WithTransport(transport),
		remote.WithPlatform(v1.Platform{OS: "linux", Architecture: runtime.GOARCH}),
		remote.WithRetryBackoff(remote.Backoff{Steps: 1}),
	}
	if config.Mirror == "" {
		return r, nil
	}
	mirror, err := parseMirror(config.Mirror)
	if err != nil {
		return nil, fmt.Errorf("registry mirror %q: %w", config.Mirror, err)
	}
	r.mirror = &mirror
	return r, nil
}

func parseMirror(mirror string) (name.Registry, error) {
	u, err := url.Parse(mirror)
	if err != nil {
		return name.Registry{}, err
	}
	switch {
	case u.Host == "" || (u.Path != "" && u.Path != "/"):
		return name.Registry{}, errors.New("want http://host:port or https://host:port")
	case u.Scheme == "http":
		return name.NewRegistry(u.Host, name.Insecure)
	case u.Scheme == "https":
		return name.NewRegistry(u.Host)
	default:
		return name.Registry{}, fmt.Errorf("scheme %q: want http or https", u.Scheme)
	}
}

// Entrypoint asks the registry of the image, or the mirror.
func (r *Registry) Entrypoint(ctx context.Context, image string, secrets []corev1.Secret) (Image, error) {
	ctx, cancel := context.WithTimeout(ctx, lookupTimeout)
	defer cancel()
	ref, err := name.ParseReference(image, name.WeakValidation)
	if err != nil {
		return Image{}, fmt.Errorf("%w: %w", ErrNoImage, err)
	}
	found, digest, err := r.fetch(ctx, r.where(ref), r.login(secrets))
	if err != nil {
		return Image{}, answer(err)
	}
	// What a mirror has under a digest, the node may not find where it pulls from.
	if r.mirror == nil {
		found.Pinned = ref.Context().Digest(digest.String()).String()
	}
	return found, nil
}

// login keeps secrets that are meant for a registry from its mirror.
func (r *Registry) login(secrets []corev1.Secret) remote.Option {
	if r.mirror != nil {
		return remote.WithAuth(authn.Anonymous)
	}
	return remote.WithAuthFromKeychain(newKeychain(secrets))
}

func (r *Registry) where(ref name.Reference) name.Reference {
	if r.mirror == nil {
		return ref
	}
	repository := r.mirror.Repo(ref.Context().RepositoryStr())
	if _, ok := ref.(name.Digest); ok {
		return repository.Digest(ref.Identifier())
	}
	return repository.Tag(ref.Identifier())
}

func (r *Registry) fetch(ctx context.Context, ref name.Reference, login remote.Option) (Image, v1.Hash, error) {
	descriptor, err := remote.Get(ref, append(slices.Clip(r.options), remote.WithContext(ctx), login)...)
	if err != nil {
		return Image{}, v1.Hash{}, fmt.Errorf("get manifest: %w", err)
	}
	if known, ok := r.recall(descriptor.Digest); ok {
		return known, descriptor.Digest, nil
	}
	image, err := descriptor.Image()
	if err != nil {
		return Image{}, v1.Hash{}, fmt.Errorf("choose the image for linux/%s: %w", runtime.GOARCH, err)
	}
	config, err := image.ConfigFile()
	if err != nil {
		return Image{}, v1.Hash{}, fmt.Errorf("get image configuration: %w", err)
	}
	found := Image{Entrypoint: config.Config.Entrypoint, Cmd: config.Config.Cmd}
	r.remember(descriptor.Digest, found)
	return found, descriptor.Digest, nil
}

func (r *Registry) recall(digest v1.Hash) (Image, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	image, ok := r.seen[digest]
	return image, ok
}

// remember forgets an arbitrary image when there are too many: looking one up
// again costs a request, and no more.
func (r *Registry) remember(digest v1.Hash, image Image) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.seen) >= maxImages {
		for other := range r.seen {
			delete(r.seen, other)
			break
		}
	}
	r.seen[digest] = image
}

// answer tells an answer of the registry from trouble on the way to it.
func answer(err error) error {
	var response *transport.Error
	if !errors.As(err, &response) {
		return err
	}
	switch response.StatusCode {
	case http.StatusNotFound, http.StatusBadRequest:
		return fmt.Errorf("%w: %w", ErrNoImage, err)
	case http.StatusUnauthorized, http.StatusForbidden:
		return fmt.Errorf("%w for the pull secrets of the run: give it one for this registry, or give the step a command or a script (%w)", ErrNoImage, err)
	default:
		return err
	}
}
