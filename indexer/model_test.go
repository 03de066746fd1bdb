package indexer_test

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"

	"k8s.io/apimachinery/pkg/types"

	"millrace/fifo"
	"millrace/indexer"
	"millrace/wire"
)

// model is a server, and what somebody knows of it who hears of changes only.
type model struct {
	*rand.Rand
	t       *testing.T
	f       *fifo.FIFO
	x       *indexer.Indexer
	byApp   *indexer.Index[string]
	byOwner *indexer.Index[types.UID]
	packer  *indexer.Packer

	version int
	now     map[types.NamespacedName]*wire.Object
	heard   map[types.NamespacedName]*wire.Object
}

func newModel(t *testing.T, seed uint64) *model {
	t.Helper()
	x := indexer.New("things")
	packer := indexer.NewPacker(x, indexer.PackConfig{After: 1, Every: 1})
	if err := packer.Learn(obj(t, "a", "u1", "1", "app=1", "^o1", "^o2")); err != nil {
		t.Fatal(err)
	}
	return &model{
		packer:  packer,
		Rand:    rand.New(rand.NewPCG(seed, 5)),
		t:       t,
		f:       fifo.New(x, fifo.Config{}),
		x:       x,
		byApp:   indexer.AddIndex(x, "app", indexer.Label("app")),
		byOwner: indexer.AddIndex(x, "owner", indexer.OwnerUID),
		now:     map[types.NamespacedName]*wire.Object{},
		heard:   map[types.NamespacedName]*wire.Object{},
	}
}

// write changes the server and tells the FIFO, or not: then a list will have to
// find it.
func (m *model) write(told bool) {
	m.version++
	name := string(rune('a' + m.IntN(8)))
	was, exists := m.now[key(name)]
	uid := fmt.Sprint("u", m.version)
	if exists {
		uid = string(was.UID())
	}
	o := obj(m.t, name, uid, strconv.Itoa(m.version), fmt.Sprint("app=", m.IntN(3)), fmt.Sprint("^o", m.IntN(3)), fmt.Sprint("^o", m.IntN(3)))
	tell := m.f.Add
	switch {
	case exists && m.IntN(3) == 0:
		delete(m.now, o.Key())
		tell = m.f.Delete
	case exists:
		m.now[o.Key()] = o
		tell = m.f.Update
	default:
		m.now[o.Key()] = o
	}
	if told {
		m.must(tell(o))
	}
}

func (m *model) must(err error) {
	if err != nil {
		m.t.Fatal(err)
	}
}

// blind is a time without a connection, and the list that ends it.
func (m *model) blind() {
	for range m.IntN(6) {
		m.write(false)
	}
	m.f.Begin()
	for _, o := range m.sorted(m.now) {
		m.must(m.f.Item(o))
	}
	m.f.Commit(strconv.Itoa(m.version + 1))
	m.version++
}

func (m *model) sorted(objects map[types.NamespacedName]*wire.Object) []*wire.Object {
	return slices.SortedFunc(maps.Values(objects), func(a, b *wire.Object) int {
		if a.Key().Name < b.Key().Name {
			return -1
		}
		return 1
	})
}

// hear keeps up with the changes, and finds fault with those that make no sense
// to somebody who has heard the others.
func (m *model) hear(c indexer.Change) {
	has := m.heard[c.Key]
	switch c.Type {
	case indexer.Created:
		if has != nil || c.Old != nil {
			m.t.Errorf("%s, and it is there", show(c))
		}
		m.heard[c.Key] = c.New
	case indexer.Updated:
		if has == nil || !same(has, c.Old) {
			m.t.Errorf("%s, and it was another", show(c))
		}
		if c.Resync != (c.Old == c.New) {
			m.t.Errorf("%s: resync or not?", show(c))
		}
		m.heard[c.Key] = c.New
	case indexer.Deleted:
		if has != nil && has.UID() != c.Old.UID() || c.New != nil {
			m.t.Errorf("%s, and another one was there", show(c))
		}
		delete(m.heard, c.Key)
	default:
		m.t.Errorf("%s", show(c))
	}
}

// pop applies one entry and compares the store with what was heard, and the
// indices with the store.
func (m *model) pop() {
	m.must(m.f.Pop(context.Background(), func(e fifo.Entry) error {
		for _, c := range m.x.Apply(e) {
			m.hear(c)
		}
		return nil
	}))
	apps, owners := map[string][]types.NamespacedName{}, map[types.UID][]types.NamespacedName{}
	var size int64
	for _, o := range m.sorted(m.heard) {
		app, _ := o.Label("app")
		apps[app] = append(apps[app], o.Key())
		uids := map[types.UID]bool{}
		indexer.OwnerUID(o, func(uid types.UID) { uids[uid] = true })
		for uid := range uids {
			owners[uid] = append(owners[uid], o.Key())
		}
		size += int64(o.Size())
	}
	for i := range 3 {
		app, owner := strconv.Itoa(i), types.UID(fmt.Sprint("o", i))
		m.same("app "+app, m.byApp.Keys(app), apps[app])
		m.same("owner "+string(owner), m.byOwner.Keys(owner), owners[owner])
	}
	if m.IntN(2) == 0 && !slices.EqualFunc(m.x.Objects(""), m.sorted(m.heard), same) {
		m.t.Errorf("the store holds another set than was heard of")
	}
	s := m.x.Stats()
	if s.Objects != len(m.heard) || s.Bytes > size || s.Packed.Objects == 0 && s.Bytes != size {
		m.t.Errorf("%+v, want %d objects of %d bytes", s, len(m.heard), size)
	}
	if err := m.x.Check(); err != nil {
		m.t.Error(err)
	}
	if m.byApp.Values() != len(apps) || m.byOwner.Values() != len(owners) {
		m.t.Errorf("an index holds values that nobody has")
	}
}

// same says whether two objects are one state: packed and unpacked, it is
// another pointer to the same bytes.
func same(a, b *wire.Object) bool {
	return a == b || a.Key() == b.Key() && a.UID() == b.UID() && a.ResourceVersion() == b.ResourceVersion() && bytes.Equal(a.Bytes(), b.Bytes())
}

// tier lets time go by, so that some objects are packed, or reads one, which may
// make it plain.
func (m *model) tier() {
	for range 3 * max(0, m.IntN(3)-1) {
		m.must(m.packer.Sweep(context.Background()))
	}
	k := key(string(rune('a' + m.IntN(8))))
	has := m.heard[k]
	for range m.IntN(3) {
		if o, ok := m.x.Object(k); ok != (has != nil) || ok && !same(o, has) {
			m.t.Errorf("%s: %v, want %v", k, o, has)
		}
	}
}

func (m *model) same(what string, got, want []types.NamespacedName) {
	if !slices.Equal(got, want) {
		m.t.Errorf("%s: %v, want %v", what, got, want)
	}
}

func TestStoreIndicesAndChangesAgreeWhateverHappens(t *testing.T) {
	for seed := range uint64(60) {
		t.Run(strconv.FormatUint(seed, 10), func(t *testing.T) {
			m := newModel(t, seed)
			m.blind()
			for range 250 {
				switch m.IntN(15) {
				case 12, 13, 14:
					m.tier()
				case 0:
					m.blind()
				case 1:
					m.f.Resync()
				case 2, 3, 4:
					if m.f.Len() > 0 {
						m.pop()
					}
				default:
					m.write(true)
				}
			}
			m.blind()
			for m.f.Len() > 0 {
				m.pop()
			}
			for k, o := range m.now {
				if got := m.heard[k]; got == nil || got.ResourceVersion() != o.ResourceVersion() || got.UID() != o.UID() {
					t.Errorf("%s: %v, the server has %s", k, got, o.ResourceVersion())
				}
			}
			if len(m.heard) != len(m.now) {
				t.Errorf("%d objects, the server has %d", len(m.heard), len(m.now))
			}
			if s := m.x.Stats(); s.Packs == 0 || s.Unpacks == 0 {
				t.Errorf("nothing was packed: %+v", s)
			}
		})
	}
}
