package inspect

import (
	"reflect"
	"strings"
)

// tags is the names that a struct's fields have in JSON.
func tags[T any]() (names []string) {
	for _, f := range reflect.VisibleFields(reflect.TypeFor[T]()) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		names = append(names, name)
	}
	return names
}
