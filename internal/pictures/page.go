package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"millrace/crds"
)

// page takes pictures of the live page, or serves it.
func page(ctx context.Context, tools tools, address string, warm time.Duration, serve bool) error {
	// The world is there until the program has ended, which would complain without one.
	living, end := context.WithCancel(context.WithoutCancel(ctx))
	defer end()
	world, err := newWorld(living)
	if err != nil {
		return err
	}
	ctx, stop := context.WithCancel(ctx)
	ended, err := world.program(ctx, tools.millrace, "--bind-address=127.0.0.1:0", "--webhook-bind-address=", "--debug-bind-address="+address, "--leader-elect=false")
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
	time.AfterFunc(warm/2, func() { world.Server.RemoveCRD(crds.ResourceCustomRuns) })
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
	return pagePictures(ctx, tools, "http://"+address+"/debug/pipeline")
}

// itself is the error that the program has ended without being told to, with its own if it
// has one.
func itself(err error) error {
	if err == nil {
		return errors.New("the program has ended by itself")
	}
	return fmt.Errorf("the program has ended by itself: %w", err)
}

// pagePictures takes one for each width and scheme.
func pagePictures(ctx context.Context, tools tools, url string) error {
	b, err := open(ctx, tools.browser)
	if err != nil {
		return err
	}
	defer b.close()
	for _, width := range []int{375, 1280} {
		for _, scheme := range []string{"light", "dark"} {
			png, err := b.followed(ctx, url, width, scheme)
			if err != nil {
				return fmt.Errorf("%d px, %s: %w", width, scheme, err)
			}
			if err := tools.keep(fmt.Sprintf("pipeline-%d-%s.png", width, scheme), png); err != nil {
				return err
			}
		}
	}
	return nil
}

// keep writes a picture.
func (t tools) keep(name string, png []byte) error {
	if err := os.MkdirAll(t.to, 0o755); err != nil {
		return err
	}
	name = filepath.Join(t.to, name)
	if err := os.WriteFile(name, png, 0o644); err != nil {
		return err
	}
	fmt.Println(name, len(png), "bytes")
	return nil
}
