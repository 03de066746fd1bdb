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
// nothing here follows a link, and nothing blocks on a named pipe. What was looked
// at is what is opened: a directory is held by an os.Root while something in it is
// looked at, so that nobody can put a link in its place in between.
//
// The modes count on the umask 022 that runc and crun set in a container.

// makeDir makes a directory and those above it that are missing, so that every
// user can pass through them: the steps of one pod may run as different users.
func makeDir(dir string) error {
	root, err := openDir(dir, 1, true)
	if err != nil {
		return err
	}
	return root.Close()
}

// openDir opens a directory whose last so many elements must be no links: those
// above are mounts, which no step can replace. With missing set it makes those that
// are not there.
func openDir(dir string, elements int, missing bool) (*os.Root, error) {
	dir = filepath.Clean(dir)
	base, names := dir, make([]string, elements)
	for i := range elements {
		names[elements-1-i], base = filepath.Base(base), filepath.Dir(base)
	}
	if missing {
		if err := os.MkdirAll(base, 0o755); err != nil {
			return nil, err
		}
	}
	root, err := os.OpenRoot(base)
	for i := 0; i < elements && err == nil; i++ {
		above := root
		root, err = enterDir(above, names[i], missing)
		err = errors.Join(err, above.Close())
	}
	if err != nil {
		return nil, err
	}
	return root, nil
}

// enterDir opens a directory in another one.
func enterDir(above *os.Root, name string, missing bool) (*os.Root, error) {
	if name == string(filepath.Separator) {
		name = "." // of the root directory
	}
	seen, err := above.Lstat(name)
	if missing && errors.Is(err, fs.ErrNotExist) {
		if err := above.Mkdir(name, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
			return nil, err
		}
		seen, err = above.Lstat(name)
	}
	switch at := filepath.Join(above.Name(), name); {
	case err != nil:
		return nil, err
	case !seen.IsDir():
		return nil, fmt.Errorf("%s is in the way of a directory: it is a %s", at, kindOf(seen))
	}
	root, err := above.OpenRoot(name)
	if err != nil {
		return nil, err
	}
	if opened, err := root.Stat("."); err != nil || !os.SameFile(seen, opened) {
		return nil, errors.Join(err, root.Close(), fmt.Errorf("%s was replaced while it was opened", filepath.Join(above.Name(), name)))
	}
	return root, nil
}

// writeNew writes a file that must not be there yet.
func writeNew(file, content string, mode os.FileMode) error {
	return write(file, content, os.O_EXCL, mode)
}

// writeOver writes a file, in place where it is there already.
func writeOver(file, content string) error {
	return write(file, content, 0, 0o644)
}

func write(file, content string, flags int, mode os.FileMode) error {
	dir, err := openDir(filepath.Dir(file), 1, true)
	if err != nil {
		return err
	}
	defer dir.Close()
	f, err := openPlain(dir, filepath.Base(file), os.O_WRONLY|os.O_CREATE|flags, mode)
	if err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	defer f.Close()
	if err := f.Truncate(0); err != nil {
		return err
	}
	if _, err := f.WriteString(content); err != nil {
		return err
	}
	return f.Close()
}

// openPlain opens a regular file, or makes it. Looking before opening keeps it from
// opening devices; looking after, from opening what was put in the file's place.
func openPlain(dir *os.Root, name string, flags int, mode os.FileMode) (*os.File, error) {
	seen, err := dir.Lstat(name)
	switch {
	case err == nil && flags&os.O_EXCL != 0:
		return nil, syscall.EEXIST
	case err == nil && !seen.Mode().IsRegular():
		return nil, fmt.Errorf("it is a %s, not a regular file", kindOf(seen))
	case errors.Is(err, fs.ErrNotExist) && flags&os.O_CREATE != 0:
		return dir.OpenFile(name, flags|os.O_EXCL, mode) // which follows no link either
	case err != nil:
		return nil, err
	}
	f, err := dir.OpenFile(name, flags&^os.O_CREATE|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	if opened, err := f.Stat(); err != nil || !os.SameFile(seen, opened) {
		return nil, errors.Join(err, f.Close(), errors.New("it was replaced while it was opened"))
	}
	return f, nil
}

// errTooLarge says that a file has more bytes than were wanted.
var errTooLarge = errors.New("too large")

// readRegular reads a regular file of at most limit bytes.
func readRegular(file string, limit int64) ([]byte, error) {
	content, _, err := readBelow(file, 1, limit)
	return content, err
}

// readBelow does that, and says how large the file is; so many of the directories
// that it is in must be no links.
func readBelow(file string, elements int, limit int64) (content []byte, size int64, err error) {
	dir, err := openDir(filepath.Dir(file), elements, false)
	if err != nil {
		return nil, 0, err
	}
	defer dir.Close()
	f, err := openPlain(dir, filepath.Base(file), os.O_RDONLY, 0)
	if err != nil {
		return nil, 0, err
	}
	defer f.Close()
	content, err = io.ReadAll(io.LimitReader(f, limit+1))
	if err == nil && int64(len(content)) > limit {
		err = errTooLarge
	}
	if info, statErr := f.Stat(); statErr == nil {
		size = info.Size()
	}
	return content, size, err
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
