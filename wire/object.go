package wire

import (
	"iter"
	"unsafe"

	"k8s.io/apimachinery/pkg/types"
)

// Object is one object as the API server sent it: its bytes, and the few facts
// about it that routing needs.
//
// It never changes, so any number of goroutines may share one, and what it holds
// is its own: no part of it points into the buffer that it was read from. The
// one exception is an object that is lent, by an EventReader or by List: that
// is for one goroutine, and for as long as they say. Own and Cut make of it one
// that is to be kept.
//
// The facts are read once, by Scan, and stay as the server said them even where
// Cut later takes them out of the bytes.
type Object struct {
	// raw is one JSON object and nothing around it, or a protobuf object in its
	// envelope. Of an object that was lent it may lack the beginning: see loan.
	raw []byte

	key     types.NamespacedName
	uid     types.UID
	version string // name, uid and version share one backing string

	generation int64
	labels     []label // in the order of the wire, no key twice
	owners     []Owner
	facets     *facets // nil: they are not known

	// loan is what the object was lent with; nil once it is its own.
	loan *loan

	// metaFrom and metaTo bound the value of "metadata" in Bytes, so that Cut
	// need not look at the rest. Both are 0 when there is no metadata or more
	// than one, and in protobuf, where the rest is passed over in no time.
	metaFrom, metaTo uint32
	saved            uint32 // bytes that Cut has taken out so far
	format           Format
	deleting         bool
}

type label struct{ key, value string }

// Owner is one entry of metadata.ownerReferences.
type Owner struct {
	APIVersion, Kind, Name string
	UID                    types.UID
	Controller             bool
}

// Key is the namespace and name. The namespace is empty for what lives outside
// of namespaces, the name only in bookmarks and in what is no object of the
// cluster.
func (o *Object) Key() types.NamespacedName { return o.key }

// UID tells two lives of one name apart. Some aggregated APIs leave it empty.
func (o *Object) UID() types.UID { return o.uid }

// ResourceVersion is the server's mark of this state of the object. Compare it
// with CompareResourceVersions only.
func (o *Object) ResourceVersion() string { return o.version }

// Generation counts changes of the spec, where the server counts them; else it
// is 0.
func (o *Object) Generation() int64 { return o.generation }

// Deleting reports whether a deletionTimestamp is set: somebody asked for the
// deletion, finalizers may still hold it.
func (o *Object) Deleting() bool { return o.deleting }

// Label is the value of one label, and whether it is there. It looks through
// the labels one by one: objects have few. Of an object that is lent, the value
// is lent too; so is all that Labels, Owners and Controller give.
func (o *Object) Label(key string) (string, bool) {
	for i := range o.labels {
		if o.labels[i].key == key {
			return o.labels[i].value, true
		}
	}
	return "", false
}

// Labels runs over all labels in the order of the wire.
func (o *Object) Labels() iter.Seq2[string, string] {
	return func(yield func(string, string) bool) {
		for i := range o.labels {
			if !yield(o.labels[i].key, o.labels[i].value) {
				return
			}
		}
	}
}

// Owners is every owner reference, in the order of the wire. The slice is
// shared: do not change it.
func (o *Object) Owners() []Owner { return o.owners }

// Controller is the owner that manages this object. The API server allows one
// at most.
func (o *Object) Controller() (Owner, bool) {
	for _, owner := range o.owners {
		if owner.Controller {
			return owner, true
		}
	}
	return Owner{}, false
}

// String is key and resourceVersion, for logs and messages: what else is in an
// object may be a secret.
func (o *Object) String() string { return o.key.String() + "@" + o.version }

// Format says how Bytes are spelled.
func (o *Object) Format() Format { return o.format }

// Bytes is the object as it is kept: what Scan reads, whichever way the object
// came. The slice is shared: do not change it.
func (o *Object) Bytes() []byte {
	if head := o.head(); len(head) > 0 {
		return joined(head, o.raw)
	}
	return o.raw
}

// Size is the memory that this object holds on to, in bytes, or will once it is
// its own: its wire bytes, and the facts read from them. Strings that it shares
// with other objects are counted as if they were its own.
func (o *Object) Size() int {
	n := int(unsafe.Sizeof(*o)) + o.length() + len(o.key.Name) + len(o.key.Namespace) + len(o.uid) + len(o.version)
	for i := range o.labels {
		n += int(unsafe.Sizeof(o.labels[i])) + len(o.labels[i].key) + len(o.labels[i].value)
	}
	for i := range o.owners {
		w := &o.owners[i]
		n += int(unsafe.Sizeof(*w)) + len(w.APIVersion) + len(w.Kind) + len(w.Name) + len(w.UID)
	}
	return n + o.facetSize()
}

// Saved is how many bytes Cut has taken out of this object since it was
// scanned.
func (o *Object) Saved() int { return int(o.saved) }
