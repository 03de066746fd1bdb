package main

import (
	"fmt"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
)

// load takes the image of the OCI layout in dir into the store under the
// image name, and returns the reference by digest that will always mean it.
func load(s store, dir, image string) (name.Digest, error) {
	tag, err := name.NewTag(image)
	if err != nil {
		return name.Digest{}, err
	}
	from, err := rootOf(dir)
	if err != nil {
		return name.Digest{}, err
	}
	digest, err := s.put(tag, from)
	if err != nil {
		return name.Digest{}, err
	}
	return tag.Digest(digest.String()), nil
}

// rootOf returns what a layout is made to carry: the one image or index that
// its index.json names. When that names several, it is a multi-arch index
// itself.
func rootOf(dir string) (mutate.Appendable, error) {
	index, err := layout.ImageIndexFromPath(dir)
	if err != nil {
		return nil, err
	}
	manifest, err := index.IndexManifest()
	if err != nil {
		return nil, err
	}
	switch len(manifest.Manifests) {
	case 0:
		return nil, fmt.Errorf("%s holds no image", dir)
	case 1:
		d := manifest.Manifests[0]
		if d.MediaType.IsIndex() {
			return index.ImageIndex(d.Digest)
		}
		return index.Image(d.Digest)
	}
	return index, nil
}
