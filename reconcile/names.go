package reconcile

import (
	"crypto/md5" //nolint:gosec // a checksum in names, see ChildName
	"encoding/hex"
	"strings"
)

// MaxName is how long the value of a label can be, and so a name that becomes one.
const MaxName = 63

// ChildName is parent+suffix when that is a legal label, else a shorter name that no
// other parent and suffix have. It is Tekton's rule to the letter (MD5 included, as a
// checksum and not for secrecy): children must keep their names when a cluster moves
// from one controller to the other. The same arguments give the same name, so that
// making a child twice is making it once.
func ChildName(parent, suffix string) string {
	const room = MaxName - 2*md5.Size // beside the sum
	switch {
	case len(parent)+len(suffix) <= MaxName:
		return parent + suffix
	case len(suffix) < room:
		return parent[:room-len(suffix)] + sum(parent) + suffix
	}
	name := parent[:min(len(parent), room)] + sum(parent+suffix)
	if left := MaxName - len(name); left > 0 {
		name += suffix[:left]
	}
	return strings.TrimRight(name, "-._")
}

func sum(text string) string {
	digest := md5.Sum([]byte(text)) //nolint:gosec // see ChildName
	return hex.EncodeToString(digest[:])
}
