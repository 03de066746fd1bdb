package faultproxy

import (
	"bufio"
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"millrace/internal/simulation/apiserver"
)

// An Event is one of a watch, as far as faults ask for it.
type Event struct {
	Watch apiserver.Request
	Type  string // ADDED, MODIFIED, DELETED, BOOKMARK, ERROR
	Key   types.NamespacedName
	frame []byte
}

// A stream is the body of a watch, event by event.
//
//	server ──▶ pump ──frames──▶ Read ──▶ ReverseProxy
//
// The pump is a goroutine of its own, so that an event can wait to see whether
// another one follows. Close ends it and waits for it.
type stream struct {
	ctx    context.Context //nolint:containedctx // of the request whose answer this is
	call   *call
	format string // its Content-Type
	body   io.ReadCloser
	frames chan frame
	pumped chan struct{}

	out   []byte // of what is being passed on
	ahead []Event
	last  map[types.NamespacedName][]byte
	end   func() error // nil: it goes on
}

type frame struct {
	Event

	err error
}

func newStream(ctx context.Context, c *call, resp *http.Response) *stream {
	s := &stream{
		ctx: ctx, call: c, format: resp.Header.Get("Content-Type"), body: resp.Body,
		frames: make(chan frame), pumped: make(chan struct{}), last: map[types.NamespacedName][]byte{},
	}
	switch v := c.fault; {
	case v.Mute:
		s.finish(apiserver.GoMute, nil)
	case v.End != apiserver.GoOn:
		s.finish(v.End, nil)
	}
	go s.pump()
	return s
}

// pump reads frames until the body ends, which Close sees to.
func (s *stream) pump() {
	defer close(s.pumped)
	in := bufio.NewReader(s.body)
	for {
		raw, err := readFrame(in, s.format)
		f := frame{err: err}
		if err == nil {
			f.Event = s.event(raw)
		}
		select {
		case s.frames <- f:
		case <-s.ctx.Done():
			return
		}
		if err != nil {
			return
		}
	}
}

// readFrame reads one event: a line of JSON, or a message behind its length.
func readFrame(in *bufio.Reader, format string) ([]byte, error) {
	if !strings.HasPrefix(format, asProtobuf) {
		line, err := in.ReadBytes('\n')
		if err != nil && len(line) > 0 {
			err = fmt.Errorf("half an event: %w", err)
		}
		return line, err
	}
	var size [4]byte
	if _, err := io.ReadFull(in, size[:]); err != nil {
		return nil, err
	}
	n := binary.BigEndian.Uint32(size[:])
	raw := make([]byte, len(size)+int(n))
	copy(raw, size[:])
	_, err := io.ReadFull(in, raw[len(size):])
	return raw, err
}

func (s *stream) event(raw []byte) Event {
	e := Event{Watch: s.call.x.Request, frame: raw}
	var object []byte
	if strings.HasPrefix(s.format, asProtobuf) {
		var event metav1.WatchEvent
		if event.Unmarshal(raw[4:]) == nil {
			e.Type, object = event.Type, event.Object.Raw
		}
	} else {
		var event struct {
			Type   string          `json:"type"`
			Object json.RawMessage `json:"object"`
		}
		if json.Unmarshal(raw, &event) == nil {
			e.Type, object = event.Type, event.Object
		}
	}
	m := metadata(object)
	e.Key = types.NamespacedName{Namespace: m.Namespace, Name: m.Name}
	return e
}

// Read implements io.Reader.
func (s *stream) Read(b []byte) (int, error) {
	for len(s.out) == 0 {
		if s.end != nil {
			return 0, s.end()
		}
		if err := s.next(); err != nil {
			return 0, err
		}
	}
	n := copy(b, s.out)
	s.out = s.out[n:]
	return n, nil
}

// next makes the next event, or the end of the stream, ready to be read.
func (s *stream) next() error {
	e, err := s.take(nil)
	if err != nil {
		return err
	}
	fault, ok := s.call.proxy.event(e)
	v := fault.Event
	if ok {
		s.call.proxy.note(func() { s.call.x.Fault = strings.TrimPrefix(s.call.x.Fault+"; "+v.Fault, "; ") })
	}
	if v.Skip {
		if followed, err := s.followed(e, v.Wait); err != nil || followed {
			return err
		}
	} else {
		pause(s.ctx, v.Wait)
	}
	if fault.Drop && ok {
		return nil
	}
	if v.End != apiserver.GoOn {
		s.finish(v.End, e.frame)
		return nil
	}
	if fault.Garble != nil && ok {
		e.frame = fault.Garble(e.frame)
	}
	s.out = e.frame
	if v.Twice {
		s.out = append(append([]byte{}, e.frame...), e.frame...)
	}
	if before := s.last[e.Key]; v.Older && before != nil {
		s.out = append(append([]byte{}, e.frame...), before...)
	}
	if e.Type == "ADDED" || e.Type == "MODIFIED" {
		s.last[e.Key] = e.frame
	}
	if ok && fault.Kill != apiserver.Never {
		s.call.proxy.note(func() { s.call.x.Fault = fault.Fault })
		s.call.fault = fault
		s.call.kill()
	}
	s.call.proxy.note(func() {
		s.call.x.Events++
		s.call.x.Error = s.call.x.Error || e.Type == "ERROR"
	})
	return nil
}

// take is the next event: one that was looked at already, or one that comes
// before late fires.
func (s *stream) take(late <-chan time.Time) (Event, error) {
	if len(s.ahead) > 0 && late == nil {
		e := s.ahead[0]
		s.ahead = s.ahead[1:]
		return e, nil
	}
	select {
	case f := <-s.frames:
		return f.Event, f.err
	case <-late:
		return Event{}, errLate
	case <-s.ctx.Done():
		return Event{}, s.ctx.Err()
	}
}

// followed waits for another version of the object. What comes meanwhile is told
// afterwards.
func (s *stream) followed(e Event, within time.Duration) (bool, error) {
	t := time.NewTimer(within)
	defer t.Stop()
	for _, next := range s.ahead {
		if next.Key == e.Key {
			return true, nil
		}
	}
	for {
		next, err := s.take(t.C)
		if err == errLate { //nolint:errorlint // it is ours, and comes as it is
			return false, nil
		}
		if err != nil {
			return false, err
		}
		s.ahead = append(s.ahead, next)
		if next.Key == e.Key {
			return true, nil
		}
	}
}

// finish has the stream end in that way, after what is left of out.
func (s *stream) finish(how apiserver.Ending, torn []byte) {
	end := func(err error) func() error { return func() error { return err } }
	switch how {
	case apiserver.GoOn:
	case apiserver.Close:
		s.end = end(io.EOF)
	case apiserver.Tear:
		s.out = torn[:len(torn)/2]
		s.end = end(errBroken)
	case apiserver.Reset:
		s.end = func() error {
			if s.call.conn != nil {
				s.call.conn.reset()
			}
			return errBroken
		}
	case apiserver.Expire:
		s.out, _ = errorEvent(s.format, Expired())
		s.end = end(io.EOF)
	case apiserver.GoMute:
		s.end = func() error {
			<-s.ctx.Done()
			return s.ctx.Err()
		}
	}
}

// Close implements io.Closer.
func (s *stream) Close() error {
	err := s.body.Close()
	for {
		select {
		case <-s.frames: // nobody wants it
		case <-s.pumped:
			return err
		}
	}
}
