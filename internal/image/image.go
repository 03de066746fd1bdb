package main

import (
	"context"
	"strconv"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// part is one layer, for one platform or for all.
type part struct {
	what  string
	layer v1.Layer
	plain int // bytes of its files
}

// parts are the layers of an image, what changes least first, so that a node
// that has an older image fetches the controller only.
func parts(ctx context.Context, c config, bundle []byte, p v1.Platform) ([]part, error) {
	entrypoint, err := compile(ctx, c, "./entrypoint", p)
	if err != nil {
		return nil, err
	}
	controller, err := compile(ctx, c, ".", p)
	if err != nil {
		return nil, err
	}
	var all []part
	for _, each := range []struct {
		what  string
		files []file
	}{
		{"base", []file{
			{"/etc/group", 0o444, []byte(group)},
			{"/etc/passwd", 0o444, []byte(passwd)},
			{"/etc/ssl/certs/ca-certificates.crt", 0o444, bundle},
		}},
		{"entrypoint", []file{{"/entrypoint", 0o555, entrypoint}}},
		{"millrace", []file{{"/millrace", 0o555, controller}}},
	} {
		layer, err := layerOf(c.time, each.files...)
		if err != nil {
			return nil, err
		}
		size := 0
		for _, f := range each.files {
			size += len(f.content)
		}
		all = append(all, part{each.what, layer, size})
	}
	return all, nil
}

// imageOf puts layers and configuration together.
func imageOf(c config, p v1.Platform, all []part) (v1.Image, error) {
	base := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	adds := make([]mutate.Addendum, 0, len(all))
	for _, each := range all {
		adds = append(adds, mutate.Addendum{
			Layer:   each.layer,
			History: v1.History{Created: v1.Time{Time: c.time}, CreatedBy: "millrace/internal/image: " + each.what},
		})
	}
	image, err := mutate.Append(base, adds...)
	if err != nil {
		return nil, err
	}
	file, err := image.ConfigFile()
	if err != nil {
		return nil, err
	}
	file = file.DeepCopy()
	file.OS, file.Architecture, file.Variant = p.OS, p.Architecture, p.Variant
	file.Created = v1.Time{Time: c.time}
	file.Config = v1.Config{
		User:       strconv.Itoa(user) + ":" + strconv.Itoa(user),
		Entrypoint: []string{"/millrace"},
		WorkingDir: "/",
		Labels:     labels(c),
	}
	return mutate.ConfigFile(image, file)
}

// labels are those of the OCI image specification that we can fill.
func labels(c config) map[string]string {
	all := map[string]string{
		"org.opencontainers.image.title":    "millrace",
		"org.opencontainers.image.version":  c.version,
		"org.opencontainers.image.licenses": "Apache-2.0",
	}
	if c.revision != "" {
		all["org.opencontainers.image.revision"] = c.revision
	}
	if c.source != "" {
		all["org.opencontainers.image.source"] = c.source
	}
	return all
}
