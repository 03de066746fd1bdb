package faultproxy_test

import (
	"strings"
	"testing"
	"time"

	"millrace/internal/faultproxy"
)

// A certificate that has expired, and one of an authority that the client has never
// heard of, are refused; the next one is looked at by the next connection.
func TestCertificatesAreRotated(t *testing.T) {
	w := newWorld(t)
	stranger, err := faultproxy.NewAuthority()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		of    *faultproxy.Authority
		until time.Duration
		want  string // empty: an answer
	}{
		{w.Authority(), -time.Minute, "certificate has expired"},
		{w.Authority(), time.Hour, ""},
		{stranger, time.Hour, "unknown authority"},
		{w.Authority(), time.Hour, ""},
	} {
		if err := w.Present(c.of, time.Now().Add(c.until)); err != nil {
			t.Fatal(err)
		}
		w.client.CloseIdleConnections()
		code, text := w.ask("GET", pods+"/a", "")
		if c.want == "" && code != 200 || !strings.Contains(text, c.want) {
			t.Errorf("a certificate that is good for %s, of the authority that is believed: %t: %d %s, want %q", c.until, c.of == w.Authority(), code, text, c.want)
		}
	}
}
