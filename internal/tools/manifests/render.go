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

// A Release is what is not in the manifests, since it is another each time.
type Release struct {
	// Image of the controller: a name with a tag, a digest, or both.
	Image string
	// Version is a label of all objects. It must be what a label's value can be.
	Version string
	// Runbooks is where docs/operating.md can be read, for the links of alerts. Default:
	// its path in the repository, which is no link.
	Runbooks string
}

// Render is what `kubectl kustomize` makes of the folder, for that release.
func Render(root string, release Release) ([]byte, error) {
	above, err := os.MkdirTemp("", "manifests-")
	if err != nil {
		return nil, fmt.Errorf("make a folder: %w", err)
	}
	defer os.RemoveAll(above) //nolint:errcheck // it is in the folder for what nobody needs
	text, err := kustomization(above, root, release)
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
func kustomization(above, root string, release Release) (string, error) {
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
	kind, links := "resources", ""
	if filepath.Base(filepath.Dir(root)) == "components" {
		kind, links = "components", linksTo(release.Runbooks)
	}
	return fmt.Sprintf(`apiVersion: kustomize.config.k8s.io/v1beta1
kind: Kustomization
%s: [%s]
images: [%s]
labels: [{includeSelectors: false, includeTemplates: true, pairs: {app.kubernetes.io/version: %q}}]
%s`, kind, path, imageOf(release.Image), release.Version, links), nil
}

// linksTo has each alert's runbook_url begin with that page: what is before the # is
// replaced.
func linksTo(page string) string {
	if page == "" {
		return ""
	}
	return fmt.Sprintf(`configMapGenerator:
- name: runbooks
  literals: [%q]
  options: {annotations: {config.kubernetes.io/local-config: "true"}}
replacements:
- source: {kind: ConfigMap, name: runbooks, fieldPath: data.page}
  targets:
  - select: {kind: PrometheusRule}
    fieldPaths: [spec.groups.*.rules.*.annotations.runbook_url]
    options: {delimiter: "#"}
`, "page="+page)
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
