package main

import (
	"archive/tar"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// user is who the image runs as: nobody in particular, by the number that
// distroless images made usual, so that runAsNonRoot can see it.
const user = 65532

//nolint:gosec // it is what /etc/passwd holds, no password in it
const passwd = `root:x:0:0:root:/:/sbin/nologin
nonroot:x:65532:65532:nonroot:/:/sbin/nologin
`

const group = `root:x:0:
nonroot:x:65532:
`

// bundles are where distributions keep their CA certificates: Debian and Alpine,
// Fedora, openSUSE.
var bundles = []string{ //nolint:gochecknoglobals // a list, never written
	"/etc/ssl/certs/ca-certificates.crt",
	"/etc/pki/tls/certs/ca-bundle.crt",
	"/etc/ssl/ca-bundle.pem",
}

// certificates reads the CA bundle. Without one the controller could ask no
// registry for an image's command, so an image without it is not made.
func certificates(bundle string) ([]byte, error) {
	candidates := bundles
	if bundle != "" {
		candidates = []string{bundle}
	}
	for _, file := range candidates {
		content, err := os.ReadFile(file)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err == nil && !bytes.Contains(content, []byte("BEGIN CERTIFICATE")) {
			err = fmt.Errorf("%s holds no certificate", file)
		}
		return content, err
	}
	return nil, fmt.Errorf("no CA certificates in %s: install the package ca-certificates or name a file with -ca", strings.Join(candidates, ", "))
}

// file is one regular file of a layer. All files are root's and nobody's to
// write.
type file struct {
	name    string // absolute
	mode    int64
	content []byte
}

// layerOf packs files, with the directories above them, at one time, in the
// order of their names.
func layerOf(at time.Time, files ...file) (v1.Layer, error) {
	var packed bytes.Buffer
	w := tar.NewWriter(&packed)
	slices.SortFunc(files, func(a, b file) int { return strings.Compare(a.name, b.name) })
	made := map[string]bool{"/": true}
	for _, f := range files {
		if err := makeDirs(w, at, path.Dir(f.name), made); err != nil {
			return nil, err
		}
		h := tar.Header{Typeflag: tar.TypeReg, Name: f.name[1:], Mode: f.mode, Size: int64(len(f.content)), ModTime: at}
		if err := w.WriteHeader(&h); err != nil {
			return nil, err
		}
		if _, err := w.Write(f.content); err != nil {
			return nil, err
		}
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	open := func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(packed.Bytes())), nil }
	return tarball.LayerFromOpener(open, tarball.WithMediaType(types.OCILayer), tarball.WithCompressedCaching)
}

func makeDirs(w *tar.Writer, at time.Time, dir string, made map[string]bool) error {
	if made[dir] {
		return nil
	}
	if err := makeDirs(w, at, path.Dir(dir), made); err != nil {
		return err
	}
	made[dir] = true
	return w.WriteHeader(&tar.Header{Typeflag: tar.TypeDir, Name: dir[1:] + "/", Mode: 0o755, ModTime: at})
}
