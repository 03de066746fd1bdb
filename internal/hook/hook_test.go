package hook

import (
	"fmt"
	"reflect"
	"slices"
	"testing"
)

func TestTwoWatchAndNothingIsInBetweenForOne(t *testing.T) {
	var told []string
	tell := func(who string, of ...any) { told = append(told, who+fmt.Sprint(of...)) }
	f0, g0 := func() { tell("f") }, func() { tell("g") }
	f1, g1 := func(a int) { tell("f", a) }, func(a int) { tell("g", a) }
	f2, g2 := func(a, b int) { tell("f", a, b) }, func(a, b int) { tell("g", a, b) }
	f3, g3 := func(a, b, c int) { tell("f", a, b, c) }, func(a, b, c int) { tell("g", a, b, c) }
	Zero(f0, g0)()
	One(f1, g1)(1)
	Two(f2, g2)(1, 2)
	Three(f3, g3)(1, 2, 3)
	if want := []string{"f", "g", "f1", "g1", "f1 2", "g1 2", "f1 2 3", "g1 2 3"}; !slices.Equal(told, want) {
		t.Errorf("told %q, want %q", told, want)
	}
	same := func(got, want any) {
		t.Helper()
		if reflect.ValueOf(got).Pointer() != reflect.ValueOf(want).Pointer() {
			t.Error("there is something in between")
		}
	}
	same(Zero(f0, nil), f0)
	same(Zero(nil, g0), g0)
	same(One(f1, nil), f1)
	same(One(nil, g1), g1)
	same(Two(f2, nil), f2)
	same(Two(nil, g2), g2)
	same(Three(f3, nil), f3)
	same(Three(nil, g3), g3)
	if Zero(nil, nil) != nil || One[int](nil, nil) != nil || Two[int, int](nil, nil) != nil || Three[int, int, int](nil, nil) != nil {
		t.Error("of none there is one")
	}
}
