package taskrun

import (
	"bytes"
	"compress/flate"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// What an entry of a termination message is about. The numbers are Tekton's.
const (
	entryTaskResult = 1
	entryInternal   = 3
	entryStepResult = 4
)

// compressedPrefix marks a message that was compressed (feature flag
// enable-termination-message-compression). maxMessageText is how long it is at most
// when it is not: what the entrypoint reads of results is less.
const (
	compressedPrefix = "tknz:"
	maxMessageText   = 1 << 20
)

// An entry of the JSON array that the entrypoint leaves as termination message.
type entry struct {
	Key   string    `json:"key"`
	Value string    `json:"value"`
	Type  entryType `json:"type"`
}

// entryType also reads the words that Tekton wrote before it wrote numbers.
type entryType int

func (t *entryType) UnmarshalJSON(raw []byte) error {
	switch text := strings.Trim(string(raw), `"`); text {
	case "TaskRunResult":
		*t = entryTaskResult
	case "InternalTektonResult":
		*t = entryInternal
	case "StepResult":
		*t = entryStepResult
	default:
		// Whatever else there is stays, and means nothing to us.
		n, err := strconv.Atoi(text)
		if err != nil {
			n = 0
		}
		*t = entryType(n)
	}
	return nil
}

// parseMessage reads a termination message; of entries with one key and type the
// last one counts. A message that is not the entrypoint's own is an error: a
// container that never got so far, a kubelet that cut it, or a foreign image.
func parseMessage(message string) ([]entry, error) {
	if message == "" {
		return nil, nil
	}
	message, err := decompress(message)
	if err != nil {
		return nil, fmt.Errorf("termination message: %w", err)
	}
	var all []entry
	if err := json.Unmarshal([]byte(message), &all); err != nil {
		return nil, fmt.Errorf("termination message is not the entrypoint's: %w", err)
	}
	type id struct {
		key  string
		kind entryType
	}
	at := make(map[id]int, len(all))
	var entries []entry
	for _, e := range all {
		if i, seen := at[id{e.Key, e.Type}]; seen {
			entries[i] = e
			continue
		}
		at[id{e.Key, e.Type}] = len(entries)
		entries = append(entries, e)
	}
	return entries, nil
}

// decompress gives back messages that are not compressed.
func decompress(message string) (string, error) {
	packed, ok := strings.CutPrefix(message, compressedPrefix)
	if !ok {
		return message, nil
	}
	raw, err := base64.StdEncoding.DecodeString(packed)
	if err != nil {
		return "", fmt.Errorf("compressed: %w", err)
	}
	plain, err := io.ReadAll(io.LimitReader(flate.NewReader(bytes.NewReader(raw)), maxMessageText+1))
	switch {
	case err != nil:
		return "", fmt.Errorf("compressed: %w", err)
	case len(plain) > maxMessageText:
		return "", fmt.Errorf("compressed: it has more than %d bytes", maxMessageText)
	}
	return string(plain), nil
}

// A report is what a step's entrypoint told about itself.
type report struct {
	startedAt *metav1.Time // nil: the entrypoint did not get to tell
	reason    string       // Skipped, TimeoutExceeded, Cancelled or none
	exitCode  *int32       // of the command, where the container's own is 0 by onError: continue
	visible   string       // the message without what is only between entrypoint and controller
	results   []entry      // of the task, declared or not

	stepResults []entry // of the step itself, likewise
}

// readReport never fails: what cannot be understood is shown as it is.
func readReport(message string) report {
	entries, err := parseMessage(message)
	if err != nil {
		return report{visible: message}
	}
	var r report
	var visible []entry
	for _, e := range entries {
		if e.Type == entryInternal {
			r.internal(e)
			continue
		}
		visible = append(visible, e)
		switch e.Type {
		case entryTaskResult:
			r.results = append(r.results, e)
		case entryStepResult:
			r.stepResults = append(r.stepResults, e)
		}
	}
	if len(visible) > 0 {
		if raw, err := json.Marshal(visible); err == nil {
			r.visible = string(raw)
		}
	}
	return r
}

func (r *report) internal(e entry) {
	switch e.Key {
	case "StartedAt":
		if at, err := time.Parse(time.RFC3339Nano, e.Value); err == nil {
			r.startedAt = &metav1.Time{Time: at}
		}
	case "Reason":
		r.reason = e.Value
	case "ExitCode":
		if code, err := strconv.ParseInt(e.Value, 10, 32); err == nil {
			narrow := int32(code)
			r.exitCode = &narrow
		}
	}
}
