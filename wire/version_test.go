package wire_test

import (
	"math/big"
	"testing"

	"k8s.io/apimachinery/pkg/util/resourceversion"

	"millrace/wire"
)

func TestResourceVersionsCompareAsNumbersOfAnyLength(t *testing.T) {
	ordered := []string{"1", "2", "9", "10", "99", "100", "9223372036854775807", "9223372036854775808", "99999999999999999999999999999999999999999"}
	for i, a := range ordered {
		for j, b := range ordered {
			got, err := wire.CompareResourceVersions(a, b)
			x, _ := new(big.Int).SetString(a, 10)
			y, _ := new(big.Int).SetString(b, 10)
			if err != nil || got != x.Cmp(y) {
				t.Errorf("%s and %s (%d, %d): %d, %v", a, b, i, j, got, err)
			}
		}
	}
}

func FuzzCompareResourceVersions(f *testing.F) {
	for _, s := range []string{"", "0", "1", "01", "-1", "1.0", " 1", "12", "9223372036854775808", "é"} {
		f.Add(s, "12")
		f.Add("7", s)
	}
	f.Fuzz(func(t *testing.T, a, b string) {
		got, err := wire.CompareResourceVersions(a, b)
		want, wantErr := resourceversion.CompareResourceVersion(a, b)
		if got != want || (err != nil) != (wantErr != nil) {
			t.Errorf("%q, %q: %d, %v; upstream says %d, %v", a, b, got, err, want, wantErr)
		}
	})
}
