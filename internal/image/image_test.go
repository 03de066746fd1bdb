package main

import (
	"archive/tar"
	"bytes"
	"context"
	"debug/elf"
	"errors"
	"io"
	"log"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"github.com/google/go-containerregistry/pkg/v1/validate"
)

// source makes a module that stands for ours, in a folder of its own.
func source(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	write(t, filepath.Join(dir, "go.mod"), "module millrace\n\ngo 1.26.0\n")
	write(t, filepath.Join(dir, "main.go"), "package main\n\nvar version string\n\nfunc main() { println(version) }\n")
	write(t, filepath.Join(dir, "entrypoint", "main.go"), "package main\n\nfunc main() {}\n")
	return dir
}

func write(t *testing.T, file, content string) {
	t.Helper()
	must(t, os.MkdirAll(filepath.Dir(file), 0o755))
	must(t, os.WriteFile(file, []byte(content), 0o644))
}

// bundle is what passes for CA certificates.
func bundle(t *testing.T) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "ca.crt")
	write(t, file, "-----BEGIN CERTIFICATE-----\n")
	return file
}

// made builds into a new folder, and returns it with what was printed.
func made(t *testing.T, args ...string) (dir, said string) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "layout")
	var out strings.Builder
	args = append([]string{"-out", dir, "-version", "v1.2.3", "-ca", bundle(t)}, args...)
	must(t, run(t.Context(), args, &out))
	return dir, out.String()
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func digest(t *testing.T, dir string) string {
	t.Helper()
	index, err := readLayout(dir)
	must(t, err)
	d, err := index.Digest()
	must(t, err)
	return d.String()
}

// images are the images of a layout by platform.
func images(t *testing.T, index v1.ImageIndex) map[string]v1.Image {
	t.Helper()
	manifest, err := index.IndexManifest()
	must(t, err)
	found := map[string]v1.Image{}
	for _, each := range manifest.Manifests {
		image, err := index.Image(each.Digest)
		must(t, err)
		found[each.Platform.String()] = image
	}
	return found
}

// What is in the image, for each platform: two static programs, certificates,
// and a user who is nobody.
func TestTheImage(t *testing.T) {
	dir, said := made(t, "-module", source(t), "-revision", "abc", "-source", "https://example.com/millrace")
	index, err := readLayout(dir)
	must(t, err)
	must(t, validate.Index(index))

	machines := map[string]elf.Machine{"linux/amd64": elf.EM_X86_64, "linux/arm64": elf.EM_AARCH64}
	all := images(t, index)
	if len(all) != len(machines) {
		t.Errorf("platforms: %v", all)
	}
	for platform, machine := range machines {
		image, is := all[platform]
		if !is {
			t.Errorf("no image for %s", platform)
			continue
		}
		checkConfig(t, image, platform)
		checkFiles(t, image, machine)
	}
	for _, want := range []string{"linux/amd64", "linux/arm64", "entrypoint", "MB packed", digest(t, dir) + "  v1.2.3"} {
		if !strings.Contains(said, want) {
			t.Errorf("did not print %q:\n%s", want, said)
		}
	}
}

func checkConfig(t *testing.T, image v1.Image, platform string) {
	t.Helper()
	file, err := image.ConfigFile()
	must(t, err)
	if got := file.Platform().String(); got != platform {
		t.Errorf("configuration is for %s, the index says %s", got, platform)
	}
	if !file.Created.Equal(time.Unix(0, 0)) {
		t.Errorf("created %v", file.Created)
	}
	if file.Config.User != "65532:65532" || strings.Join(file.Config.Entrypoint, " ") != "/millrace" {
		t.Errorf("user %q, entrypoint %q", file.Config.User, file.Config.Entrypoint)
	}
	for label, want := range map[string]string{"title": "millrace", "version": "v1.2.3", "revision": "abc", "source": "https://example.com/millrace"} {
		if got := file.Config.Labels["org.opencontainers.image."+label]; got != want {
			t.Errorf("label %s is %q, want %q", label, got, want)
		}
	}
	media, err := image.MediaType()
	must(t, err)
	if media != types.OCIManifestSchema1 {
		t.Errorf("media type %s", media)
	}
}

func checkFiles(t *testing.T, image v1.Image, machine elf.Machine) {
	t.Helper()
	modes := map[string]int64{
		"etc": 0o755, "etc/group": 0o444, "etc/passwd": 0o444, "etc/ssl": 0o755, "etc/ssl/certs": 0o755,
		"etc/ssl/certs/ca-certificates.crt": 0o444, "entrypoint": 0o555, "millrace": 0o555,
	}
	content := mutate.Extract(image)
	defer content.Close()
	for r := tar.NewReader(content); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		must(t, err)
		mode, wanted := modes[h.Name]
		if !wanted || h.Mode != mode || h.Uid != 0 || h.Gid != 0 || !h.ModTime.Equal(time.Unix(0, 0)) {
			t.Errorf("%s: mode %o, user %d, time %v, should be there: %v", h.Name, h.Mode, h.Uid, h.ModTime, wanted)
		}
		delete(modes, h.Name)
		if mode == 0o555 {
			checkStatic(t, h.Name, r, machine)
		}
	}
	for missing := range modes {
		t.Errorf("%s is missing", missing)
	}
}

func checkStatic(t *testing.T, name string, r io.Reader, machine elf.Machine) {
	t.Helper()
	content, err := io.ReadAll(r)
	must(t, err)
	program, err := elf.NewFile(bytes.NewReader(content))
	must(t, err)
	if program.Machine != machine {
		t.Errorf("%s is for %v, not %v", name, program.Machine, machine)
	}
	for _, segment := range program.Progs {
		if segment.Type == elf.PT_INTERP {
			t.Errorf("%s needs a loader", name)
		}
	}
	if name == "millrace" && !bytes.Contains(content, []byte("v1.2.3")) {
		t.Error("the program does not know its version")
	}
}

// crane, skopeo and ctr find one index in the layout, by its name.
func TestTheLayoutHasOneNamedIndex(t *testing.T) {
	dir, _ := made(t, "-module", source(t), "-tag", "latest", "-platform", "linux/amd64")
	root, err := layout.ImageIndexFromPath(dir)
	must(t, err)
	must(t, validate.Index(root))
	manifest, err := root.IndexManifest()
	must(t, err)
	if len(manifest.Manifests) != 1 || !manifest.Manifests[0].MediaType.IsIndex() ||
		manifest.Manifests[0].Annotations["org.opencontainers.image.ref.name"] != "latest" {
		t.Errorf("%+v", manifest.Manifests)
	}
}

// Neither the folder of the source nor the hour of the build is in the image;
// what is asked to be in it is.
func TestSameInputsSameDigest(t *testing.T) {
	only := []string{"-platform", "linux/amd64", "-module"}
	build := func(module string, args ...string) string {
		dir, _ := made(t, append(append(only, module), args...)...)
		return digest(t, dir)
	}
	first := build(source(t))
	time.Sleep(1100 * time.Millisecond) // a tar header counts in seconds
	if second := build(source(t)); second != first {
		t.Errorf("%s, then %s", first, second)
	}
	if other := build(source(t), "-revision", "abc"); other == first {
		t.Error("another revision, the same digest")
	}
	t.Setenv("SOURCE_DATE_EPOCH", "1700000000")
	dated := build(source(t))
	if dated == first || dated != build(source(t)) {
		t.Error("SOURCE_DATE_EPOCH is not what gives the image its time")
	}
}

// A second build replaces the first, and nothing of it is left.
func TestALayoutIsReplaced(t *testing.T) {
	module := source(t)
	dir, _ := made(t, "-module", module, "-platform", "linux/amd64")
	before := digest(t, dir)
	must(t, run(t.Context(), []string{"-out", dir, "-version", "v2", "-ca", bundle(t), "-module", module, "-platform", "linux/amd64"}, io.Discard))
	if digest(t, dir) == before {
		t.Error("not replaced")
	}
	blobs, err := filepath.Glob(filepath.Join(dir, "blobs", "sha256", "*"))
	must(t, err)
	if len(blobs) != 6 { // index, manifest, configuration, three layers
		t.Errorf("%d blobs", len(blobs))
	}
	if _, err := os.Stat(dir + ".part"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a part is left: %v", err)
	}
}

func TestPush(t *testing.T) {
	server := httptest.NewServer(registry.New(registry.Logger(log.New(io.Discard, "", 0))))
	defer server.Close()
	image := strings.TrimPrefix(server.URL, "http://") + "/ci/millrace:v1.2.3"
	dir, _ := made(t, "-module", source(t))
	var out strings.Builder
	must(t, run(t.Context(), []string{"push", dir, image}, &out))
	if !strings.Contains(out.String(), "/ci/millrace@"+digest(t, dir)) {
		t.Errorf("printed %q", out.String())
	}

	ref, err := name.ParseReference(image)
	must(t, err)
	index, err := remote.Index(ref)
	must(t, err)
	must(t, validate.Index(index))
	got, err := index.Digest()
	must(t, err)
	if got.String() != digest(t, dir) || len(images(t, index)) != 2 {
		t.Errorf("the registry has %s for %d platforms", got, len(images(t, index)))
	}
}

// What a person is told when it does not work.
func TestErrors(t *testing.T) {
	precious := t.TempDir()
	write(t, filepath.Join(precious, "thesis.txt"), "")
	broken := source(t)
	write(t, filepath.Join(broken, "main.go"), "package main\n\nfunc main() { oops() }\n")
	empty := t.TempDir()
	out := filepath.Join(t.TempDir(), "layout")
	ca := bundle(t)

	for name, c := range map[string]struct {
		says string
		args []string
	}{
		"nothing":             {"-out and -version are needed", nil},
		"unknown flag":        {"-colour", []string{"-colour", "blue"}},
		"stray argument":      {"1 arguments, not 0", []string{"-out", out, "-version", "v1", "extra"}},
		"Windows":             {`"windows/amd64"`, []string{"-out", out, "-version", "v1", "-platform", "windows/amd64"}},
		"no platform":         {`platform ""`, []string{"-out", out, "-version", "v1", "-platform", ""}},
		"not a layout":        {"is no OCI layout: not replacing it", []string{"-out", precious, "-version", "v1"}},
		"no certificates":     {"install the package ca-certificates", []string{"-out", out, "-version", "v1", "-ca", "/no/such/file"}},
		"no certificate":      {"holds no certificate", []string{"-out", out, "-version", "v1", "-ca", filepath.Join(broken, "go.mod")}},
		"does not build":      {"building . for linux/amd64", []string{"-out", out, "-version", "v1", "-ca", ca, "-module", broken}},
		"the compiler's word": {"undefined: oops", []string{"-out", out, "-version", "v1", "-ca", ca, "-module", broken}},
		"push without name":   {"1 arguments, not 2", []string{"push", out}},
		"push of nothing":     {"is no OCI layout", []string{"push", empty, "localhost:1/x"}},
	} {
		t.Run(name, func(t *testing.T) {
			err := run(context.Background(), c.args, io.Discard)
			if err == nil || !strings.Contains(err.Error(), c.says) {
				t.Errorf("got %v, want %q in it", err, c.says)
			}
		})
	}
	if _, err := os.Stat(filepath.Join(precious, "thesis.txt")); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(out); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a failed build left something: %v", err)
	}
	t.Setenv("SOURCE_DATE_EPOCH", "yesterday")
	if err := run(t.Context(), []string{"-out", out, "-version", "v1"}, io.Discard); err == nil || !strings.Contains(err.Error(), "SOURCE_DATE_EPOCH") {
		t.Error(err)
	}
}
