package dialogue

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// width is what fits on a line.
const width = 110

// printed is a value in YAML, as much on a line as fits.
func printed(value any) string {
	var out strings.Builder
	printTo(&out, "", value)
	return strings.TrimSpace(out.String())
}

// printTo goes on after a key or a dash.
func printTo(out *strings.Builder, indent string, value any) {
	flat := inline(value)
	object, isObject := value.(map[string]any)
	list, isList := value.([]any)
	switch {
	case len(indent)+len(flat) <= width || !isObject && !isList:
		out.WriteString(" " + flat)
	case isObject:
		for _, key := range slices.Sorted(maps.Keys(object)) {
			out.WriteString("\n" + indent + plain(key) + ":")
			printTo(out, indent+"  ", object[key])
		}
	default:
		for _, each := range list {
			out.WriteString("\n" + indent + "-")
			printTo(out, indent+"  ", each)
		}
	}
}

func inline(value any) string {
	switch x := value.(type) {
	case map[string]any:
		all := make([]string, 0, len(x))
		for _, key := range slices.Sorted(maps.Keys(x)) {
			all = append(all, plain(key)+": "+inline(x[key]))
		}
		return "{" + strings.Join(all, ", ") + "}"
	case []any:
		all := make([]string, 0, len(x))
		for _, each := range x {
			all = append(all, inline(each))
		}
		return "[" + strings.Join(all, ", ") + "]"
	case string:
		return plain(x)
	case nil:
		return "null"
	default:
		return fmt.Sprint(value) // a number, true, false
	}
}

var unquoted = regexp.MustCompile(`^[A-Za-z…/][\w./+…-]*$`)

// plain leaves the quotes off where YAML needs none.
func plain(text string) string {
	switch {
	case text == "true" || text == "false" || text == "null":
	case unquoted.MatchString(text):
		return text
	}
	return strconv.Quote(text)
}
