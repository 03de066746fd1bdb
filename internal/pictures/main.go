// Pictures shows the live page at work, and takes pictures of it for the
// documentation:
//
//	make build && go run ./internal/pictures
//
// It runs the real program against a model of an API server, with a model of
// kubelets behind it, and people who create runs; then a headless Chromium opens
// /debug/pipeline, wide and narrow, light and dark, and follows a key by the
// keyboard alone. With -serve nothing is taken, and the page stays up to be looked at.
//
//	people ──runs──▶ model server ◀──▶ millrace ──/debug/pipeline──▶ Chromium ──▶ PNG
//	                     ▲
//	                 model kubelets
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"time"

	"millrace/crds"
)

func main() {
	if err := run(); err != nil && !errors.Is(err, context.Canceled) {
		fmt.Fprintln(os.Stderr, "pictures:", err)
		os.Exit(1)
	}
}

func run() error {
	binary := flag.String("millrace", ".build/bin/millrace", "the program")
	to := flag.String("to", "docs/pictures", "directory of the pictures")
	browser := flag.String("browser", "chromium", "a Chromium")
	address := flag.String("address", "127.0.0.1:6061", "where the program serves its page")
	warm := flag.Duration("after", 20*time.Second, "how long people are at work before the first picture")
	serve := flag.Bool("serve", false, "take none, and serve the page until interrupted")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	return show(ctx, *binary, *address, *browser, *to, *warm, *serve)
}

func show(ctx context.Context, binary, address, browser, to string, warm time.Duration, serve bool) error {
	// The world is there until the program has ended, which would complain without one.
	living, end := context.WithCancel(context.WithoutCancel(ctx))
	defer end()
	world, err := newWorld(living)
	if err != nil {
		return err
	}
	ctx, stop := context.WithCancel(ctx)
	ended, err := world.program(ctx, binary, address)
	if err != nil {
		stop()
		return err
	}
	defer func() {
		stop()
		for range ended { // it was interrupted, and closes the channel
		}
	}()
	go world.people(ctx)
	// Something is wrong, too: somebody has removed the CRD of CustomRuns.
	time.AfterFunc(warm/2, func() { world.server.RemoveCRD(crds.ResourceCustomRuns) })
	if serve {
		fmt.Printf("http://%s/debug/pipeline\n", address)
		select {
		case <-ctx.Done():
			return nil
		case err := <-ended:
			return itself(err)
		}
	}
	select {
	case <-time.After(warm):
	case err := <-ended:
		return itself(err)
	}
	return pictures(ctx, browser, "http://"+address+"/debug/pipeline", to)
}

// itself is the error that the program has ended without being told to, with its own if it
// has one.
func itself(err error) error {
	if err == nil {
		return errors.New("the program has ended by itself")
	}
	return fmt.Errorf("the program has ended by itself: %w", err)
}

// pictures takes one for each width and scheme.
func pictures(ctx context.Context, browser, url, to string) error {
	if err := os.MkdirAll(to, 0o755); err != nil {
		return err
	}
	b, err := open(ctx, browser)
	if err != nil {
		return err
	}
	defer b.close()
	for _, width := range []int{375, 1280} {
		for _, scheme := range []string{"light", "dark"} {
			png, err := b.picture(ctx, url, width, scheme)
			if err != nil {
				return fmt.Errorf("%d px, %s: %w", width, scheme, err)
			}
			name := filepath.Join(to, fmt.Sprintf("pipeline-%d-%s.png", width, scheme))
			if err := os.WriteFile(name, png, 0o644); err != nil {
				return err
			}
			fmt.Println(name, len(png), "bytes")
		}
	}
	return nil
}
