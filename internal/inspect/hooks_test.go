package inspect

import (
	"reflect"
	"testing"

	"millrace/reconcile"
	"millrace/reflector"
	"millrace/workqueue"
)

// Whoever gives a Trace another hook gives it to Then as well: what is forgotten there is
// not heard once two watch.
func TestThenForgetsNoHook(t *testing.T) {
	for _, none := range []any{workqueue.Trace[string]{}, reconcile.Trace{}, reflector.Trace{}} {
		kind := reflect.TypeOf(none)
		told := make([]string, kind.NumField())
		watching := func(who string) reflect.Value {
			trace := reflect.New(kind).Elem()
			for i := range told {
				trace.Field(i).Set(reflect.MakeFunc(kind.Field(i).Type, func([]reflect.Value) []reflect.Value {
					told[i] += who
					return nil
				}))
			}
			return trace
		}
		then := func(f, g reflect.Value) reflect.Value {
			return f.MethodByName("Then").Call([]reflect.Value{g})[0]
		}
		both := then(watching("f"), watching("g"))
		neither := then(reflect.ValueOf(none), reflect.ValueOf(none))
		for i := range told {
			field := kind.Field(i)
			if !neither.Field(i).IsNil() {
				t.Errorf("%s: nobody watches %s, and it is there", kind, field.Name)
			}
			if both.Field(i).IsNil() {
				t.Errorf("%s: %s is forgotten", kind, field.Name)
				continue
			}
			args := make([]reflect.Value, field.Type.NumIn())
			for n := range args {
				args[n] = reflect.Zero(field.Type.In(n))
			}
			both.Field(i).Call(args)
			if told[i] != "fg" {
				t.Errorf("%s: of %s was told %q", kind, field.Name, told[i])
			}
		}
	}
}
