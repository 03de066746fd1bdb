// Tour shows one object's life as it goes through every stage of the chain: no cluster
// is needed, only a model of an API server in this process.
//
//	make tour          the whole of it
//	make tour STEP=1   waits for Enter after each step, but not while the server is away:
//	                   there the reflector goes by the clock
//	make tour WEB=1    as a page, beside the live page of the chain
//
// What is printed is what the stages say while they do it: the story in life.txt has
// the sentences and the commands, and what came of them when it was written down is
// not read here. A test plays it, and what the stages say has to come out as it is written:
// in a bubble of synctest, and in real time until the server is away.
package main

import (
	"bufio"
	"context"
	_ "embed"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"os"
	"os/signal"
	"syscall"
	"time"

	"k8s.io/klog/v2"

	"millrace/internal/chaintest"
)

//go:embed life.txt
var life string

func main() {
	flags := flag.NewFlagSet("tour", flag.ExitOnError) // of its own: datadriven has some, too
	step := flags.Bool("step", false, "wait for Enter after each step, but for those while the server is away")
	address := flags.String("web", "", "host:port to serve the tour on, as a page")
	_ = flags.Parse(os.Args[1:]) // ExitOnError
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	s := stage{out: os.Stdout, style: styleOf(os.Stdout)}
	if *step {
		s.enter = bufio.NewReader(os.Stdin)
	}
	err := s.tour(ctx, *address)
	stop()
	if err != nil && !errors.Is(err, context.Canceled) {
		fmt.Fprintln(os.Stderr, "tour:", err)
		os.Exit(1)
	}
}

// A stage is where a story is played.
type stage struct {
	out   io.Writer
	style style
	enter *bufio.Reader // nil: without a pause
}

// tour is the whole of it, here or as a page.
func (s stage) tour(ctx context.Context, address string) error {
	if address == "" {
		return s.play(ctx, life)
	}
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", address)
	if err != nil {
		return fmt.Errorf("-web %s: %w", address, err)
	}
	if _, err := fmt.Fprintf(s.out, "the tour is at http://%s/ until Ctrl-C\n", listener.Addr()); err != nil {
		return err
	}
	return web(ctx, listener, life)
}

// play plays a story in real time.
func (s stage) play(ctx context.Context, story string) error {
	scenes, err := read(story)
	if err != nil {
		return err
	}
	ctx, stop := context.WithCancel(klog.NewContext(ctx, klog.Logger{})) // what would be logged, the story tells
	var w *chaintest.World
	w = chaintest.New(func() { wait(ctx, w.CaughtUp) })
	over := make(chan error, 1)
	go func() { over <- w.Run(ctx) }()
	for i, scene := range scenes {
		if i > 0 && !w.Away() {
			err = s.pause()
		}
		if err == nil {
			err = s.show(ctx, w, scene)
		}
		if err != nil {
			break
		}
	}
	stop()
	return errors.Join(err, <-over)
}

// wait waits until something is so, or ctx has ended.
func wait(ctx context.Context, isSo func() bool) {
	for tick := time.NewTicker(time.Millisecond); !isSo(); {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

func (s stage) show(ctx context.Context, w *chaintest.World, scene scene) error {
	said, err := w.Do(ctx, scene.command)
	if err != nil {
		return err
	}
	_, err = io.WriteString(s.out, s.style.scene(scene, said))
	return err
}

func (s stage) pause() error {
	if s.enter == nil {
		return nil
	}
	_, err := io.WriteString(s.out, s.style.in("sentence", "Enter ↵ "))
	_, _ = s.enter.ReadString('\n') // without one, it goes on by itself
	return err
}
