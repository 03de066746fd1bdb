// Command imgserver is the registry of a devcluster: it answers every pull
// from one OCI layout, a folder, so that a node without internet runs pods.
//
//	imgserver load ──▶ folder (OCI layout)          kubelet ─ containerd ─┐ mirror of every registry
//	imgserver serve ─▶   index.json  name ─▶ digest ◀── imgserver serve ◀─┤
//	  (base images)      blobs/      digest ─▶ bytes                      └ pods, as a plain registry
//
// What it promises:
//
//  1. A name that was loaded gives what was loaded last: the folder is read at
//     each request, so no restart is needed and no change is missed.
//  2. Any other name gives the base image (busybox and bash), or the pause
//     image when its last word is "pause". A name with "no-such" in it is not
//     found, so that tests can have an image that does not exist.
//  3. A digest gives exactly the bytes it stands for, or is not found.
//  4. An image that is loaded again under its name leaves the earlier one to be
//     had by digest: a pull under way ends well.
//
// It speaks the pull half of the OCI distribution specification, without
// authentication, and writes nothing that a client sent.
package main

import (
	"errors"
	"flag"
	"fmt"
	"log"
	"net/http"
	"os"
	"time"
)

const usage = `usage:
  imgserver serve -images DIR -listen ADDR -pause FILE   answer pulls
  imgserver load  -images DIR LAYOUT NAME                take in the image of an OCI layout`

func main() {
	if len(os.Args) < 2 {
		log.Fatal(usage)
	}
	var err error
	switch os.Args[1] {
	case "serve":
		err = runServe(os.Args[2:])
	case "load":
		err = runLoad(os.Args[2:])
	default:
		err = errors.New(usage)
	}
	if err != nil {
		log.Fatal("imgserver: ", err)
	}
}

func runServe(args []string) error {
	flags := flag.NewFlagSet("serve", flag.ExitOnError)
	images := flags.String("images", "images", "`folder` of the OCI layout, made when it is missing")
	listen := flags.String("listen", "127.0.0.1:5000", "`address` to answer on")
	pause := flags.String("pause", "pause", "`file` of the pause program")
	if err := flags.Parse(args); err != nil {
		return err
	}
	s, err := openStore(*images)
	if err != nil {
		return err
	}
	if err := putBaseImages(s, *pause); err != nil {
		return fmt.Errorf("making the base images: %w", err)
	}
	server := http.Server{Addr: *listen, Handler: registry{s}, ReadHeaderTimeout: 10 * time.Second}
	return server.ListenAndServe()
}

func runLoad(args []string) error {
	flags := flag.NewFlagSet("load", flag.ExitOnError)
	images := flags.String("images", "images", "`folder` of the OCI layout, made when it is missing")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() != 2 {
		return errors.New(usage)
	}
	s, err := openStore(*images)
	if err != nil {
		return err
	}
	loaded, err := load(s, flags.Arg(0), flags.Arg(1))
	if err != nil {
		return fmt.Errorf("loading %s: %w", flags.Arg(0), err)
	}
	fmt.Println(loaded.Name())
	return nil
}
