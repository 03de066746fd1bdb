package inspect

import (
	"encoding/json"
	"fmt"
	"net/http"
	"time"
)

// beat is how often the page is told how things are. Ten times a second nobody
// could read.
const beat = time.Second

// serveEvents is a stream of server-sent events, each a Snapshot, until whoever
// listens has gone.
func (i *Inspector) serveEvents(w http.ResponseWriter, r *http.Request) {
	out := http.NewResponseController(w)
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("X-Accel-Buffering", "no") // a proxy on the way must not collect them
	ticks := time.NewTicker(beat)
	defer ticks.Stop()
	for {
		if err := i.sendSnapshot(w, out); err != nil {
			return
		}
		select {
		case <-ticks.C:
		case <-r.Context().Done():
			return
		}
	}
}

// sendSnapshot writes one event. A listener that takes none for a while is let go,
// and others that come and go do not pile up.
func (i *Inspector) sendSnapshot(w http.ResponseWriter, out *http.ResponseController) error {
	snapshot, err := json.Marshal(i.Snapshot())
	if err != nil {
		return fmt.Errorf("encode a snapshot: %w", err)
	}
	if err := out.SetWriteDeadline(time.Now().Add(10 * beat)); err != nil {
		return fmt.Errorf("send a snapshot: %w", err)
	}
	if _, err := fmt.Fprintf(w, "event: snapshot\ndata: %s\n\n", snapshot); err != nil {
		return err
	}
	return out.Flush()
}
