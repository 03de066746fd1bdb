package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
)

// startError says why a command did not start, in words for whoever wrote the
// step, and the exit status that shells give for it.
type startError struct {
	status int
	text   string
}

func (e *startError) Error() string { return e.text }

func cannot(status int, format string, args ...any) error {
	return &startError{status: status, text: fmt.Sprintf(format, args...)}
}

// statusOf is the exit status for an error that kept the command from starting
// or its output from being kept.
func statusOf(err error) int {
	if e, is := errors.AsType[*startError](err); is {
		return e.status
	}
	return exitFailed
}

// lookPath finds the file of a command as execvp does: a name without a slash
// is looked up in path, which is the container's, not that of this image.
func lookPath(name, path string) (string, error) {
	if strings.ContainsRune(name, '/') {
		return name, executable(name)
	}
	var refused error
	for _, dir := range filepath.SplitList(path) {
		if dir == "" {
			dir = "." // POSIX: an empty element is the working directory
		}
		file := filepath.Join(dir, name)
		if !strings.ContainsRune(file, '/') {
			file = "./" + file
		}
		switch err := executable(file); {
		case err == nil:
			return file, nil
		case statusOf(err) == exitNotExecutable && refused == nil:
			refused = err
		}
	}
	if refused != nil {
		return "", refused
	}
	return "", cannot(exitNotFound, "command %q not found: the image has it in no directory of PATH=%s", name, path)
}

// executable says what is wrong with file as a command, without running it.
func executable(file string) error {
	info, err := os.Stat(file)
	switch {
	case errors.Is(err, syscall.EACCES):
		return cannot(exitNotExecutable, "command %q: a directory on the way is closed to user %d", file, os.Getuid())
	case err != nil: // not there, a loop of links, a file where a directory should be
		return cannot(exitNotFound, "command %q not found in the image", file)
	case info.IsDir():
		return cannot(exitNotExecutable, "command %q is a directory", file)
	}
	const executeOK = 1 // X_OK
	if syscall.Access(file, executeOK) != nil {
		return cannot(exitNotExecutable, "command %q is not executable for user %d: its mode is %v", file, os.Getuid(), info.Mode())
	}
	return nil
}

// explain turns what execve said about a file that is there into what is the
// matter. ENOENT then is about the file's interpreter, which misleads everybody.
func explain(file string, err error) error {
	interpreter, isScript := shebang(file)
	switch {
	case errors.Is(err, syscall.ENOENT) && isScript && executable(interpreter) != nil:
		return cannot(exitNotFound, "the script's first line asks for the interpreter %q, which the image does not have%s", interpreter, carriageReturn(interpreter))
	case errors.Is(err, syscall.ENOENT):
		return cannot(exitNotFound, "command %q is there, but the image does not have the loader that it, or its interpreter, was linked for (a glibc program in a musl image?)", file)
	case errors.Is(err, syscall.ENOEXEC):
		return cannot(exitNotExecutable, "command %q is neither a program for %s nor a script that starts with #!", file, runtime.GOARCH)
	case errors.Is(err, syscall.EACCES) && isScript:
		return cannot(exitNotExecutable, "the script's first line asks for the interpreter %q, which cannot be executed", interpreter)
	default:
		return cannot(exitNotExecutable, "starting %q: %v", file, err)
	}
}

// shebang is the interpreter that the first line of a script names.
func shebang(file string) (string, bool) {
	f, err := os.Open(file)
	if err != nil {
		return "", false
	}
	defer f.Close()
	// The kernel looks at 256 bytes. An end without newline is no error here.
	line, _ := bufio.NewReader(io.LimitReader(f, 256)).ReadString('\n')
	line, isScript := strings.CutPrefix(strings.TrimSuffix(line, "\n"), "#!")
	interpreter, _, _ := strings.Cut(strings.Trim(line, " \t"), " ")
	return interpreter, isScript
}

// carriageReturn points out what cannot be seen: a script edited on Windows.
func carriageReturn(interpreter string) string {
	if strings.HasSuffix(interpreter, "\r") {
		return `: the script has Windows line ends, the \r is taken for a part of the name`
	}
	return ""
}
