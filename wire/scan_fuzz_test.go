package wire_test

import (
	"errors"
	"fmt"
	"maps"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/json"

	"millrace/wire"
)

// seeds are the inputs that the fuzzers start from: everything that the JSON of
// an object may do at its corners.
var seeds = []string{
	pod,
	`{}`,
	`null`,
	`[]`,
	`"x"`,
	` { "metadata" : { "name" : "a" } } `,
	`{"metadata":null,"kind":null,"apiVersion":"v1"}`,
	`{"metadata":{"name":"a","name":"b","name":null}}`,
	`{"metadata":{"name":"a"},"metadata":{"namespace":"b"}}`,
	`{"metadata":{"Name":"a","NAME":"b"}}`,
	`{"metadata":{"n\u0061me":"\u0041\ud83d\ude00\ud800x\/\b\f\n\r\t\"\\"}}`,
	"{\"metadata\":{\"name\":\"\xff\xc3\x28é\"}}",
	"{\"metadata\":{\"name\":\"a\nb\"}}",
	`{"metadata":{"name":5}}`,
	`{"metadata":{"uid":"u","resourceVersion":"18446744073709551616","generation":9223372036854775807}}`,
	`{"metadata":{"generation":9223372036854775808}}`,
	`{"metadata":{"generation":1.0}}`,
	`{"metadata":{"generation":-0}}`,
	`{"metadata":{"generation":01}}`,
	`{"metadata":{"generation":1e2,"x":-1.5E+10}}`,
	`{"metadata":{"creationTimestamp":"2026-01-02T03:04:05Z","deletionTimestamp":"2026-01-02T03:04:05+01:00","deletionGracePeriodSeconds":30}}`,
	`{"metadata":{"creationTimestamp":null,"deletionTimestamp":null}}`,
	`{"metadata":{"deletionTimestamp":"yesterday"}}`,
	`{"metadata":{"labels":{"a":"1","b":null,"a":"2"},"labels":{"c":"3"}}}`,
	`{"metadata":{"labels":{"a":"1"},"labels":null}}`,
	`{"metadata":{"labels":{"a":{}}}}`,
	`{"metadata":{"annotations":{"a":1}}}`,
	`{"metadata":{"finalizers":["a",null]}}`,
	`{"metadata":{"finalizers":["a",1]}}`,
	`{"metadata":{"ownerReferences":[{"kind":"A","name":"a","uid":"1","controller":true},null,{"controller":null}]}}`,
	`{"metadata":{"ownerReferences":[{"name":"a","uid":"1"},{"name":"b"}],"ownerReferences":[{"kind":"C"}],"ownerReferences":[{},{}]}}`,
	`{"metadata":{"ownerReferences":[{"name":"a"}],"ownerReferences":[],"ownerReferences":[{"kind":"C"}]}}`,
	`{"metadata":{"managedFields":[{"manager":"m","operation":"Update","time":"2026-01-02T03:04:05Z","fieldsType":"FieldsV1","fieldsV1":{"f:a":{}}}]}}`,
	`{"metadata":{"managedFields":[{"time":1}]}}`,
	`{"metadata":{"name":"a"}}x`,
	`{"metadata":{"name":"a"},}`,
	`{"metadata":{"name":"a"}`,
	`{"a":[1,2,[3,{"b":true,"c":false}]],"d":-}`,
	`{"a":tru}`,
	`{"a":"\x"}`,
	`{"a":"\u12g4"}`,
}

// FuzzScan holds the scanner against the ordinary decoder: for every input,
// either both fail or both agree on all the facts that an Object has.
func FuzzScan(f *testing.F) {
	for _, s := range seeds {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		before := string(raw)
		o, err := wire.Scan(wire.JSON, raw)
		if string(raw) != before {
			t.Fatal("the scan has changed its input")
		}
		var want metav1.PartialObjectMetadata
		wantErr := json.Unmarshal(raw, &want)
		if wantErr == nil && isNull(raw) {
			wantErr = fmt.Errorf("null is no object here")
		}
		if errors.Is(err, wire.ErrManyOwners) {
			return
		}
		if (err != nil) != (wantErr != nil) {
			t.Fatalf("scan: %v, decode: %v", err, wantErr)
		}
		if err == nil {
			agree(t, o, &want)
		}
	})
}

func isNull(raw []byte) bool {
	var v any
	return json.Unmarshal(raw, &v) == nil && v == nil
}

func agree(t *testing.T, o *wire.Object, want *metav1.PartialObjectMetadata) {
	t.Helper()
	check(t, "key", o.Key(), types.NamespacedName{Namespace: want.Namespace, Name: want.Name})
	check(t, "uid", o.UID(), want.UID)
	check(t, "resourceVersion", o.ResourceVersion(), want.ResourceVersion)
	check(t, "generation", o.Generation(), want.Generation)
	check(t, "deleting", o.Deleting(), want.DeletionTimestamp != nil)
	labels := maps.Collect(o.Labels())
	if !maps.Equal(labels, want.Labels) {
		t.Errorf("labels: %q, want %q", labels, want.Labels)
	}
	for key, value := range want.Labels {
		if got, ok := o.Label(key); !ok || got != value {
			t.Errorf("label %q: %q, %v, want %q", key, got, ok, value)
		}
	}
	check(t, "number of owners", len(o.Owners()), len(want.OwnerReferences))
	for i, owner := range want.OwnerReferences {
		check(t, "owner", o.Owners()[i], wire.Owner{
			APIVersion: owner.APIVersion,
			Kind:       owner.Kind,
			Name:       owner.Name,
			UID:        owner.UID,
			Controller: owner.Controller != nil && *owner.Controller,
		})
	}
}

func check[T comparable](t *testing.T, what string, got, want T) {
	t.Helper()
	if got != want {
		t.Errorf("%s: %+v, want %+v", what, got, want)
	}
}
