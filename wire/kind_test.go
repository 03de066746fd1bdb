package wire_test

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"millrace/wire"
)

// A scanner that is told what its objects are takes nothing for one that says of
// itself that it is another thing, whatever its name. Those that say nothing are
// what their list is.
func TestAnObjectOfAnotherKindIsNone(t *testing.T) {
	about := metav1.ObjectMeta{Namespace: "ci", Name: "b", ResourceVersion: "7"}
	asPod := &corev1.Pod{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"}, ObjectMeta: about}
	asMap := &corev1.ConfigMap{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"}, ObjectMeta: about}
	stranger := `{"kind":"ConfigMap","apiVersion":"v1","metadata":{"namespace":"ci","name":"b","resourceVersion":"7"}}`

	var scanner wire.Scanner
	scanner.Only("Pod")
	events := map[string]*wire.EventReader{
		"JSON":     scanner.Events(wire.JSON, strings.NewReader(`{"type":"MODIFIED","object":`+stranger+`}{"type":"MODIFIED","object":`+strings.Replace(stranger, "ConfigMap", "Pod", 1)+`}`)),
		"protobuf": scanner.Events(wire.Protobuf, bytes.NewReader(append(framed(t, "MODIFIED", sealed(t, asMap)), framed(t, "MODIFIED", sealed(t, asPod))...))),
	}
	for format, e := range events {
		_, err := e.Next()
		var bad *wire.ScanError
		if !errors.As(err, &bad) || bad.Key.Name != "b" || bad.ResourceVersion != "7" {
			t.Errorf("%s: an event of a ConfigMap: %v", format, err)
		}
		if event, err := e.Next(); err != nil || event.Object.Key().Name != "b" {
			t.Errorf("%s: the event behind it: %v", format, err)
		}
	}

	lists := map[string]func(func(*wire.Object, error) error) error{
		"JSON": func(item func(*wire.Object, error) error) error {
			_, err := scanner.List(wire.JSON, strings.NewReader(`{"kind":"PodList","apiVersion":"v1","metadata":{},"items":[{"metadata":{"name":"a"}},`+stranger+`]}`), item)
			return err
		},
		"protobuf": func(item func(*wire.Object, error) error) error {
			_, err := scanner.List(wire.Protobuf, bytes.NewReader(listOf(t, "ConfigMapList", tagged(2, 2, marshalled(t, asMap)))), item)
			return err
		},
	}
	wanted := map[string]int{"JSON": 1, "protobuf": 0}
	for format, list := range lists {
		good, bad := 0, 0
		if err := list(func(_ *wire.Object, err error) error {
			if err != nil {
				bad++
			} else {
				good++
			}
			return nil
		}); err != nil {
			t.Errorf("%s: %v", format, err)
		}
		if want := wanted[format]; bad != 1 || good != want {
			t.Errorf("%s: of the list %d are good, and not %d; %d are bad", format, good, want, bad)
		}
	}
}
