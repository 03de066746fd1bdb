package main

import (
	"io"
	"os"
)

// install copies the program to where the steps of the pod find it, for clusters
// that cannot mount an image as a volume. The copy appears complete or not at
// all: an init container that was killed half-way is started again.
func install(source, destination string) error {
	from, err := os.Open(source)
	if err != nil {
		return err
	}
	defer from.Close()
	half := destination + ".part"
	if err := os.Remove(half); err != nil && !os.IsNotExist(err) {
		return err
	}
	to, err := os.OpenFile(half, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o555)
	if err != nil {
		return err
	}
	defer to.Close()
	if _, err := io.Copy(to, from); err != nil {
		return err
	}
	if err := to.Close(); err != nil {
		return err
	}
	return os.Rename(half, destination)
}
