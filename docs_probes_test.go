package main_test

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// What the chapter says of /readyz, somebody says: who searches for what a replica tells
// finds it.
func TestWhatTheDocsQuoteOfReadyzIsSaid(t *testing.T) {
	text, err := os.ReadFile("docs/operating.md")
	if err != nil {
		t.Fatal(err)
	}
	_, chapter, _ := strings.Cut(string(text), "\n## Probes\n")
	chapter, _, _ = strings.Cut(chapter, "\n## ")
	var said strings.Builder
	for _, file := range []string{"serve.go", "settings.go", "start.go", "webhook.go", "sharding.go", "shard/leader.go", "shard/member.go", "webhook/certificate/keeper.go"} {
		source, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		said.Write(source)
	}
	rows := regexp.MustCompile("(?m)^\\| (`[^|]+) \\|").FindAllStringSubmatch(chapter, -1)
	if len(rows) < 7 {
		t.Fatalf("%d rows", len(rows))
	}
	for _, row := range rows {
		for _, quoted := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(row[1], -1) {
			if !strings.Contains(said.String(), quoted[1]) {
				t.Errorf("nobody says %q", quoted[1])
			}
		}
	}
}
