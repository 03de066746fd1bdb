package tracing

import (
	"fmt"
	"net/url"
	"strings"
)

// pair is one of a list that OpenTelemetry's variables have.
type pair struct{ name, value string }

// pairs reads name=value, the value URL-encoded, with commas or line ends between, as
// OTEL_EXPORTER_OTLP_HEADERS and OTEL_RESOURCE_ATTRIBUTES have it (W3C Baggage without
// properties). An error says which pair it is and no part of it: headers are secrets, and of
// a bare token there is no name to be told.
func pairs(text string, wanted func(pair) bool) (all []pair, err error) {
	for each := range strings.FieldsFuncSeq(text, func(r rune) bool { return r == ',' || r == '\n' }) {
		name, value, is := strings.Cut(each, "=")
		value, err := url.PathUnescape(strings.TrimSpace(value))
		p := pair{strings.TrimSpace(name), value}
		if !is || p.name == "" || err != nil || !wanted(p) {
			return nil, fmt.Errorf("pair %d: want name=value, the value URL-encoded", len(all)+1)
		}
		all = append(all, p)
	}
	return all, nil
}
