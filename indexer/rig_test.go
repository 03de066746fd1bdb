package indexer_test

import (
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/types"

	"millrace/fifo"
	"millrace/indexer"
	"millrace/wire"
)

// obj is an object n/name. The rest is labels ("app=web") and owners ("^u7" by
// UID).
func obj(tb testing.TB, name, uid, version string, rest ...string) *wire.Object {
	tb.Helper()
	var labels, owners []string
	for _, r := range rest {
		if owner, ok := strings.CutPrefix(r, "^"); ok {
			owners = append(owners, fmt.Sprintf(`{"kind":"TaskRun","name":"r","uid":%q}`, owner))
			continue
		}
		key, value, _ := strings.Cut(r, "=")
		labels = append(labels, fmt.Sprintf("%q:%q", key, value))
	}
	return scan(tb, fmt.Sprintf(`{"metadata":{"namespace":"n","name":%q,"uid":%q,"resourceVersion":%q,"labels":{%s},"ownerReferences":[%s]}}`,
		name, uid, version, strings.Join(labels, ","), strings.Join(owners, ",")))
}

func scan(tb testing.TB, raw string) *wire.Object {
	tb.Helper()
	o, err := wire.Scan(wire.JSON, []byte(raw))
	if err != nil {
		tb.Fatal(err)
	}
	return o
}

func key(name string) types.NamespacedName {
	return types.NamespacedName{Namespace: "n", Name: name}
}

func added(o *wire.Object) fifo.Delta {
	return fifo.Delta{Type: fifo.Added, Object: o, UID: o.UID()}
}

func updated(o *wire.Object) fifo.Delta {
	return fifo.Delta{Type: fifo.Updated, Object: o, UID: o.UID()}
}

func deleted(o *wire.Object) fifo.Delta {
	return fifo.Delta{Type: fifo.Deleted, Object: o, UID: o.UID()}
}

// entry is what the FIFO would hand over for one object.
func entry(name, version string, deltas ...fifo.Delta) fifo.Entry {
	return fifo.Entry{Key: key(name), Deltas: deltas, ResourceVersion: version}
}

// with is an indexer that holds these objects.
func with(tb testing.TB, objects ...*wire.Object) *indexer.Indexer {
	tb.Helper()
	x := indexer.New("things")
	put(x, objects...)
	return x
}

func put(x *indexer.Indexer, objects ...*wire.Object) {
	for _, o := range objects {
		x.Apply(fifo.Entry{Key: o.Key(), Deltas: []fifo.Delta{added(o)}})
	}
}

// show is a change in one line.
func show(c indexer.Change) string {
	version := func(o *wire.Object) string {
		if o == nil {
			return "-"
		}
		return string(o.UID()) + "@" + o.ResourceVersion()
	}
	s := fmt.Sprintf("%s %s %s %s", c.Type, c.Key.Name, version(c.Old), version(c.New))
	for flag, on := range map[string]bool{"initial": c.Initial, "resync": c.Resync, "unseen": c.FinalStateUnknown} {
		if on {
			s += " " + flag
		}
	}
	if c.Merged > 0 {
		s += fmt.Sprintf(" +%d", c.Merged)
	}
	return s
}

func showAll(changes []indexer.Change) string {
	var lines []string
	for _, c := range changes {
		lines = append(lines, show(c))
	}
	return strings.Join(lines, "\n")
}

func names(keys []types.NamespacedName) string {
	var all []string
	for _, k := range keys {
		all = append(all, k.Name)
	}
	return strings.Join(all, " ")
}
