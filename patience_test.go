package main

import (
	"context"
	"errors"
	"io"
	"net/http"
	"testing"
	"testing/synctest"
	"time"
)

// tardy answers after a while, with a body that goes on for a while.
type tardy struct{ answer, body time.Duration }

func (t tardy) RoundTrip(req *http.Request) (*http.Response, error) {
	select {
	case <-time.After(t.answer):
	case <-req.Context().Done():
		return nil, req.Context().Err()
	}
	read, write := io.Pipe()
	go func() {
		select {
		case <-time.After(t.body):
			write.Close() //nolint:errcheck // of a pipe
		case <-req.Context().Done():
			write.CloseWithError(req.Context().Err())
		}
	}()
	return &http.Response{StatusCode: http.StatusOK, Body: read}, nil
}

func TestAnAnswerHasToBeginAndMayGoOn(t *testing.T) {
	for name, c := range map[string]struct {
		server tardy
		want   error
		after  time.Duration
	}{
		"slow":         {tardy{answer: 44 * time.Second}, nil, 44 * time.Second},
		"goes on":      {tardy{answer: time.Second, body: 5 * time.Minute}, nil, 5*time.Minute + time.Second},
		"never begins": {tardy{answer: time.Hour}, errNoAnswer, answerWithin},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://server/", nil)
				if err != nil {
					t.Fatal(err)
				}
				from := time.Now()
				resp, err := patience(c.server).RoundTrip(req)
				if err == nil {
					_, err = io.ReadAll(resp.Body)
					resp.Body.Close() //nolint:errcheck // all of it was read
				}
				if !errors.Is(err, c.want) || time.Since(from) != c.after {
					t.Errorf("after %v: %v; want %v after %v", time.Since(from), err, c.want, c.after)
				}
			})
		})
	}
}

func TestWhoGivesUpFirstIsNotToldOfTheServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://server/", nil)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := patience(tardy{answer: time.Hour}).RoundTrip(req)
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
		if resp != nil {
			resp.Body.Close() //nolint:errcheck // there should be none
		}
	})
}
