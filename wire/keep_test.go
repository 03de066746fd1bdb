package wire_test

import (
	"runtime"
	"strings"
	"testing"
	"weak"

	"millrace/wire"
)

// What was cut is to be free: the object before, and with it its bytes, may not
// hang on what both have in common.
func TestACutObjectKeepsNothingOfTheOneBefore(t *testing.T) {
	two := strings.Replace(pod, `"ownerReferences":[`, `"ownerReferences":[{"kind":"Job","name":"j","uid":"u"},`, 1)
	for _, raw := range []string{pod, two, `{"metadata":{"name":"a","managedFields":[]}}`} {
		o := scan(t, raw)
		before := weak.Make(o)
		o = cut(t, o, wire.Path{"metadata", "managedFields"})
		runtime.GC()
		if before.Value() != nil {
			t.Errorf("an object of %d owners is kept by what was cut from it", len(o.Owners()))
		}
		runtime.KeepAlive(o)
	}
}
