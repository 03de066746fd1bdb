// Command dashboard draws the dashboard of manifests/components/monitoring with what was
// scraped, for the pictures of the documentation (internal/pictures takes them):
//
//	SCRAPES/<pod>/<milliseconds>.txt ──▶ scrapes ──▶ Prometheus' engine ◀──queries── dashboard.json
//	                                                        │                            │
//	                                                   every sample         grid, titles, units, stacks
//	                                                        └──────────▶ HTML ◀──────────┘
//
// No number is made here: what a panel shows is what Prometheus' own engine answers to the
// panel's own queries. The looks are not Grafana's, which draws the same file in its style.
//
// What it does not know it refuses: a kind of panel, a unit, a mode of stacking, a colour
// (TestEachPanelCanBeDrawn). A picture would be wrong without a word otherwise.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

func main() {
	folder := flag.String("scrapes", "", "folder with a folder for each pod, and in it a file for each scrape: its time in milliseconds, and .txt")
	file := flag.String("board", filepath.Join("..", "..", "..", "manifests", "components", "monitoring", "dashboard.json"), "the dashboard")
	every := flag.Duration("every", 5*time.Second, "how often was scraped")
	out := flag.String("out", "dashboard.html", "what is written")
	flag.Parse()
	if err := run(context.Background(), *folder, *file, *every, *out); err != nil {
		fmt.Fprintln(os.Stderr, "dashboard:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, folder, file string, every time.Duration, out string) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	b, err := readBoard(text)
	if err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	s, err := readScrapes(folder)
	if err != nil {
		return err
	}
	html, err := draw(ctx, b, newAsker(s, b, every))
	if err != nil {
		return err
	}
	return os.WriteFile(out, html, 0o644)
}
