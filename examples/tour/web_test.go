package main

import (
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"
)

// The page plays the same story, a scene at a time, and shows the chain beside it.
func TestThePagePlaysTheStory(t *testing.T) {
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "localhost:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	over := make(chan error, 1)
	go func() {
		over <- web(ctx, listener, "# A beginning.\nserver set taskrun/a\n----\n\nstart taskruns\n----\n\nstep taskruns all\n----\n\nserver down\n----\n\nserver up\n----\n\nshow queue\n----\n")
	}()
	base := "http://" + listener.Addr().String()
	client := &http.Client{Timeout: time.Minute}
	ask := func(method, path string) (string, http.Header) {
		t.Helper()
		request, err := http.NewRequestWithContext(ctx, method, base+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		answer, err := client.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = answer.Body.Close() }()
		body, err := io.ReadAll(answer.Body)
		if err != nil || answer.StatusCode != http.StatusOK {
			t.Fatalf("%s %s: %s %v: %s", method, path, answer.Status, err, body)
		}
		return string(body), answer.Header
	}

	page, _ := ask("GET", "/")
	for _, of := range []string{"tour.css", "tour.js", "debug/pipeline"} {
		if !strings.Contains(page, of) {
			t.Errorf("the page has no %s", of)
		}
		ask("GET", "/"+of)
	}
	if strings.Contains(page, "://") {
		t.Error("the page needs something from elsewhere")
	}
	if _, header := ask("GET", "/debug/pipeline"); !strings.Contains(header.Get("Content-Security-Policy"), "frame-ancestors 'self'") {
		t.Errorf("the live page may not be shown in ours: %s", header)
	}

	var story shownStory
	for i, want := range []int{1, 2, 3, 5, 6, 6} { // without a stop while the server is away, nor behind the end
		told, _ := ask("POST", "/next")
		if err := json.Unmarshal([]byte(told), &story); err != nil {
			t.Fatal(err)
		}
		if len(story.Played) != want {
			t.Errorf("%d scenes were played after %d times, want %d", len(story.Played), i+1, want)
		}
	}
	if story.Of != 6 || story.Played[0].Sentences[0] != "A beginning." || !strings.Contains(story.Played[2].Said[0], "create n/a u1") {
		t.Errorf("%+v", story)
	}
	stop()
	if err := <-over; err != nil {
		t.Error(err)
	}
	client.CloseIdleConnections()
}
