package predicate

import (
	"fmt"
	"testing"

	"millrace/indexer"
	"millrace/wire"
)

// facts is an object in the terms that predicates look at.
type facts struct {
	uid, version, status, spec, label string
	generation                        int
	deleting                          bool
	managed                           string
	labels                            string // more of them, as JSON
}

func (f facts) object(tb testing.TB) *wire.Object {
	tb.Helper()
	deletion := ""
	if f.deleting {
		deletion = `"deletionTimestamp":"2026-09-01T00:00:00Z",`
	}
	o, err := wire.Scan(wire.JSON, fmt.Appendf(nil,
		`{"apiVersion":"v1","kind":"Thing","metadata":{"name":"a","namespace":"default",%s"uid":"u%s","resourceVersion":"1%s","generation":%d,`+
			`"labels":{"l":"%s"%s},"managedFields":[{"manager":"%s"}]},"spec":{"x":"%s"},"status":{"y":"%s"}}`,
		deletion, f.uid, f.version, f.generation, f.label, f.labels, f.managed, f.spec, f.status))
	if err != nil {
		tb.Fatal(err)
	}
	return o
}

// The table of the package doc, and its margins.
func TestTable(t *testing.T) {
	base := facts{generation: 1}
	zero := facts{}
	updated := func(before, after facts) indexer.Change {
		return indexer.Change{Type: indexer.Updated, Old: before.object(t), New: after.object(t)}
	}
	resync := func(f facts) indexer.Change {
		o := f.object(t)
		return indexer.Change{Type: indexer.Updated, Old: o, New: o, Resync: true}
	}
	for _, c := range []struct {
		name                                                     string
		change                                                   indexer.Change
		generationChanged, noGeneration, dependent, labelChanged bool
	}{
		{"created", indexer.Change{Type: indexer.Created, New: base.object(t)}, true, true, false, true},
		{"created, initial", indexer.Change{Type: indexer.Created, New: base.object(t), Initial: true}, true, true, false, true},
		{"deleted", indexer.Change{Type: indexer.Deleted, Old: base.object(t)}, true, true, true, true},
		{"deleted, final state unknown", indexer.Change{Type: indexer.Deleted, Old: base.object(t), FinalStateUnknown: true}, true, true, true, true},
		{"deleted, nothing known", indexer.Change{Type: indexer.Deleted, FinalStateUnknown: true}, true, true, true, true},
		{"generic", indexer.Change{Type: indexer.Generic}, true, true, false, true},
		{"generic with an object", indexer.Change{Type: indexer.Generic, New: base.object(t)}, true, true, false, true},
		{"resync", resync(base), true, false, false, true},
		{"resync of generation 0", resync(zero), true, true, false, true},
		{"status", updated(base, facts{generation: 1, version: "1", status: "s"}), false, false, false, false},
		{"status, merged", indexer.Change{Type: indexer.Updated, Old: base.object(t), New: facts{generation: 1, status: "s"}.object(t), Merged: 9}, false, false, false, false},
		{"status of generation 0", updated(zero, facts{version: "1", status: "s"}), false, true, false, false},
		{"managedFields", updated(base, facts{generation: 1, version: "1", managed: "m"}), false, false, false, false},
		{"spec", updated(base, facts{generation: 2, version: "1", spec: "s"}), true, false, true, false},
		{"spec of generation 0", updated(zero, facts{version: "1", spec: "s"}), false, true, true, false},
		{"spec and status", updated(base, facts{generation: 2, version: "1", spec: "s", status: "s"}), true, false, true, false},
		{"label", updated(base, facts{generation: 1, version: "1", label: "l"}), false, false, true, true},
		{"a label less", updated(facts{generation: 1, labels: `,"m":"1"`}, base), false, false, true, true},
		{"a label more", updated(base, facts{generation: 1, labels: `,"m":"1"`}), false, false, true, true},
		{"another label", updated(facts{generation: 1, labels: `,"m":"1"`}, facts{generation: 1, labels: `,"n":"1"`}), false, false, true, true},
		{"labels in another order", updated(facts{generation: 1, labels: `,"m":"1","n":"2"`}, facts{generation: 1, labels: `,"n":"2","m":"1"`}), false, false, false, false},
		{"deletionTimestamp", updated(base, facts{generation: 1, version: "1", deleting: true}), true, false, true, true},
		{"deletionTimestamp, counted", updated(base, facts{generation: 2, version: "1", deleting: true}), true, false, true, true},
		{"deletionTimestamp of generation 0", updated(zero, facts{version: "1", deleting: true}), true, true, true, true},
		{"another UID", updated(base, facts{generation: 1, version: "1", uid: "2"}), true, false, true, true},
		{"a generation begins", updated(zero, base), true, false, true, false},
		{"update without old", indexer.Change{Type: indexer.Updated, New: base.object(t)}, true, true, true, true},
		{"update without new", indexer.Change{Type: indexer.Updated, Old: base.object(t)}, true, true, true, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			check(t, "GenerationChanged", GenerationChanged(c.change), c.generationChanged)
			check(t, "NoGeneration", NoGeneration(c.change), c.noGeneration)
			check(t, "Dependent", Dependent(c.change), c.dependent)
			check(t, "LabelChanged", LabelChanged(c.change), c.labelChanged)
			check(t, "Or of the first two", Or(GenerationChanged, NoGeneration)(c.change), c.generationChanged || c.noGeneration)
			check(t, "And of all", And(GenerationChanged, NoGeneration, Dependent)(c.change), c.generationChanged && c.noGeneration && c.dependent)
			check(t, "Not Dependent", Not(Dependent)(c.change), !c.dependent)
		})
	}
}

func check(t *testing.T, what string, got, want bool) {
	t.Helper()
	if got != want {
		t.Errorf("%s says %v, want %v", what, got, want)
	}
}

// And and Or ask from left to right and no further than they must.
func TestAndOrNot(t *testing.T) {
	asked := ""
	say := func(name string, answer bool) Func {
		return func(indexer.Change) bool {
			asked += name
			return answer
		}
	}
	for _, c := range []struct {
		p     Func
		want  bool
		asked string
	}{
		{And(), true, ""},
		{Or(), false, ""},
		{And(say("a", true), say("b", false), say("c", true)), false, "ab"},
		{And(say("a", true), say("b", true)), true, "ab"},
		{Or(say("a", false), say("b", true), say("c", true)), true, "ab"},
		{Or(say("a", false), say("b", false)), false, "ab"},
		{Not(say("a", true)), false, "a"},
		{Not(say("a", false)), true, "a"},
	} {
		asked = ""
		if got := c.p(indexer.Change{}); got != c.want || asked != c.asked {
			t.Errorf("got %v after asking %q, want %v after %q", got, asked, c.want, c.asked)
		}
	}
}

func BenchmarkGenerationChanged(b *testing.B) {
	c := indexer.Change{Type: indexer.Updated, Old: facts{generation: 1}.object(b), New: facts{generation: 1, status: "s"}.object(b)}
	b.ReportAllocs()
	for b.Loop() {
		if GenerationChanged(c) {
			b.Fatal("passed")
		}
	}
}

func BenchmarkDependent(b *testing.B) {
	c := indexer.Change{Type: indexer.Updated, Old: facts{generation: 1}.object(b), New: facts{generation: 1, status: "s"}.object(b)}
	b.ReportAllocs()
	for b.Loop() {
		if Dependent(c) {
			b.Fatal("passed")
		}
	}
}

// Predicates are asked for every event: those here do not allocate.
func TestPredicatesDoNotAllocate(t *testing.T) {
	c := indexer.Change{Type: indexer.Updated, Old: facts{generation: 1, labels: `,"m":"1"`}.object(t), New: facts{generation: 1, status: "s", labels: `,"m":"1"`}.object(t)}
	for name, p := range map[string]Func{"GenerationChanged": GenerationChanged, "NoGeneration": NoGeneration, "Dependent": Dependent, "LabelChanged": LabelChanged} {
		if n := testing.AllocsPerRun(100, func() { p(c) }); n != 0 {
			t.Errorf("%s: %v allocations", name, n)
		}
	}
}
