package main

import (
	"bytes"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

var update = flag.Bool("update", false, "write golden files anew")

func none(string) string { return "" }

func TestAFlagBeatsItsVariableWhichBeatsTheDefault(t *testing.T) {
	env := func(k string) string {
		return map[string]string{"WORKERS": "3", "RESYNC_PERIOD": "1m", "SYSTEM_NAMESPACE": "ci"}[k]
	}
	c, err := parseConfig([]string{"--workers=5", "--leader-elect=false", "--managed-by=a, b", "--resolvers=git,hub"}, env, nil)
	if err != nil {
		t.Fatal(err)
	}
	if c.workers != 5 || c.resync != time.Minute || c.namespace != "ci" || c.leaderElect || c.bind != ":9090" {
		t.Errorf("got %+v", c)
	}
	if !c.mayResolve("git") || !c.mayResolve("hub") || c.mayResolve("http") || c.mayResolve("") {
		t.Errorf("resolvers = %q", c.resolvers)
	}
	if strings.Join(c.managedBy, "|") != "a|b" {
		t.Errorf("managedBy = %q", c.managedBy)
	}
}

func TestBadSettingsAreRefusedByName(t *testing.T) {
	for name, c := range map[string]struct {
		args []string
		env  map[string]string
		want string
	}{
		"not a number":    {args: []string{"--workers=many"}, want: "workers"},
		"no workers":      {args: []string{"--workers=0"}, want: "--workers=0"},
		"unknown flag":    {args: []string{"--colour"}, want: "-colour"},
		"stray argument":  {args: []string{"serve"}, want: `"serve"`},
		"unknown mode":    {args: []string{"--entrypoint-mode=copy"}, want: "auto, image-volume, init-container"},
		"bad variable":    {env: map[string]string{"DRAIN_TIMEOUT": "soon"}, want: "DRAIN_TIMEOUT"},
		"lease too short": {args: []string{"--leader-elect-lease-duration=5s"}, want: "--leader-elect-lease-duration"},
		"retry too long":  {args: []string{"--leader-elect-retry-period=9s"}, want: "--leader-elect-retry-period"},
		"nobody's runs":   {args: []string{"--managed-by=,"}, want: "--managed-by"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := parseConfig(c.args, func(k string) string { return c.env[k] }, nil)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v does not name %s", err, c.want)
			}
		})
	}
}

func TestHelpTellsEveryFlagWithItsVariableAndDefault(t *testing.T) {
	var out bytes.Buffer
	if _, err := parseConfig([]string{"--help"}, none, &out); !errors.Is(err, flag.ErrHelp) {
		t.Fatal(err)
	}
	golden := filepath.Join("testdata", "help.txt")
	if *update {
		if err := os.WriteFile(golden, out.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if out.String() != string(want) {
		t.Errorf("help differs from %s (go test -update writes it):\n%s", golden, out.String())
	}
}
