package main

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"millrace/wire"
)

// tape is one watch stream as it is recorded.
type tape struct {
	source
	body    io.ReadCloser
	next    func() ([]byte, error) // one frame
	objects []string               // in the order in which they came
	of      map[string][][]byte    // the frames of each
}

// newTape opens a watch from the present on.
func newTape(ctx context.Context, client rest.Interface, s source) (*tape, error) {
	now := s
	now.accept = "application/json"
	raw, err := get(ctx, client, now, "limit=1")
	if err != nil {
		return nil, err
	}
	var list metav1.PartialObjectMetadataList
	if err := json.Unmarshal(raw, &list); err != nil {
		return nil, err
	}
	uri := fmt.Sprintf("%s?%s&watch=1&timeoutSeconds=3600&resourceVersion=%s", s.path, s.query, list.ResourceVersion)
	accept := s.accept
	if s.format == wire.Protobuf {
		accept += ";stream=watch"
	}
	body, err := client.Get().RequestURI(uri).SetHeader("Accept", accept).Stream(ctx)
	if err != nil {
		return nil, err
	}
	t := &tape{source: s, body: body, of: map[string][][]byte{}, next: delimited(body)}
	if s.format == wire.JSON {
		t.next = values(body)
	}
	return t, nil
}

// run reads until the stream is closed.
func (t *tape) run() error {
	for {
		frame, err := t.next()
		switch {
		case errors.Is(err, context.Canceled):
			return nil
		case err != nil:
			return fmt.Errorf("record %s: %w", t.file, err)
		}
		var scanner wire.Scanner
		event, err := scanner.Events(t.format, bytes.NewReader(frame)).Next()
		if err != nil || event.Object == nil {
			return fmt.Errorf("record %s: %v: %w", t.file, event, err)
		}
		if event.Type == wire.Deleted || event.Object.Deleting() {
			continue // how an object goes says nothing new about how it looks
		}
		key := event.Object.Key().String()
		if t.of[key] == nil {
			t.objects = append(t.objects, key)
		}
		t.of[key] = append(t.of[key], frame)
	}
}

func (t *tape) close() { _ = t.body.Close() }

func (t *tape) frames() []byte {
	var all [][]byte
	for _, key := range t.objects {
		all = append(all, t.of[key]...)
	}
	return bytes.Join(all, nil)
}

// values reads JSON frames, each with the line feed that the server ends it with.
func values(r io.Reader) func() ([]byte, error) {
	d := json.NewDecoder(r)
	return func() ([]byte, error) {
		frame := make(json.RawMessage, 0, 16<<10)
		if err := d.Decode(&frame); err != nil {
			return nil, err
		}
		return append(frame, '\n'), nil
	}
}

// delimited reads protobuf frames, each with its length before it.
func delimited(r io.Reader) func() ([]byte, error) {
	return func() ([]byte, error) {
		var length [4]byte
		if _, err := io.ReadFull(r, length[:]); err != nil {
			return nil, err
		}
		frame := make([]byte, 4+binary.BigEndian.Uint32(length[:]))
		copy(frame, length[:])
		_, err := io.ReadFull(r, frame[4:])
		return frame, err
	}
}
