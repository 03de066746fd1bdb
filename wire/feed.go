package wire

import (
	"errors"
	"io"
)

const (
	// feedSize is the read buffer that a stream has when nothing big goes
	// through it: two objects of a usual size, and no less than what a TLS
	// record carries.
	feedSize = 32 << 10

	// feedRead is the least that a read is asked for: a call costs much the same
	// for a byte.
	feedRead = 4 << 10

	// MaxFrame is the longest frame of a watch stream, or item of a list, that
	// is read. etcd refuses requests beyond 1.5 MiB unless told otherwise, so a
	// frame of ten times that is a mistake or an attack, and memory must not
	// follow it.
	MaxFrame = 16 << 20

	// feedKeep is the largest buffer that a stream keeps. Beyond the usual size
	// there is a pod in a hundred; a list of fifty thousand that gave its buffer
	// back after each of them made 35 MB of garbage.
	feedKeep = 128 << 10

	// feedCalm is how many values in a row must fit into feedSize before a
	// larger buffer is given back: long enough that a stream of big objects does
	// not allocate for each of them.
	feedCalm = 32
)

// ErrTooLarge says that a frame is longer than MaxFrame. The stream cannot be
// read on.
var ErrTooLarge = errors.New("wire: longer than the longest frame")

// feed is the read buffer of one stream. It holds the value in hand and what
// was read beyond it, and nothing else.
type feed struct {
	src   io.Reader
	store []byte // the buffer; the lexer's data is a part of it
	calm  int    // values in a row that would have fitted into feedSize
}

// extend reads once and returns data with more bytes behind it, perhaps in
// another place. An error comes alone: what was read together with it is
// returned first, and the error again with the next call.
func (f *feed) extend(data []byte) ([]byte, error) {
	if len(data) >= MaxFrame {
		return data, ErrTooLarge
	}
	if cap(data)-len(data) < feedRead {
		data = f.room(data)
	}
	for range 100 { // as bufio does: a source that returns nothing for ever is broken
		n, err := f.src.Read(data[len(data):cap(data)])
		if n > 0 {
			return data[:len(data)+n], nil
		}
		if err != nil {
			return data, err
		}
	}
	return data, io.ErrNoProgress
}

// room moves data to the front of the buffer, and doubles the buffer when it is
// more than half full.
func (f *feed) room(data []byte) []byte {
	size := max(len(f.store), feedSize)
	if len(data) > size/2 {
		size = min(2*size, MaxFrame)
	}
	if size == len(f.store) && cap(data) == size {
		return data // it is at the front, and cannot grow
	}
	if size > len(f.store) {
		f.calm = 0
		f.store = make([]byte, size)
	}
	return f.store[:copy(f.store, data)]
}

// settle is told the length of each value that is done, and what of the buffer
// is still unread. It gives a big buffer back once values have been small for a
// while.
func (f *feed) settle(length int, unread []byte) []byte {
	if len(f.store) <= feedKeep {
		return unread
	}
	f.calm++
	if length > feedSize/2 {
		f.calm = 0
	}
	if f.calm < feedCalm || len(unread) > feedSize/2 {
		return unread
	}
	f.store = make([]byte, feedSize)
	return f.store[:copy(f.store, unread)]
}
