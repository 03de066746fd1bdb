package faultproxy

import (
	"errors"
	"fmt"
	"net"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// A port is kept while nobody listens at it: who connects is refused, and no other program
// is given it. Had it been let go, a listener of port 0 might have it by the time that it
// is needed again, or anybody's connection to somewhere else.
type port int // a socket that is bound, and does not listen

// nowhere is what there is of a port that could not be kept.
const nowhere port = -1

// keep closes a listener, and keeps its port.
func keep(l net.Listener) (port, error) {
	fd, err := beside(l)
	if err = errors.Join(err, l.Close()); err != nil {
		fd.release()
		return nowhere, fmt.Errorf("keep the port of %s: %w", l.Addr(), err)
	}
	return fd, nil
}

// beside is a second socket at the port of a listener.
func beside(l net.Listener) (port, error) {
	at, ok := l.Addr().(*net.TCPAddr)
	listening, can := l.(syscall.Conn)
	if !ok || !can || at.IP.To4() == nil {
		return nowhere, fmt.Errorf("it is a %T", l)
	}
	raw, err := listening.SyscallConn()
	if err != nil {
		return nowhere, err
	}
	var shared error
	if err := raw.Control(func(fd uintptr) { shared = share(int(fd)) }); err != nil || shared != nil {
		return nowhere, errors.Join(err, shared)
	}
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		return nowhere, os.NewSyscallError("socket", err)
	}
	if err := share(fd); err != nil {
		return port(fd), err
	}
	return port(fd), os.NewSyscallError("bind", unix.Bind(fd, &unix.SockaddrInet4{Addr: [4]byte(at.IP.To4()), Port: at.Port}))
}

// share lets a socket have its port together with others that let it, and beside what is
// left of connections.
func share(fd int) error {
	return os.NewSyscallError("setsockopt", errors.Join(
		unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_REUSEADDR, 1),
		unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_REUSEPORT, 1)))
}

// listen gives the port up for a listener.
func (p port) listen() (net.Listener, error) {
	file := os.NewFile(uintptr(p), "port")
	defer file.Close() // the listener has a copy
	if err := unix.Listen(int(p), syscall.SOMAXCONN); err != nil {
		return nil, os.NewSyscallError("listen", err)
	}
	return net.FileListener(file)
}

func (p port) release() {
	unix.Close(int(p)) //nolint:errcheck // nothing was written
}
