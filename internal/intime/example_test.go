package intime_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"millrace/internal/intime"
)

// printed is a test that says on standard output what it has to say.
type printed struct{ testing.TB }

func (printed) Helper()                           {}
func (printed) Errorf(format string, args ...any) { fmt.Printf(format+"\n", args...) }

// A parser is given a megabyte of nothing but beginnings.
func ExampleWithin() {
	text := strings.Repeat("$(", 1<<19)
	intime.Within(printed{}, 2*time.Second, "a megabyte of brackets", func() { fmt.Println(strings.Count(text, "$(")) })
	// Output: 524288
}
