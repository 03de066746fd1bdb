package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/kustomize/kyaml/filesys"
)

// tree is manifests/, seen from here.
const tree = "../../../manifests"

// Overlays are the folders that are rendered, by the names of their files: those of
// overlays, the component for monitoring, and the CRDs, which the overlay of a namespace
// is without.
func Overlays(tree string) (map[string]string, error) {
	entries, err := os.ReadDir(filepath.Join(tree, "overlays"))
	if err != nil {
		return nil, fmt.Errorf("list the overlays: %w", err)
	}
	found := map[string]string{
		"crds":       filepath.Join(tree, "..", "crds"),
		"monitoring": filepath.Join(tree, "components", "monitoring"),
	}
	for _, e := range entries {
		found[e.Name()] = filepath.Join(tree, "overlays", e.Name())
	}
	return found, nil
}

// Render is what `kubectl kustomize` makes of the folder, with that image for the
// controller (a name with a tag, a digest, or both), and that version as a label of all
// objects. The version must be what a label's value can be.
func Render(root, image, version string) ([]byte, error) {
	above, err := os.MkdirTemp("", "manifests-")
	if err != nil {
		return nil, fmt.Errorf("make a folder: %w", err)
	}
	defer os.RemoveAll(above) //nolint:errcheck // it is in the folder for what nobody needs
	text, err := kustomization(above, root, image, version)
	if err != nil {
		return nil, err
	}
	if err := os.WriteFile(filepath.Join(above, "kustomization.yaml"), []byte(text), 0o644); err != nil {
		return nil, fmt.Errorf("write a kustomization: %w", err)
	}
	return build(above)
}

// build is `kubectl kustomize`.
func build(root string) ([]byte, error) {
	options := krusty.MakeDefaultOptions()
	options.PluginConfig = types.DisabledPluginConfig()
	objects, err := krusty.MakeKustomizer(options).Run(filesys.MakeFsOnDisk(), root)
	if err != nil {
		return nil, fmt.Errorf("kustomize %s: %w", root, err)
	}
	text, err := objects.AsYaml()
	if err != nil {
		return nil, fmt.Errorf("kustomize %s: %w", root, err)
	}
	return text, nil
}

// kustomization is what a user writes above one of ours, in the folder above. It names
// ours by a relative path, for kustomize takes no other.
func kustomization(above, root, image, version string) (string, error) {
	root, err := filepath.Abs(root)
	if err != nil {
		return "", fmt.Errorf("find %s: %w", root, err)
	}
	above, err = filepath.EvalSymlinks(above) // on some systems the folder for temporary files is one
	if err != nil {
		return "", fmt.Errorf("find %s: %w", above, err)
	}
	path, err := filepath.Rel(above, root)
	if err != nil {
		return "", fmt.Errorf("find %s: %w", root, err)
	}
	kind := "resources"
	if filepath.Base(filepath.Dir(root)) == "components" {
		kind = "components"
	}
	return fmt.Sprintf(`apiVersion: kustomize.config.k8s.io/v1beta1
kind: Kustomization
%s: [%s]
images: [%s]
labels: [{includeSelectors: false, includeTemplates: true, pairs: {app.kubernetes.io/version: %q}}]
`, kind, path, imageOf(image), version), nil
}

// imageOf is how a kustomization names an image. A tag is what follows the last
// colon, unless that is the port of a registry; with a digest, a tag adds nothing.
func imageOf(image string) string {
	name, digest, pinned := strings.Cut(image, "@")
	tag := "latest"
	if colon := strings.LastIndex(name, ":"); colon > strings.LastIndex(name, "/") {
		name, tag = name[:colon], name[colon+1:]
	}
	if pinned {
		return fmt.Sprintf("{name: millrace, newName: %q, digest: %q}", name, digest)
	}
	return fmt.Sprintf("{name: millrace, newName: %q, newTag: %q}", name, tag)
}
