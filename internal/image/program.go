package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	v1 "github.com/google/go-containerregistry/pkg/v1"
)

// compile builds one package of the module as a static program without anything
// of this machine in it, and returns its bytes.
func compile(ctx context.Context, c config, pkg string, p v1.Platform) ([]byte, error) {
	dir, err := os.MkdirTemp("", "image")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	file := filepath.Join(dir, "program")

	cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-buildvcs=false",
		"-ldflags", "-s -w -X main.version="+c.version, "-o", file, pkg)
	cmd.Dir = c.module
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOWORK=off", "GOOS="+p.OS, "GOARCH="+p.Architecture)
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &said
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("building %s for %s: %w\n%s", pkg, p.String(), err, said.Bytes())
	}
	return os.ReadFile(file)
}
