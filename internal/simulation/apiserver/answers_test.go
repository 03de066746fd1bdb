package apiserver_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"

	"millrace/internal/simulation/apiserver"
)

// A request of a connection that was accepted before the end may come after it.
func TestWhoComesWhenItIsOverIsTurnedAway(t *testing.T) {
	s := apiserver.New(apiserver.Config{})
	ctx, stop := context.WithCancel(t.Context())
	stop()
	if err := s.Run(ctx); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if broken := recover(); broken != http.ErrAbortHandler { //nolint:errorlint // the very value that a server knows
			t.Errorf("its connection is not broken off: %v", broken)
		}
	}()
	s.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/version", nil))
	t.Error("it is served")
}
