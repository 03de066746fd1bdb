package wire

import (
	"cmp"
	"fmt"
	"strings"
)

// CompareResourceVersions says whether a is older than (-1), the same as (0) or
// newer than (+1) b, by the rule of KEP-5504: a resourceVersion is a decimal
// number without leading zero and of any length, so the longer one is newer and
// equal lengths compare as text. It is never read into an int64: nothing
// promises that it fits.
//
// The order means something only within one resource of one server. A server
// that was restored from a backup hands out old numbers again. Anything that is
// no such number, "" and "0" included, is an error.
func CompareResourceVersions(a, b string) (int, error) {
	for _, v := range [...]string{a, b} {
		if !wellFormed(v) {
			return 0, fmt.Errorf("compare resourceVersions: %q is not a positive decimal number", v)
		}
	}
	if len(a) != len(b) {
		return cmp.Compare(len(a), len(b)), nil
	}
	return strings.Compare(a, b), nil
}

func wellFormed(v string) bool {
	if v == "" || v[0] == '0' {
		return false
	}
	for i := range len(v) {
		if v[i] < '0' || v[i] > '9' {
			return false
		}
	}
	return true
}
