package main

import (
	"archive/tar"
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/static"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// The names under which the images that the server makes itself stand in the
// store. Any name that was not loaded falls back to one of them.
const (
	baseName  = "localhost/base:1"
	pauseName = "localhost/pause:1"
)

func putBaseImages(s store, pauseFile string) error {
	for image, make := range map[string]func() (v1.Image, error){
		baseName:  busyboxImage,
		pauseName: func() (v1.Image, error) { return pauseImage(pauseFile) },
	} {
		tag, err := name.NewTag(image)
		if err != nil {
			return err
		}
		built, err := make()
		if err != nil {
			return fmt.Errorf("%s: %w", image, err)
		}
		if _, err := s.put(tag, built); err != nil {
			return fmt.Errorf("%s: %w", image, err)
		}
	}
	return nil
}

func pauseImage(file string) (v1.Image, error) {
	program, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	t := newTree()
	t.file("pause", 0o755, program)
	return t.image(v1.Config{Entrypoint: []string{"/pause"}, User: "65535:65535"})
}

// entrypoint does what those of many public images of a shell or an interpreter
// do: arguments that begin with a dash are for the shell, others are a command.
const entrypoint = `#!/bin/sh
case $1 in -*) set -- sh "$@" ;; esac
exec "$@"
`

// busyboxImage is made of this machine's static busybox and bash, so it needs
// no download: a shell, the usual tools by their usual names, and little else.
func busyboxImage() (v1.Image, error) {
	busybox, err := os.ReadFile("/bin/busybox")
	if err != nil {
		return nil, err
	}
	bash, err := os.ReadFile("/bin/bash-static")
	if err != nil {
		return nil, err
	}
	applets, err := exec.Command("/bin/busybox", "--list").Output()
	if err != nil {
		return nil, fmt.Errorf("busybox --list: %w", err)
	}
	t := newTree()
	for dir := range strings.FieldsSeq("bin dev etc home lib mnt opt proc root sys usr usr/bin var var/run") {
		t.dir(dir, 0o755)
	}
	t.dir("tmp", 0o1777)
	t.file("etc/passwd", 0o644, []byte("root:x:0:0:root:/root:/bin/sh\nnobody:x:65534:65534:nobody:/:/bin/false\n"))
	t.file("etc/group", 0o644, []byte("root:x:0:\nnogroup:x:65534:\n"))
	t.file("etc/os-release", 0o644, []byte("ID=devcluster\nNAME=\"devcluster busybox and bash\"\n"))
	t.file("bin/busybox", 0o755, busybox)
	t.file("bin/bash", 0o755, bash)
	for _, applet := range slices.Sorted(strings.FieldsSeq(string(applets))) {
		if applet != "busybox" && applet != "bash" {
			t.link("bin/"+applet, "busybox")
		}
	}
	t.link("usr/bin/env", "/bin/busybox")
	t.file("entrypoint.sh", 0o755, []byte(entrypoint))
	t.link("usr/bin/bash", "/bin/bash")
	return t.image(v1.Config{
		Entrypoint: []string{"/entrypoint.sh"},
		Cmd:        []string{"sh"},
		Env:        []string{"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"},
	})
}

// tree gathers the files of a one-layer image. It keeps the first error.
type tree struct {
	layer *bytes.Buffer
	tar   *tar.Writer
	err   error
}

func newTree() *tree {
	layer := new(bytes.Buffer)
	return &tree{layer: layer, tar: tar.NewWriter(layer)}
}

func (t *tree) dir(path string, mode int64) {
	t.add(&tar.Header{Name: path + "/", Mode: mode, Typeflag: tar.TypeDir}, nil)
}

func (t *tree) file(path string, mode int64, data []byte) {
	t.add(&tar.Header{Name: path, Mode: mode, Size: int64(len(data)), Typeflag: tar.TypeReg}, data)
}

func (t *tree) link(path, to string) {
	t.add(&tar.Header{Name: path, Linkname: to, Mode: 0o777, Typeflag: tar.TypeSymlink}, nil)
}

func (t *tree) add(h *tar.Header, data []byte) {
	if t.err == nil {
		t.err = t.tar.WriteHeader(h)
	}
	if t.err == nil {
		_, t.err = t.tar.Write(data)
	}
}

// image ends the layer, uncompressed since it never leaves the machine, and
// makes an image of it. Equal files give an equal digest: nothing in it
// depends on when it was made.
func (t *tree) image(config v1.Config) (v1.Image, error) {
	if t.err == nil {
		t.err = t.tar.Close()
	}
	if t.err != nil {
		return nil, t.err
	}
	image := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	image, err := mutate.AppendLayers(image, static.NewLayer(t.layer.Bytes(), types.OCIUncompressedLayer))
	if err != nil {
		return nil, err
	}
	file, err := image.ConfigFile()
	if err != nil {
		return nil, err
	}
	file.OS, file.Architecture, file.Config = "linux", runtime.GOARCH, config
	file.Created = v1.Time{Time: time.Unix(0, 0).UTC()}
	return mutate.ConfigFile(image, file)
}
