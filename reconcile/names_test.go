package reconcile_test

import (
	"strings"
	"testing"

	"millrace/reconcile"
)

// The middle of a shortened name is the MD5 sum of the parent, here of sixty letters;
// of both, where the suffix leaves no room for a part of the parent.
func TestChildName(t *testing.T) {
	for _, c := range []struct{ parent, suffix, want string }{
		{"short", "-pod", "short-pod"},
		{strings.Repeat("a", 59), "-pod", strings.Repeat("a", 59) + "-pod"},
		{strings.Repeat("a", 60), "-pod", strings.Repeat("a", 27) + "cc7ed669cf88f201c3297c6a91e1d18d-pod"},
		{"run", "-" + strings.Repeat("b", 61), "run" + "cafb24f7a06f88c853ce23f6b7943c9f" + "-" + strings.Repeat("b", 27)},
	} {
		got := reconcile.ChildName(c.parent, c.suffix)
		if got != c.want || len(got) > reconcile.MaxName {
			t.Errorf("%s%s: %s, want %s", c.parent, c.suffix, got, c.want)
		}
	}
}

func TestChildrenOfLongParentsDiffer(t *testing.T) {
	for _, suffix := range []string{"-pod", "-" + strings.Repeat("x", 40)} {
		a, b := strings.Repeat("a", 70)+"1", strings.Repeat("a", 70)+"2"
		if reconcile.ChildName(a, suffix) == reconcile.ChildName(b, suffix) {
			t.Error("two parents have one child")
		}
	}
	if reconcile.ChildName("run", "-"+strings.Repeat("x", 62)+"1") == reconcile.ChildName("run", "-"+strings.Repeat("x", 62)+"2") {
		t.Error("two children have one name")
	}
}
