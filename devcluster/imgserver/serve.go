package main

import (
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"log"
	"net/http"
	"path"
	"strings"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// errNotFound is the answer to a name or digest that the server does not have.
var errNotFound = errors.New("not found")

// registry answers pulls from a store.
type registry struct{ store store }

// ServeHTTP answers GET and HEAD of /v2/, /v2/<name>/manifests/<tag or digest>
// and /v2/<name>/blobs/<digest>.
func (r registry) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	if req.Method != http.MethodGet && req.Method != http.MethodHead {
		refuse(w, http.StatusMethodNotAllowed, "UNSUPPORTED")
		return
	}
	rest, ok := strings.CutPrefix(req.URL.Path, "/v2/")
	if !ok {
		refuse(w, http.StatusNotFound, "NAME_UNKNOWN")
		return
	}
	var err error
	if rest == "" {
		return // 200: this is a registry, and it asks for no log-in
	} else if repository, reference, ok := cutLast(rest, "/manifests/"); ok {
		err = r.manifest(w, req, repository, reference)
	} else if _, digest, ok := cutLast(rest, "/blobs/"); ok {
		err = r.blob(w, req, digest)
	} else {
		err = errNotFound
	}
	if errors.Is(err, errNotFound) || errors.Is(err, fs.ErrNotExist) {
		refuse(w, http.StatusNotFound, "MANIFEST_UNKNOWN")
	} else if err != nil {
		log.Printf("imgserver: %s %s: %v", req.Method, req.URL, err)
		refuse(w, http.StatusInternalServerError, "UNKNOWN")
	}
}

// refuse answers in the form that the distribution specification gives errors.
func refuse(w http.ResponseWriter, status int, code string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, `{"errors":[{"code":"`+code+`"}]}`)
}

// cutLast cuts around the last separator: a repository may be named like one.
func cutLast(s, separator string) (before, after string, ok bool) {
	i := strings.LastIndex(s, separator)
	if i < 0 {
		return "", "", false
	}
	return s[:i], s[i+len(separator):], true
}

func (r registry) manifest(w http.ResponseWriter, req *http.Request, repository, reference string) error {
	// containerd names the registry that a mirror stands in for
	if host := req.URL.Query().Get("ns"); host != "" {
		repository = host + "/" + repository
	}
	digest, err := v1.NewHash(reference)
	if err != nil {
		if digest, err = r.resolve(repository, reference); err != nil {
			return err
		}
	}
	f, err := r.store.open(digest)
	if err != nil {
		return err
	}
	defer f.Close() //nolint:errcheck // opened for reading
	mediaType, err := mediaTypeOf(f)
	if err != nil {
		return err
	}
	return send(w, req, f, digest, mediaType)
}

func (r registry) blob(w http.ResponseWriter, req *http.Request, reference string) error {
	digest, err := v1.NewHash(reference)
	if err != nil {
		return errNotFound
	}
	f, err := r.store.open(digest)
	if err != nil {
		return err
	}
	defer f.Close() //nolint:errcheck // opened for reading
	return send(w, req, f, digest, "application/octet-stream")
}

// resolve finds the digest that a tag stands for: what was loaded under it, or
// else one of the server's own images.
func (r registry) resolve(repository, tag string) (v1.Hash, error) {
	for _, candidate := range []string{repository + ":" + tag, fallback(repository)} {
		if candidate == "" {
			break
		}
		ref, err := name.NewTag(candidate)
		if err != nil {
			return v1.Hash{}, errNotFound
		}
		d, ok, err := r.store.find(ref)
		if err != nil || ok {
			return d.Digest, err
		}
	}
	return v1.Hash{}, errNotFound
}

func fallback(repository string) string {
	switch {
	case strings.Contains(repository, "no-such"):
		return ""
	case path.Base(repository) == "pause":
		return pauseName
	}
	return baseName
}

// mediaTypeOf reads what kind of manifest this is, which a client must be told
// beside the bytes. An index from before the field was usual shows by its list.
func mediaTypeOf(manifest io.ReadSeeker) (types.MediaType, error) {
	var head struct {
		MediaType types.MediaType   `json:"mediaType"`
		Manifests []json.RawMessage `json:"manifests"`
	}
	if err := json.NewDecoder(manifest).Decode(&head); err != nil {
		return "", err
	}
	if _, err := manifest.Seek(0, io.SeekStart); err != nil {
		return "", err
	}
	switch {
	case head.MediaType != "":
		return head.MediaType, nil
	case head.Manifests != nil:
		return types.OCIImageIndex, nil
	}
	return types.OCIManifestSchema1, nil
}

func send(w http.ResponseWriter, req *http.Request, data io.ReadSeeker, digest v1.Hash, mediaType types.MediaType) error {
	w.Header().Set("Content-Type", string(mediaType))
	w.Header().Set("Docker-Content-Digest", digest.String())
	w.Header().Set("ETag", `"`+digest.String()+`"`)
	http.ServeContent(w, req, "", time.Time{}, data) // ranges, so that a pull can go on where it broke off
	return nil
}
