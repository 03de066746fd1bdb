package conversion

// annotationOf returns an annotation, and whether there is one of that name.
func annotationOf(object map[string]any, name string) (string, bool) {
	metadata, _ := object["metadata"].(map[string]any)
	annotations, _ := metadata["annotations"].(map[string]any)
	text, ok := annotations[name].(string)
	return text, ok
}

// setAnnotation needs an object that has metadata, as Convert sees to.
func setAnnotation(object map[string]any, name, text string) {
	child(object, "metadata", func(metadata map[string]any) {
		annotations, ok := metadata["annotations"].(map[string]any)
		if !ok {
			annotations = map[string]any{}
			metadata["annotations"] = annotations
		}
		annotations[name] = text
	})
}

// deleteAnnotation takes an annotation out, and the field that held it if it was
// the last.
func deleteAnnotation(object map[string]any, name string) {
	if _, ok := annotationOf(object, name); !ok {
		return
	}
	child(object, "metadata", func(metadata map[string]any) {
		child(metadata, "annotations", func(annotations map[string]any) { delete(annotations, name) })
	})
	dropEmptyAnnotations(object)
}

func dropEmptyAnnotations(object map[string]any) {
	child(object, "metadata", func(metadata map[string]any) {
		if annotations, _ := metadata["annotations"].(map[string]any); len(annotations) == 0 {
			delete(metadata, "annotations")
		}
	})
}

func annotationsSize(object map[string]any) (size int) {
	metadata, _ := object["metadata"].(map[string]any)
	annotations, _ := metadata["annotations"].(map[string]any)
	for name, value := range annotations {
		text, _ := value.(string)
		size += len(name) + len(text)
	}
	return size
}
