package wire_test

import (
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"millrace/wire"
)

// list reads a list; bad items stop it.
func list(body string) ([]*wire.Object, wire.ListMeta, error) {
	var items []*wire.Object
	meta, err := new(wire.Scanner).List(wire.JSON, strings.NewReader(body), func(o *wire.Object, err error) error {
		if err == nil {
			items = append(items, o.Own())
		}
		return err
	})
	return items, meta, err
}

func TestListMetadataMayStandAnywhere(t *testing.T) {
	const meta, items, kind = `"metadata":{"resourceVersion":"77","continue":"next","remainingItemCount":3}`, `"items":[{"metadata":{"name":"a"}},{"metadata":{"name":"b"}}]`, `"kind":"PodList","apiVersion":"v1"`
	for _, body := range []string{
		`{` + kind + `,` + meta + `,` + items + `}`,
		`{` + items + `,` + kind + `,` + meta + `}`,
		" {\n" + meta + ",\n" + items + "}\n",
	} {
		got, about, err := list(body)
		if err != nil || len(got) != 2 {
			t.Fatalf("%d items, %v: %s", len(got), err, body)
		}
		if want := (wire.ListMeta{ResourceVersion: "77", Continue: "next", RemainingItemCount: 3}); about != want {
			t.Errorf("%+v: %s", about, body)
		}
	}
}

func TestItemsGetTheKindOfTheirList(t *testing.T) {
	tests := []struct{ name, list, item, want string }{
		{"both missing", `"kind":"PodList","apiVersion":"v1"`, `{"metadata":{"name":"a"}}`, `{"kind":"Pod","apiVersion":"v1","metadata":{"name":"a"}}`},
		{"they have their own", `"kind":"PodList","apiVersion":"v1"`, `{"kind":"X","apiVersion":"y","metadata":{"name":"a"}}`, `{"kind":"X","apiVersion":"y","metadata":{"name":"a"}}`},
		{"one missing", `"kind":"PodList","apiVersion":"v1"`, `{"apiVersion":"y","metadata":{"name":"a"}}`, `{"kind":"Pod","apiVersion":"y","metadata":{"name":"a"}}`},
		{"a list of anything", `"kind":"List","apiVersion":"v1"`, `{"metadata":{"name":"a"}}`, `{"metadata":{"name":"a"}}`},
		{"a kind that must be escaped", `"kind":"P\"\\\u0001éList","apiVersion":"v1"`, `{"metadata":{"name":"a"}}`, `{"kind":"P\"\\\u0001é","apiVersion":"v1","metadata":{"name":"a"}}`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			items, _, err := list(`{` + test.list + `,"items":[` + test.item + `]}`)
			if err != nil {
				t.Fatal(err)
			}
			if got := string(items[0].Bytes()); got != test.want {
				t.Errorf("%s, want %s", got, test.want)
			}
			// What knows where metadata is must know it after the shift.
			if got := string(cut(t, items[0], wire.Path{"metadata", "name"}).Bytes()); got != strings.Replace(test.want, `"name":"a"`, "", 1) {
				t.Errorf("without name: %s", got)
			}
		})
	}
}

func TestAnObjectIsTheSameFromAListAndFromAWatch(t *testing.T) {
	items, _, err := list(`{"kind":"PodList","apiVersion":"v1","items":[` + pod + `]}`)
	if err != nil {
		t.Fatal(err)
	}
	e, err := events(`{"type":"ADDED","object":{"kind":"Pod","apiVersion":"v1",` + pod[1:] + `}`).Next()
	if err != nil {
		t.Fatal(err)
	}
	if wire.Changed(items[0], e.Object) {
		t.Errorf("changed:\n%s\n%s", items[0].Bytes(), e.Object.Bytes())
	}
}

func TestItemsAreHandedOverBeforeTheListHasArrived(t *testing.T) {
	r, w := io.Pipe()
	seen := make(chan string)
	done := make(chan error)
	go func() {
		_, err := new(wire.Scanner).List(wire.JSON, r, func(o *wire.Object, err error) error {
			seen <- o.Key().Name
			return err
		})
		done <- err
	}()
	write := func(s string) {
		if _, err := io.WriteString(w, s); err != nil {
			t.Error(err)
		}
	}
	write(`{"items":[{"metadata":{"name":"a"}}`)
	check(t, "first", <-seen, "a")
	write(`,{"metadata":{"name":"b"}}`)
	check(t, "second", <-seen, "b")
	write(`]}`)
	if err := <-done; err != nil {
		t.Error(err)
	}
}

func TestAListThatBreaksOffIsAnError(t *testing.T) {
	body := `{"kind":"PodList","items":[` + pod + `],"metadata":{"resourceVersion":"7"}}`
	for n := range len(body) {
		if _, _, err := list(body[:n]); !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Fatalf("after %d bytes: %v", n, err)
		}
	}
}

func TestABadItemDoesNotSpoilTheList(t *testing.T) {
	var good, bad []string
	meta, err := new(wire.Scanner).List(wire.JSON, strings.NewReader(
		`{"items":[{"metadata":{"name":"a"}},{"metadata":{"name":"b","namespace":"n","resourceVersion":"4","labels":7}},{"spec":{}},null,{"metadata":{"name":"c"}}],"metadata":{"resourceVersion":"9"}}`),
		func(o *wire.Object, err error) error {
			var scan *wire.ScanError
			switch {
			case errors.As(err, &scan):
				bad = append(bad, scan.Key.String()+"@"+scan.ResourceVersion)
			case err != nil:
				return err
			default:
				good = append(good, o.Key().Name)
			}
			return nil
		})
	if err != nil || meta.ResourceVersion != "9" {
		t.Fatalf("%+v, %v", meta, err)
	}
	if strings.Join(good, " ") != "a c" || strings.Join(bad, " ") != "n/b@4 /@ /@" {
		t.Errorf("good %q, bad %q", good, bad)
	}
}

func TestTheCallerCanStopAList(t *testing.T) {
	stop := errors.New("enough")
	n := 0
	_, err := new(wire.Scanner).List(wire.JSON, strings.NewReader(`{"items":[{"metadata":{"name":"a"}},{"metadata":{"name":"b"}}]}`),
		func(*wire.Object, error) error { n++; return stop })
	if !errors.Is(err, stop) || n != 1 {
		t.Errorf("%v after %d items", err, n)
	}
}

func TestWhatIsNoListIsRefused(t *testing.T) {
	for _, body := range []string{
		`{"kind":"Table","apiVersion":"meta.k8s.io/v1","rows":[]}`,
		`{"kind":"Status","status":"Failure","code":403}`,
		`[]`, `null`, `"x"`, `<html>`,
		`{"items":{}}`, `{"items":[],"metadata":{"resourceVersion":7}}`, `{"metadata":[],"items":[]}`,
	} {
		if _, _, err := list(body); err == nil {
			t.Errorf("accepted: %s", body)
		}
	}
}

func TestAnEmptyListIsAList(t *testing.T) {
	for _, body := range []string{`{"items":[],"metadata":{"resourceVersion":"7"}}`, `{"items":null,"metadata":{"resourceVersion":"7"}}`} {
		items, meta, err := list(body)
		if err != nil || len(items) != 0 || meta.ResourceVersion != "7" {
			t.Errorf("%d items, %+v, %v: %s", len(items), meta, err, body)
		}
	}
}

func TestAListComesOutTheSameInAnyPieces(t *testing.T) {
	body := `{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"7"},"items":[` + strings.Repeat(pod+` , `, 40) + pod + `]}`
	whole, _, err := list(body)
	if err != nil {
		t.Fatal(err)
	}
	i := 0
	_, err = new(wire.Scanner).List(wire.JSON, iotest.OneByteReader(strings.NewReader(body)), func(o *wire.Object, err error) error {
		if string(o.Bytes()) != string(whole[i].Bytes()) || o.Key() != whole[i].Key() {
			t.Errorf("item %d:\n%s\n%s", i, o.Bytes(), whole[i].Bytes())
		}
		i++
		return err
	})
	if err != nil || i != len(whole) {
		t.Errorf("%d of %d items, %v", i, len(whole), err)
	}
}
