package main

import (
	"bytes"
	"fmt"

	"golang.org/x/tools/go/packages"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-tools/pkg/crd"
	crdmarkers "sigs.k8s.io/controller-tools/pkg/crd/markers"
	"sigs.k8s.io/controller-tools/pkg/loader"
	"sigs.k8s.io/controller-tools/pkg/markers"
	"sigs.k8s.io/yaml"
)

const header = "# Made from the Go types of this folder by `make crds`; edit those.\n"

// Generate returns the content of each CustomResourceDefinition file, by name.
// folder is that of package crds.
func Generate(folder string) (map[string][]byte, error) {
	definitions, err := definitions(folder)
	if err != nil {
		return nil, err
	}
	files := make(map[string][]byte, len(definitions))
	for _, definition := range definitions {
		content, err := encode(definition)
		if err != nil {
			return nil, fmt.Errorf("encode %s: %w", definition.Name, err)
		}
		files[definition.Spec.Group+"_"+definition.Spec.Names.Plural+".yaml"] = content
	}
	return files, nil
}

func definitions(folder string) ([]apiextensionsv1.CustomResourceDefinition, error) {
	pkg, err := load(folder)
	if err != nil {
		return nil, err
	}
	parser, err := newParser()
	if err != nil {
		return nil, err
	}
	parser.NeedPackage(pkg)
	kinds := crd.FindKubeKinds(parser, crd.FindMetav1([]*loader.Package{pkg}))
	if err := parseAndTrim(parser, pkg, kinds); err != nil {
		return nil, err
	}

	var found []apiextensionsv1.CustomResourceDefinition
	for _, kind := range kinds {
		parser.NeedCRDFor(kind, nil)
		definition := parser.CustomResourceDefinitions[kind]
		if err := finish(&definition); err != nil {
			return nil, fmt.Errorf("%s: %w", kind, err)
		}
		found = append(found, definition)
	}
	if loader.PrintErrors([]*loader.Package{pkg}, packages.TypeError) {
		return nil, fmt.Errorf("the types in %s do not make a schema", folder)
	}
	return found, nil
}

func load(folder string) (*loader.Package, error) {
	roots, err := loader.LoadRootsWithConfig(&packages.Config{Dir: folder}, ".")
	if err != nil {
		return nil, fmt.Errorf("load the package in %s: %w", folder, err)
	}
	if len(roots) != 1 {
		return nil, fmt.Errorf("load the package in %s: found %d", folder, len(roots))
	}
	return roots[0], nil
}

func newParser() (*crd.Parser, error) {
	registry := &markers.Registry{}
	if err := crdmarkers.Register(registry); err != nil {
		return nil, fmt.Errorf("register markers: %w", err)
	}
	parser := &crd.Parser{
		Collector:                  &markers.Collector{Registry: registry},
		Checker:                    &loader.TypeChecker{NodeFilters: []loader.NodeFilter{crd.Generator{}.CheckFilter()}},
		GenerateEmbeddedObjectMeta: true,
	}
	crd.AddKnownTypes(parser)
	return parser, nil
}

// encode writes a definition as YAML, without the empty status that the Go type
// insists on.
func encode(definition apiextensionsv1.CustomResourceDefinition) ([]byte, error) {
	object, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&definition)
	if err != nil {
		return nil, err
	}
	delete(object, "status")
	text, err := yaml.Marshal(object)
	if err != nil {
		return nil, err
	}
	return bytes.Join([][]byte{[]byte(header), text}, nil), nil
}
