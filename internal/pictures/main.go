// Pictures takes pictures of what Millrace shows of itself, for the documentation:
//
//	make pictures
//
// It runs the real program against a model of an API server, with a model of
// kubelets behind it, and people who create runs:
//
//	people ──runs──▶ model server ◀──▶ millrace ──/debug/pipeline──▶ Chromium ──▶ PNG
//	                     ▲                └──/metrics──▶ internal/tools/manifests/dashboard ──HTML──┘
//	                 model kubelets
//
// Of the live page (page.go) a headless Chromium takes them, wide and narrow, light and
// dark, and follows a key by the keyboard alone. With -serve nothing is taken, and the
// page stays up to be looked at.
//
// Of the dashboard (dashboard.go) it takes them after some minutes of a day that has
// something for each panel; what the panels show is asked of Prometheus' engine. That
// is a program of another module, since Millrace does not depend on it.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"time"
)

func main() {
	if err := run(); err != nil && !errors.Is(err, context.Canceled) {
		fmt.Fprintln(os.Stderr, "pictures:", err)
		os.Exit(1)
	}
}

func run() error {
	var tools tools
	flag.StringVar(&tools.millrace, "millrace", ".build/bin/millrace", "the program")
	flag.StringVar(&tools.drawer, "dashboard", ".build/bin/dashboard", "what draws the dashboard")
	flag.StringVar(&tools.browser, "browser", "chromium", "a Chromium")
	flag.StringVar(&tools.to, "to", "docs/pictures", "directory of the pictures")
	address := flag.String("address", "127.0.0.1:6061", "where the program serves its page")
	warm := flag.Duration("after", 20*time.Second, "how long people are at work before the first picture of the page")
	watch := flag.Duration("watch", 4*time.Minute, "how much time the dashboard shows")
	only := flag.String("only", "", "page or dashboard, to take the pictures of one alone")
	serve := flag.Bool("serve", false, "take none, and serve the page until interrupted")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if *only != "dashboard" || *serve {
		if err := page(ctx, tools, *address, *warm, *serve); err != nil || *serve {
			return err
		}
	}
	if *only == "page" {
		return nil
	}
	return dashboard(ctx, tools, *watch)
}

// tools are the programs that are run, and where the pictures go.
type tools struct{ millrace, drawer, browser, to string }
