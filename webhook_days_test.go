//go:build !race

// Six days of a cluster take most of a minute under the race detector; make sim-few plays
// them without. What replaces a certificate runs under it in webhook/certificate.

package main

import (
	"testing"
	"time"

	"millrace/internal/simulation/apiserver"
)

func TestTheCertificateIsReplacedBeforeItExpires(t *testing.T) {
	install(t, apiserver.Config{}, func(i *installed) {
		for day := range 6 { // the first is replaced on the fifth
			time.Sleep(24 * time.Hour)
			if got := i.ready(); got != "200 OK ok" {
				t.Fatalf("on day %d: %s", day+1, got)
			}
			for holder, bundle := range i.bundles() {
				if _, err := i.validate(bundle, `{}`); err != nil {
					t.Fatalf("on day %d, by what %s trusts: %v", day+1, holder, err)
				}
			}
		}
	})
}
