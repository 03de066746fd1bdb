// Package audit reads who asked an API server for what, from the server's own audit log:
// the only account that a client cannot get wrong about itself.
package audit

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"time"
)

// A Request is one that the server has answered.
type Request struct {
	Received time.Time // when the server had it
	Code     int       // of HTTP
	User     string
	Pod      string // whose token it came with; empty where that is not a pod's
	Verb     string
	Resource string // "pods", "taskruns/status"
	// Namespace is empty for what is cluster-wide: watches and lists of a whole cluster, too.
	Namespace, Name string
}

// event is what we read of one line of the log (audit.k8s.io/v1, JSON).
type event struct {
	Stage string `json:"stage"`
	Verb  string `json:"verb"`
	User  struct {
		Username string              `json:"username"`
		Extra    map[string][]string `json:"extra"`
	} `json:"user"`
	ObjectRef struct {
		Resource    string `json:"resource"`
		Subresource string `json:"subresource"`
		Namespace   string `json:"namespace"`
		Name        string `json:"name"`
	} `json:"objectRef"`
	ResponseStatus struct {
		Code int `json:"code"`
	} `json:"responseStatus"`
	RequestReceivedTimestamp time.Time `json:"requestReceivedTimestamp"`
}

// answered is the request that a line tells of, if it tells that one was answered.
func answered(line []byte) (Request, bool) {
	var e event
	if json.Unmarshal(line, &e) != nil || e.Stage != "ResponseComplete" {
		return Request{}, false // the server may be writing this line just now
	}
	r := Request{
		Received: e.RequestReceivedTimestamp, Code: e.ResponseStatus.Code, User: e.User.Username,
		Verb: e.Verb, Resource: e.ObjectRef.Resource, Namespace: e.ObjectRef.Namespace, Name: e.ObjectRef.Name,
	}
	if e.ObjectRef.Subresource != "" {
		r.Resource += "/" + e.ObjectRef.Subresource
	}
	if pod := e.User.Extra["authentication.kubernetes.io/pod-name"]; len(pod) == 1 {
		r.Pod = pod[0]
	}
	return r, true
}

// Calls returns how often user asked for each "verb resource" about objects in
// namespace. Events are left out: they are news, sent when there is time.
// Watches and lists of a whole cluster have no namespace, so they are not here.
func Calls(log, user, namespace string) (map[string]int, error) {
	f, err := os.Open(log)
	if err != nil {
		return nil, fmt.Errorf("audit log: %w", err)
	}
	defer f.Close()
	calls := map[string]int{}
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 4<<20)
	for lines.Scan() {
		r, is := answered(lines.Bytes())
		if is && r.User == user && r.Namespace == namespace && r.Resource != "events" {
			calls[r.Verb+" "+r.Resource]++
		}
	}
	return calls, lines.Err()
}

// A Tail is what a log says from some moment on. Make it with FromNow; its Follow closes it.
type Tail struct {
	name string
	file *os.File
}

// FromNow is the tail that begins where the log ends at this moment: nothing that the server
// answers after the return is missed, whenever it is read.
func FromNow(log string) (*Tail, error) {
	f, err := os.Open(log)
	if err != nil {
		return nil, fmt.Errorf("audit log: %w", err)
	}
	if _, err := f.Seek(0, io.SeekEnd); err != nil {
		return nil, errors.Join(fmt.Errorf("audit log: %w", err), f.Close())
	}
	return &Tail{log, f}, nil
}

// Follow hands to each every request of the tail that was answered, in the order of the log,
// until ctx ends: that is no error. It goes on with the next file when the server begins one.
// It is called once.
func (t *Tail) Follow(ctx context.Context, each func(Request)) error {
	f := t.file
	defer func() { f.Close() }()
	poll := time.NewTicker(20 * time.Millisecond)
	defer poll.Stop()
	lines := bufio.NewReader(f)
	var begun []byte // of a line whose end is not there yet
	for {
		next := successor(f, t.name) // looked at before the rest is read: nothing is added to f after that
		for {
			part, err := lines.ReadBytes('\n')
			begun = append(begun, part...)
			if errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				return fmt.Errorf("audit log: %w", err)
			}
			if r, is := answered(begun); is {
				each(r)
			}
			begun = begun[:0]
		}
		if next != nil {
			f.Close() //nolint:errcheck // it was read
			f, begun = next, nil
			lines.Reset(f)
			continue
		}
		select {
		case <-poll.C:
		case <-ctx.Done():
			return nil
		}
	}
}

// successor is the file that now has the log's name, if it is not f any more.
func successor(f *os.File, log string) *os.File {
	old, err := f.Stat()
	if err != nil {
		return nil
	}
	now, err := os.Stat(log)
	if err != nil || os.SameFile(old, now) {
		return nil // while the server renames, there may be none
	}
	next, err := os.Open(log)
	if err != nil {
		return nil
	}
	return next
}
