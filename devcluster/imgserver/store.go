package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/partial"
)

// refName is the annotation by which an OCI layout names the images in its
// index (OCI image specification, annotations).
const refName = "org.opencontainers.image.ref.name"

// store is one OCI layout on disk. A reader sees a whole index at any time:
// blobs are written before the index names them, and the index is replaced in
// one step. Writers must not meet; load-image.sh takes a lock for that.
type store struct{ path layout.Path }

// openStore opens the layout in the folder, or makes an empty one there.
func openStore(dir string) (store, error) {
	path, err := layout.FromPath(dir)
	if errors.Is(err, fs.ErrNotExist) {
		path, err = layout.Write(dir, empty.Index)
	}
	if err != nil {
		return store{}, fmt.Errorf("opening the OCI layout %s: %w", dir, err)
	}
	return store{path}, nil
}

// index reads what the layout holds by name.
func (s store) index() (*v1.IndexManifest, error) {
	ii, err := s.path.ImageIndex()
	if err != nil {
		return nil, err
	}
	return ii.IndexManifest()
}

// find returns the descriptor of the image loaded under the tag; false when
// there is none.
func (s store) find(tag name.Tag) (v1.Descriptor, bool, error) {
	index, err := s.index()
	if err != nil {
		return v1.Descriptor{}, false, err
	}
	for _, d := range index.Manifests {
		if d.Annotations[refName] == tag.Name() {
			return d, true, nil
		}
	}
	return v1.Descriptor{}, false, nil
}

// put stores an image or an index of images under the tag, in place of what
// had the tag before.
func (s store) put(tag name.Tag, image mutate.Appendable) (v1.Hash, error) {
	if err := s.writeBlobs(image); err != nil {
		return v1.Hash{}, err
	}
	d, err := partial.Descriptor(image)
	if err != nil {
		return v1.Hash{}, err
	}
	d.Annotations = map[string]string{refName: tag.Name()}
	index, err := s.index()
	if err != nil {
		return v1.Hash{}, err
	}
	kept := []v1.Descriptor{*d}
	for _, other := range index.Manifests {
		if other.Annotations[refName] != tag.Name() {
			kept = append(kept, other)
		}
	}
	index.Manifests = kept
	return d.Digest, s.replaceIndex(index)
}

func (s store) writeBlobs(image mutate.Appendable) error {
	switch image := image.(type) {
	case v1.ImageIndex:
		return s.path.WriteIndex(image)
	case v1.Image:
		return s.path.WriteImage(image)
	}
	return fmt.Errorf("%T is neither an image nor an index", image)
}

func (s store) replaceIndex(index *v1.IndexManifest) error {
	raw, err := json.MarshalIndent(index, "", "  ")
	if err != nil {
		return err
	}
	// layout's own writer truncates the file first, and a pull could meet it empty
	next := filepath.Join(string(s.path), "index.json.next")
	if err := os.WriteFile(next, raw, 0o644); err != nil {
		return err
	}
	return os.Rename(next, filepath.Join(string(s.path), "index.json"))
}

// open opens the blob of a digest; fs.ErrNotExist when the layout has none.
func (s store) open(digest v1.Hash) (*os.File, error) {
	return os.Open(filepath.Join(string(s.path), "blobs", digest.Algorithm, digest.Hex))
}
