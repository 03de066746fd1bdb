package inspect

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
)

// Chains are shown in the order in which they were made, those of one object behind those of
// a whole resource.
func TestWholeResourcesComeFirst(t *testing.T) {
	i := New("v1", func() bool { return true })
	for _, name := range []string{"configmaps/a", "taskruns", "configmaps/b", "pods"} {
		i.Resource(name)
	}
	var names []string
	resources, _ := i.all()
	for _, r := range resources {
		names = append(names, r.name)
	}
	if want := []string{"taskruns", "pods", "configmaps/a", "configmaps/b"}; !slices.Equal(names, want) {
		t.Errorf("%v, want %v", names, want)
	}
}

// A replica without a share of its own is told from one that shares with nobody.
func TestTheSnapshotTellsOfAShare(t *testing.T) {
	share := 0.25
	i := New("v1", func() bool { return false })
	shows := func(want string) {
		t.Helper()
		text, err := json.Marshal(i.Snapshot())
		if err != nil || strings.Contains(string(text), `"share"`) != (want != "") || !strings.Contains(string(text), want) {
			t.Errorf("%s, %v, want %s", text, err, want)
		}
	}
	shows("")
	i.Shared(func() float64 { return share })
	shows(`"share":0.25,`)
	share = 0
	shows(`"share":0,`)
}
