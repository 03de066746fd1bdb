package faultproxy

import (
	"net/http"
	"net/http/httptest"
	"testing"
)

// A request of a connection that was accepted before the end may come after it.
func TestWhoComesWhenItIsOverIsTurnedAway(t *testing.T) {
	p := &Proxy{changed: make(chan struct{})}
	p.note(func() { p.over = true })
	defer func() {
		if broken := recover(); broken != http.ErrAbortHandler { //nolint:errorlint // the very value that a server knows
			t.Errorf("its connection is not broken off: %v", broken)
		}
		p.serving.Wait()
	}()
	p.serve(httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/", nil))
	t.Error("it is served")
}
