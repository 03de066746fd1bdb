package main

import (
	"context"
	"fmt"
	"io"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/remote"
)

// push uploads the layout in dir, for all its platforms, as image. Who may is
// what `docker login` has left in ~/.docker/config.json.
func push(ctx context.Context, dir, image string, insecure bool, out io.Writer) error {
	index, err := readLayout(dir)
	if err != nil {
		return err
	}
	var options []name.Option
	if insecure {
		options = append(options, name.Insecure)
	}
	ref, err := name.ParseReference(image, options...)
	if err != nil {
		return err
	}
	if err := remote.WriteIndex(ref, index, remote.WithContext(ctx), remote.WithAuthFromKeychain(authn.DefaultKeychain)); err != nil {
		return fmt.Errorf("pushing %s: %w", ref, err)
	}
	digest, err := index.Digest()
	if err != nil {
		return err
	}
	return row(out, "pushed", ref.Context().Name()+"@"+digest.String()+"  "+ref.Identifier())
}
