package wire_test

import (
	"slices"
	"testing"

	"millrace/wire"
)

func TestAPathIsReadAsItIsWritten(t *testing.T) {
	tests := map[string]wire.Path{
		`status`:                 {"status"},
		`metadata.managedFields`: {"metadata", "managedFields"},
		`metadata.annotations["kubectl.kubernetes.io/last-applied-configuration"]`: {"metadata", "annotations", "kubectl.kubernetes.io/last-applied-configuration"},
		`["a.b"].c`:          {"a.b", "c"},
		`["a.b"]["c.d"].e.f`: {"a.b", "c.d", "e", "f"},
	}
	for text, want := range tests {
		got, err := wire.ParsePath(text)
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: %q, %v", text, got, err)
		}
		if want.String() != text {
			t.Errorf("%q is written %s, want %s", want, want, text)
		}
	}
}

func TestWhatIsNoPathIsRefused(t *testing.T) {
	for _, text := range []string{``, `.`, `a.`, `.a`, `a..b`, `a[`, `a["b`, `a[""]`, `a[b]`, `a["b"]c`} {
		if p, err := wire.ParsePath(text); err == nil {
			t.Errorf("%q was read as %q", text, p)
		}
	}
}
