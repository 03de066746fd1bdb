package simulation

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"testing"

	"millrace/internal/simulation/turnstile"
)

// tripper answers every request with an error, and counts them.
type tripper struct {
	err  error
	sent int
}

func (t *tripper) RoundTrip(*http.Request) (*http.Response, error) {
	t.sent++
	return nil, t.err
}

// A read is sent twice if its connection is an old one, which is so of about half
// of them, and of the same ones each time; a write never, nor what was not sent.
func TestAReadByAnOldConnectionIsSentAgain(t *testing.T) {
	const requests = 200
	sent := func(method string, err error) (each [requests]int) {
		next := &tripper{err: err}
		o := newOldConnections(next, turnstile.Seed(7), "millrace-0.1")
		for i := range requests {
			req, _ := http.NewRequestWithContext(t.Context(), method, fmt.Sprint("http://apiserver/api/v1/pods/", i%20), nil)
			if resp, got := o.RoundTrip(req); got == nil {
				_ = resp.Body.Close()
				t.Fatal("no error")
			}
			each[i], next.sent = next.sent, 0
		}
		return each
	}
	twice := func(each [requests]int) (n int) {
		for _, sent := range each {
			n += sent - 1
		}
		return n
	}
	lost := errors.New("EOF")
	reads := sent(http.MethodGet, lost)
	if n := twice(reads); n < requests/3 || n > 2*requests/3 {
		t.Errorf("%d of %d reads are sent twice", n, requests)
	}
	if reads != sent(http.MethodGet, lost) {
		t.Error("others the next time")
	}
	if n := twice(sent(http.MethodPatch, lost)); n != 0 {
		t.Errorf("%d writes are sent twice", n)
	}
	refused := &net.OpError{Op: "dial", Err: os.ErrDeadlineExceeded}
	if n := twice(sent(http.MethodGet, refused)); n != 0 {
		t.Errorf("%d reads are sent again where nobody can be dialed", n)
	}
}
