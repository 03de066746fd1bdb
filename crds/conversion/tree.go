package conversion

// child calls visit with a field of an object, if that is an object.
func child(m map[string]any, field string, visit func(map[string]any)) {
	if value, ok := m[field].(map[string]any); ok {
		visit(value)
	}
}

// each calls visit with the elements of a field that is a list, those that are objects.
func each(m map[string]any, field string, visit func(map[string]any)) {
	elements, _ := m[field].([]any)
	for _, element := range elements {
		if value, ok := element.(map[string]any); ok {
			visit(value)
		}
	}
}

func clone(value any) any {
	switch value := value.(type) {
	case map[string]any:
		return cloneMap(value)
	case []any:
		copied := make([]any, len(value))
		for i := range value {
			copied[i] = clone(value[i])
		}
		return copied
	default:
		return value
	}
}

func cloneMap(m map[string]any) map[string]any {
	copied := make(map[string]any, len(m))
	for name, value := range m {
		copied[name] = clone(value)
	}
	return copied
}

// equal compares JSON: a number is the same however it was decoded.
func equal(a, b any) bool {
	switch a := a.(type) {
	case map[string]any:
		b, ok := b.(map[string]any)
		return ok && equalMaps(a, b)
	case []any:
		b, ok := b.([]any)
		return ok && equalLists(a, b)
	case int64, float64:
		return number(a) == number(b) && number(b) != nil
	case nil, string, bool:
		return a == b
	default:
		return false // no JSON
	}
}

func equalMaps(a, b map[string]any) bool {
	if len(a) != len(b) {
		return false
	}
	for name, value := range a {
		other, ok := b[name]
		if !ok || !equal(value, other) {
			return false
		}
	}
	return true
}

func equalLists(a, b []any) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if !equal(a[i], b[i]) {
			return false
		}
	}
	return true
}

// number returns a number in the one form that it has of each value.
func number(value any) any {
	if f, ok := value.(float64); ok {
		if i := int64(f); float64(i) == f {
			return i
		}
		return f
	}
	if i, ok := value.(int64); ok {
		return i
	}
	return nil
}

// isObject tells whether a value is an object, or none at all.
func isObject(value any) bool {
	_, ok := value.(map[string]any)
	return ok || value == nil
}

// isTexts tells whether a value is an object of texts, or none at all.
func isTexts(value any) bool {
	if !isObject(value) {
		return false
	}
	m, _ := value.(map[string]any)
	for _, each := range m {
		if _, ok := each.(string); !ok {
			return false
		}
	}
	return true
}
