package chaintest

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"millrace/fifo"
	"millrace/indexer"
	"millrace/wire"
)

// change is one that handlers are told of.
func (w *World) change(c indexer.Change) string {
	of := c.Object()
	text := []string{fmt.Sprintf("%s %s %s %s → %s", c.Type, c.Key, w.uid(uidOf(of)), versionOf(c.Old), versionOf(c.New))}
	for _, also := range []struct {
		is   bool
		text string
	}{
		{c.Initial, "initial"},
		{c.Resync, "resync"},
		{c.FinalStateUnknown, "final state unknown"},
		{c.Merged > 0, fmt.Sprintf("merged %d", c.Merged)},
	} {
		if also.is {
			text = append(text, also.text)
		}
	}
	return strings.Join(text, ", ")
}

func uidOf(o *wire.Object) types.UID {
	if o == nil {
		return ""
	}
	return o.UID()
}

func versionOf(o *wire.Object) string {
	if o == nil {
		return "nothing"
	}
	return "@" + o.ResourceVersion()
}

// deltas shows what waits in a FIFO.
func (w *World) deltas(c *chain) string {
	var text strings.Builder
	for _, e := range c.fifo.Waiting(1000) {
		fmt.Fprintln(&text, w.entry(e))
	}
	return cmp.Or(text.String(), "nothing waits\n")
}

// entry is one of a FIFO.
func (w *World) entry(e fifo.Entry) string {
	deltas := make([]string, len(e.Deltas))
	for i, d := range e.Deltas {
		deltas[i] = w.delta(d)
	}
	return fmt.Sprintf("%s: %s", entryName(e), strings.Join(deltas, "; "))
}

// entryName is the key of an entry; a bookmark has none.
func entryName(e fifo.Entry) string {
	if e.Key.Name == "" {
		return "(no object)"
	}
	return e.Key.String()
}

// delta is one of an entry.
func (w *World) delta(d fifo.Delta) string {
	text := fmt.Sprintf("%s %s", d.Type, w.uid(d.UID))
	if d.Object != nil {
		text += " @" + d.Object.ResourceVersion()
	}
	if d.FinalStateUnknown {
		text += ", final state unknown"
	}
	if d.Merged > 0 {
		text += fmt.Sprintf(", merged %d", d.Merged)
	}
	return text
}

// cache shows what an indexer holds.
func (w *World) cache(c *chain) string {
	var text strings.Builder
	for _, o := range c.store.Objects("") {
		fmt.Fprintf(&text, "%s %s @%s generation %d, %d bytes\n", o.Key(), w.uid(o.UID()), o.ResourceVersion(), o.Generation(), o.Size())
	}
	fmt.Fprintf(&text, "as of @%s\n", cmp.Or(c.store.ResourceVersion(), "-"))
	return text.String()
}

// keys shows those that an index finds.
func keys(found []types.NamespacedName) string {
	if len(found) == 0 {
		return "nobody\n"
	}
	var text strings.Builder
	for _, key := range found {
		fmt.Fprintln(&text, key)
	}
	return text.String()
}

// queued shows what the queue knows of every key that it was ever asked for.
func (w *World) queued() string {
	var text strings.Builder
	for _, key := range slices.SortedFunc(maps.Keys(w.asks), compareKeys) {
		x := w.queue.Explain(key)
		fmt.Fprintf(&text, "%s is %s", key, x.State)
		if x.Failures > 0 {
			fmt.Fprintf(&text, ", failures: %d", x.Failures)
		}
		if !x.Due.IsZero() {
			fmt.Fprintf(&text, ", due in %s", time.Until(x.Due))
		}
		fmt.Fprintln(&text)
		for _, cause := range x.Causes {
			fmt.Fprintf(&text, "  because of %s\n", cause)
		}
	}
	return cmp.Or(text.String(), "nobody has asked for anything\n")
}

func compareKeys(a, b types.NamespacedName) int { return cmp.Compare(a.String(), b.String()) }
