package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// The volumes that these files are in are shared by all steps of a pod, and
// each may have been left there by a step that means harm to the next one. So
// nothing here follows a link, and nothing blocks on a named pipe.
//
// The modes count on the umask 022 that runc and crun set in a container.

// makeDir makes a directory and those above it that are missing, so that every
// user can pass through them: the steps of one pod may run as different users.
func makeDir(dir string) error {
	info, err := os.Lstat(dir)
	switch {
	case err == nil && info.IsDir():
		return nil
	case err == nil:
		return fmt.Errorf("%s is in the way of a directory: it is a %s", dir, kindOf(info))
	case !errors.Is(err, fs.ErrNotExist):
		return err
	}
	if err := makeDir(filepath.Dir(dir)); err != nil {
		return err
	}
	return os.Mkdir(dir, 0o755)
}

// writeNew writes a file that must not be there yet.
func writeNew(file, content string, mode os.FileMode) error {
	return write(file, content, os.O_EXCL, mode)
}

// writeOver writes a file, in place where it is there already.
func writeOver(file, content string) error {
	return write(file, content, os.O_TRUNC, 0o644)
}

func write(file, content string, flags int, mode os.FileMode) error {
	if err := makeDir(filepath.Dir(file)); err != nil {
		return err
	}
	f, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|syscall.O_NOFOLLOW|syscall.O_NONBLOCK|flags, mode)
	if err != nil {
		return err
	}
	defer f.Close()
	if _, err := f.WriteString(content); err != nil {
		return err
	}
	return f.Close()
}

// errTooLarge says that a file has more bytes than were wanted.
var errTooLarge = errors.New("too large")

// readRegular reads a regular file of at most limit bytes. Looking before
// opening keeps it from opening devices; looking after, from reading what was
// put in the file's place meanwhile.
func readRegular(file string, limit int64) ([]byte, error) {
	if info, err := os.Lstat(file); err != nil {
		return nil, err
	} else if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("it is a %s, not a regular file", kindOf(info))
	}
	f, err := os.OpenFile(file, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil {
		return nil, err
	} else if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("it is a %s, not a regular file", kindOf(info))
	}
	content, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err == nil && int64(len(content)) > limit {
		err = errTooLarge
	}
	return content, err
}

func kindOf(info fs.FileInfo) string {
	switch mode := info.Mode(); {
	case mode.IsRegular():
		return "file"
	case mode.IsDir():
		return "directory"
	case mode&fs.ModeSymlink != 0:
		return "link"
	case mode&fs.ModeNamedPipe != 0:
		return "named pipe"
	case mode&fs.ModeSocket != 0:
		return "socket"
	default:
		return "device"
	}
}
