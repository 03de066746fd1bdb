// Image makes Millrace's container image and pushes it, without a container
// engine: an image is a few tar files and JSON documents, and all that goes
// into this one is two static programs.
//
//	go build ──▶ millrace ──┐
//	go build ──▶ entrypoint ┼──▶ layers ──▶ image (amd64) ─┐
//	CA bundle, passwd ──────┘               image (arm64) ─┴─▶ index ──▶ OCI layout (a folder)
//
//	go -C internal/image run . -out DIR -version v0.1.0    build
//	go -C internal/image run . push DIR NAME               to a registry
//
// (-C is where relative folders start from, so give absolute ones.)
//
// What it promises:
//
//  1. The same source, version, revision, CA bundle and Go release give the same
//     digest, on any machine: no clock, user, path or file order gets in. The
//     time in the image is SOURCE_DATE_EPOCH, else 1970.
//  2. The layout is complete or the one before is still there.
//  3. The image runs as user 65532 with a read-only root; it has no shell and no
//     package manager, and nothing is writable in it.
//
// Other tools read the layout too: `crane push DIR NAME`, `skopeo copy --all
// oci:DIR:VERSION docker://NAME`, `tar -C DIR -c . | ctr images import
// --base-name millrace -`.
//
// It is a module of its own so that what it needs to talk to registries is not
// among what Millrace itself depends on. No goroutine is started here.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
)

const usage = `usage: image -out DIR -version VERSION [flags]   build an OCI layout
       image push [-insecure] DIR NAME           push it to a registry`

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "image:", err)
		stop()
		os.Exit(1) //nolint:gocritic // stop has been called
	}
}

func run(ctx context.Context, args []string, out io.Writer) error {
	if len(args) > 0 && args[0] == "push" {
		return runPush(ctx, args[1:], out)
	}
	return runBuild(ctx, args, out)
}

func runBuild(ctx context.Context, args []string, out io.Writer) error {
	var c config
	f := flags("image")
	f.StringVar(&c.out, "out", "", "`folder` for the OCI layout; one that is there is replaced")
	f.StringVar(&c.version, "version", "", "`version` of the programs and the image")
	f.StringVar(&c.revision, "revision", "", "`commit` that the source is at (optional)")
	f.StringVar(&c.source, "source", "", "`URL` of the source (optional)")
	f.StringVar(&c.tag, "tag", "", "`name` of the image in the layout (default: the version)")
	f.StringVar(&c.module, "module", "../..", "`folder` of the module millrace")
	f.StringVar(&c.bundle, "ca", "", "`file` of CA certificates (default: this machine's)")
	platforms := f.String("platform", "linux/amd64,linux/arm64", "comma-separated `platforms`")
	if err := parse(f, args, 0); err != nil {
		return err
	}
	if c.out == "" || c.version == "" {
		return errors.New("-out and -version are needed\n" + usage)
	}
	if c.tag == "" {
		c.tag = c.version
	}
	var err error
	if c.platforms, err = parsePlatforms(*platforms); err != nil {
		return err
	}
	if c.time, err = sourceDate(os.Getenv("SOURCE_DATE_EPOCH")); err != nil {
		return err
	}
	return build(ctx, c, out)
}

func runPush(ctx context.Context, args []string, out io.Writer) error {
	f := flags("image push")
	insecure := f.Bool("insecure", false, "the registry speaks plain HTTP (on localhost it may anyway)")
	if err := parse(f, args, 2); err != nil {
		return err
	}
	return push(ctx, f.Arg(0), f.Arg(1), *insecure, out)
}

func flags(name string) *flag.FlagSet {
	f := flag.NewFlagSet(name, flag.ContinueOnError)
	f.SetOutput(io.Discard) // run's caller prints the error
	return f
}

// parse wants as many arguments after the flags as it is told.
func parse(f *flag.FlagSet, args []string, arguments int) error {
	err := f.Parse(args)
	if err == nil && f.NArg() == arguments {
		return nil
	}
	if err == nil {
		err = fmt.Errorf("%d arguments, not %d", f.NArg(), arguments)
	}
	return fmt.Errorf("%w\n%s", err, usage)
}
