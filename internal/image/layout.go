package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
)

// refName names an image within a layout (OCI image specification).
const refName = "org.opencontainers.image.ref.name"

// replaceable refuses to replace a folder that is something else than a layout.
func replaceable(dir string) error {
	entries, err := os.ReadDir(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist), err == nil && len(entries) == 0:
		return nil
	case err != nil:
		return err
	}
	if _, err := os.Stat(filepath.Join(dir, "oci-layout")); err != nil {
		return fmt.Errorf("%s is there and is no OCI layout: not replacing it", dir)
	}
	return nil
}

// writeLayout replaces dir by a layout that holds one index under one name. It
// is written beside dir first, so that who stops half-way has the old one.
func writeLayout(dir, tag string, index v1.ImageIndex) error {
	half := dir + ".part"
	if err := os.RemoveAll(half); err != nil {
		return err
	}
	path, err := layout.Write(half, empty.Index)
	if err != nil {
		return err
	}
	if err := path.AppendIndex(index, layout.WithAnnotations(map[string]string{refName: tag})); err != nil {
		return err
	}
	if err := os.RemoveAll(dir); err != nil {
		return err
	}
	return os.Rename(half, dir)
}

// readLayout returns the index that writeLayout wrote.
func readLayout(dir string) (v1.ImageIndex, error) {
	root, err := layout.ImageIndexFromPath(dir)
	if err != nil {
		return nil, fmt.Errorf("%s is no OCI layout: %w", dir, err)
	}
	manifest, err := root.IndexManifest()
	if err != nil {
		return nil, err
	}
	if n := len(manifest.Manifests); n != 1 {
		return nil, fmt.Errorf("%s holds %d images, not one", dir, n)
	}
	return root.ImageIndex(manifest.Manifests[0].Digest)
}
