package main

import (
	"context"
	"fmt"
	"io"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// build makes the image for all platforms, writes the layout and tells on out
// what came of it.
func build(ctx context.Context, c config, out io.Writer) error {
	if err := replaceable(c.out); err != nil {
		return err // before minutes of compiling
	}
	bundle, err := certificates(c.bundle)
	if err != nil {
		return err
	}
	index := mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	for _, p := range c.platforms {
		all, err := parts(ctx, c, bundle, p)
		if err != nil {
			return err
		}
		image, err := imageOf(c, p, all)
		if err != nil {
			return fmt.Errorf("putting the image for %s together: %w", p.String(), err)
		}
		if err := tell(out, p, all); err != nil {
			return err
		}
		index = mutate.AppendManifests(index, mutate.IndexAddendum{Add: image, Descriptor: v1.Descriptor{Platform: &p}})
	}
	if err := writeLayout(c.out, c.tag, index); err != nil {
		return fmt.Errorf("writing the layout %s: %w", c.out, err)
	}
	digest, err := index.Digest()
	if err != nil {
		return err
	}
	return row(out, "digest", digest.String()+"  "+c.tag)
}

// tell prints the sizes of an image's layers: as files, and packed.
func tell(out io.Writer, p v1.Platform, all []part) error {
	for _, each := range all {
		packed, err := each.layer.Size()
		if err != nil {
			return err
		}
		if err := row(out, p.String(), fmt.Sprintf("%-12s %6.2f MB  %6.2f MB packed", each.what, megabytes(int64(each.plain)), megabytes(packed))); err != nil {
			return err
		}
	}
	return nil
}

func megabytes(bytes int64) float64 { return float64(bytes) / 1e6 }

func row(out io.Writer, name, text string) error {
	_, err := fmt.Fprintf(out, "%-14s %s\n", name, strings.TrimRight(text, " "))
	return err
}
