package main

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/random"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/remote/transport"
	"github.com/google/go-containerregistry/pkg/v1/validate"
)

// fixture is a server over a store with two small images in the place of the
// base images. Its host is what a client pulls from.
type fixture struct {
	t           *testing.T
	store       store
	host        string
	base, pause v1.Image
}

func newFixture(t *testing.T) fixture {
	t.Helper()
	s, err := openStore(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(registry{s})
	t.Cleanup(server.Close)
	f := fixture{t: t, store: s, host: strings.TrimPrefix(server.URL, "http://")}
	f.base, f.pause = f.image(), f.image()
	f.put(baseName, f.base)
	f.put(pauseName, f.pause)
	return f
}

func (f fixture) image() v1.Image {
	f.t.Helper()
	image, err := random.Image(1024, 2)
	if err != nil {
		f.t.Fatal(err)
	}
	return image
}

func (f fixture) put(image string, what mutate.Appendable) {
	f.t.Helper()
	tag, err := name.NewTag(image)
	if err != nil {
		f.t.Fatal(err)
	}
	if _, err := f.store.put(tag, what); err != nil {
		f.t.Fatal(err)
	}
}

// layoutOf writes an image or an index of images as an OCI layout that holds
// just that.
func (f fixture) layoutOf(what mutate.Appendable) string {
	f.t.Helper()
	dir := f.t.TempDir()
	if _, err := layout.Write(dir, mutate.AppendManifests(empty.Index, mutate.IndexAddendum{Add: what})); err != nil {
		f.t.Fatal(err)
	}
	return dir
}

func (f fixture) load(dir, image string) v1.Hash {
	f.t.Helper()
	loaded, err := load(f.store, dir, image)
	if err != nil {
		f.t.Fatal(err)
	}
	digest, err := v1.NewHash(loaded.DigestStr())
	if err != nil {
		f.t.Fatal(err)
	}
	return digest
}

// pull fetches an image from the server with a client of its own, checks that
// all of it is there and right, and returns its digest.
func (f fixture) pull(reference string) (v1.Hash, error) {
	f.t.Helper()
	ref, err := name.ParseReference(f.host + "/" + reference)
	if err != nil {
		f.t.Fatal(err)
	}
	got, err := remote.Get(ref)
	if err != nil {
		return v1.Hash{}, err
	}
	if got.MediaType.IsIndex() {
		index, err := got.ImageIndex()
		if err != nil {
			return v1.Hash{}, err
		}
		return got.Digest, validate.Index(index)
	}
	image, err := got.Image()
	if err != nil {
		return v1.Hash{}, err
	}
	return got.Digest, validate.Image(image)
}

func (f fixture) wantPull(reference string, want v1.Hash) {
	f.t.Helper()
	got, err := f.pull(reference)
	if err != nil {
		f.t.Errorf("pulling %s: %v", reference, err)
	} else if got != want {
		f.t.Errorf("pulling %s gave %s, want %s", reference, got, want)
	}
}

func (f fixture) wantNotFound(reference string) {
	f.t.Helper()
	got, err := f.pull(reference)
	var refused *transport.Error
	if !errors.As(err, &refused) || refused.StatusCode != http.StatusNotFound {
		f.t.Errorf("pulling %s gave %v and error %v, want a 404", reference, got, err)
	}
}

func digestOf(t *testing.T, what interface{ Digest() (v1.Hash, error) }) v1.Hash {
	t.Helper()
	digest, err := what.Digest()
	if err != nil {
		t.Fatal(err)
	}
	return digest
}

func TestAnyNameGivesTheBaseImage(t *testing.T) {
	f := newFixture(t)
	base := digestOf(t, f.base)
	for _, reference := range []string{"busybox", "library/alpine:3", "a/b/c/d:v1.2.3", "manifests/blobs/x:1"} {
		f.wantPull(reference, base)
	}
	f.wantPull("busybox@"+base.String(), base)
	f.wantPull("registry.k8s.io/pause:3.10", digestOf(t, f.pause))
}

func TestWhatDoesNotExistIsNotFound(t *testing.T) {
	f := newFixture(t)
	f.wantNotFound("some/no-such-image:1")
	f.wantNotFound("no-such/image:1")
	f.wantNotFound("busybox@sha256:" + strings.Repeat("0", 64))
}

func TestLoadedNameGivesWhatWasLoadedLast(t *testing.T) {
	f := newFixture(t)
	first := f.load(f.layoutOf(f.image()), "localhost/millrace:dev")
	f.wantPull("localhost/millrace:dev", first)
	second := f.load(f.layoutOf(f.image()), "localhost/millrace:dev")
	if first == second {
		t.Fatal("the two images are one")
	}
	f.wantPull("localhost/millrace:dev", second)
	f.wantPull("localhost/millrace@"+first.String(), first) // a pull that had resolved the name before
	f.wantPull("localhost/millrace:other", digestOf(t, f.base))
}

func TestIndexIsPulledWholeAndByPart(t *testing.T) {
	f := newFixture(t)
	index, err := random.Index(512, 1, 2)
	if err != nil {
		t.Fatal(err)
	}
	digest := f.load(f.layoutOf(index), "localhost/multi:1")
	if want := digestOf(t, index); digest != want {
		t.Errorf("loading gave digest %s, want the index's, %s", digest, want)
	}
	f.wantPull("localhost/multi:1", digest)
	f.wantPull("localhost/multi@"+digest.String(), digest)
	manifest, err := index.IndexManifest()
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range manifest.Manifests {
		f.wantPull("localhost/multi@"+d.Digest.String(), d.Digest)
	}
}

// A builder may write the images of several platforms straight into the
// layout's index.json, which is then the index itself.
func TestLayoutThatNamesSeveralImagesIsAnIndex(t *testing.T) {
	f := newFixture(t)
	index, err := random.Index(512, 1, 2)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if _, err := layout.Write(dir, index); err != nil {
		t.Fatal(err)
	}
	f.wantPull("localhost/flat:1", f.load(dir, "localhost/flat:1"))
}

func TestEmptyOrMissingLayoutIsRefused(t *testing.T) {
	f := newFixture(t)
	dir := t.TempDir()
	if _, err := load(f.store, dir, "localhost/x:1"); err == nil {
		t.Error("a folder without a layout was loaded")
	}
	if _, err := layout.Write(dir, empty.Index); err != nil {
		t.Fatal(err)
	}
	if _, err := load(f.store, dir, "localhost/x:1"); err == nil || !strings.Contains(err.Error(), "holds no image") {
		t.Errorf("loading an empty layout gave error %v", err)
	}
}

// containerd asks a mirror for the path without the registry, which it names
// in the query.
func TestMirrorKnowsTheRegistryItStandsFor(t *testing.T) {
	f := newFixture(t)
	local := f.load(f.layoutOf(f.image()), "localhost/app:1")
	hub := f.load(f.layoutOf(f.image()), "app:1") // docker.io/library/app:1
	for query, want := range map[string]v1.Hash{
		"app/manifests/1?ns=localhost":         local,
		"library/app/manifests/1?ns=docker.io": hub,
		"app/manifests/1?ns=quay.io":           digestOf(t, f.base),
	} {
		answer, err := http.Head("http://" + f.host + "/v2/" + query)
		if err != nil {
			t.Fatal(err)
		}
		if err := answer.Body.Close(); err != nil {
			t.Fatal(err)
		}
		if got := answer.Header.Get("Docker-Content-Digest"); got != want.String() {
			t.Errorf("%s gave %q, want %s", query, got, want)
		}
	}
}

func TestNothingIsTakenFromClients(t *testing.T) {
	f := newFixture(t)
	ref, err := name.ParseReference(f.host + "/localhost/pushed:1")
	if err != nil {
		t.Fatal(err)
	}
	if err := remote.Write(ref, f.image()); err == nil {
		t.Error("a push was taken")
	}
}

func TestPullMeetsAWholeIndexWhileOthersLoad(t *testing.T) {
	f := newFixture(t)
	const name = "localhost/busy:1"
	layouts := []string{f.layoutOf(f.image()), f.layoutOf(f.image())}
	f.load(layouts[0], name)
	var loading sync.WaitGroup
	loading.Go(func() {
		for i := range 50 {
			if _, err := load(f.store, layouts[i%2], name); err != nil {
				t.Error(err)
			}
		}
	})
	for range 50 {
		if _, err := f.pull(name); err != nil {
			t.Error(err)
		}
	}
	loading.Wait()
}

func TestEqualFilesGiveAnEqualDigest(t *testing.T) {
	build := func() string {
		tree := newTree()
		tree.dir("bin", 0o755)
		tree.file("bin/x", 0o755, []byte("program"))
		tree.link("bin/y", "x")
		image, err := tree.image(v1.Config{Cmd: []string{"x"}})
		if err != nil {
			t.Fatal(err)
		}
		if err := validate.Image(image, validate.Fast); err != nil { // it is not gzip, which the slow check expects
			t.Fatal(err)
		}
		return fmt.Sprint(digestOf(t, image))
	}
	if a, b := build(), build(); a != b {
		t.Errorf("the same files gave %s and %s", a, b)
	}
}
