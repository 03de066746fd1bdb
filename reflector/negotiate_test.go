package reflector

import (
	"encoding/binary"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"

	"millrace/wire"
)

// binaryOf spells an object as an API server's protobuf.
func binaryOf(t *testing.T, o runtime.Object, kind string) []byte {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := corev1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	o.GetObjectKind().SetGroupVersionKind(schema.GroupVersionKind{Version: "v1", Kind: kind})
	var b strings.Builder
	if err := protobuf.NewSerializer(scheme, scheme).Encode(o, &b); err != nil {
		t.Fatal(err)
	}
	return []byte(b.String())
}

func aPod(name, resourceVersion string) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default", UID: "u", ResourceVersion: resourceVersion}}
}

// binaryEvent is a frame of a protobuf watch.
func binaryEvent(t *testing.T, kind string, pod *corev1.Pod) act {
	t.Helper()
	frame, err := (&metav1.WatchEvent{Type: kind, Object: runtime.RawExtension{Raw: binaryOf(t, pod, "Pod")}}).Marshal()
	if err != nil {
		t.Fatal(err)
	}
	return binarySend(append(binary.BigEndian.AppendUint32(nil, uint32(len(frame))), frame...))
}

func binarySend(b []byte) act {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/vnd.kubernetes.protobuf")
		_, _ = w.Write(b)
		flush(w)
	}
}

func (s *story) accepted(want ...string) {
	s.t.Helper()
	if diff := cmp.Diff(want, s.accept); diff != "" {
		s.t.Errorf("Accept of each request (-want +got):\n%s", diff)
	}
}

const (
	wantEither     = "application/vnd.kubernetes.protobuf,application/json;q=0.9"
	wantEitherDrop = "application/vnd.kubernetes.protobuf;drop=metadata.managedFields,application/json;drop=metadata.managedFields;q=0.9"
	wantJSON       = "application/json"
	wantJSONDrop   = "application/json;drop=metadata.managedFields"
)

// A server that has protobuf of the resource sends it, streamed or in a list.
func TestProtobufIsReadWhereItIsSent(t *testing.T) {
	end := aPod("", "9")
	end.Annotations = map[string]string{metav1.InitialEventsAnnotationKey: "true"}
	page := binaryOf(t, &corev1.PodList{ListMeta: metav1.ListMeta{ResourceVersion: "20"}, Items: []corev1.Pod{*aPod("a", "12")}}, "PodList")
	tell(t, Config{Format: wire.Protobuf}, []answer{
		{binaryEvent(t, "ADDED", aPod("a", "5")), binaryEvent(t, "BOOKMARK", end), pause(time.Minute), binaryEvent(t, "MODIFIED", aPod("a", "12"))},
		{fail(410, expiredStatus)},
		{fail(422, noWatchList)},
		{binarySend(page)},
		{binaryEvent(t, "DELETED", aPod("a", "21")), open},
	}, func(s *story) {
		s.after(time.Minute, `
			0s WATCHLIST
			0s begin
			0s item a@5
			0s commit 9
			1m0s update a@12
			1m0s WATCH rv=12
			1m0s WATCHLIST rv=12
			1m0s LIST rv=12
			1m0s begin
			1m0s item a@12
			1m0s commit 20
			1m0s relisted: expired
			1m0s WATCH rv=20
			1m0s delete a@21
		`)
		s.accepted(wantEither, wantEither, wantEither, wantEither, wantEither)
	})
}

// What comes decides how it is read, not what was asked for.
func TestJSONIsReadWhereProtobufWasAskedFor(t *testing.T) {
	tell(t, Config{Format: wire.Protobuf}, []answer{
		{event("ADDED", pod("a", "5")), endOfInitial("9"), pause(time.Minute)},
		{binaryEvent(t, "MODIFIED", aPod("a", "12")), open},
	}, func(s *story) {
		s.after(time.Minute, `
			0s WATCHLIST
			0s begin
			0s item a@5
			0s commit 9
			1m0s WATCH rv=9
			1m0s update a@12
		`)
	})
}

// An aggregated API may refuse to hear of protobuf at all. It is asked for JSON
// at once, and from then on.
func TestNotAcceptableIsFoundOutOnce(t *testing.T) {
	no := fail(406, status(406, "NotAcceptable", "only the following media types are accepted: application/json", ""))
	tell(t, Config{Format: wire.Protobuf}, []answer{
		{no},
		synced("9", quiet(1, "15"), event("ERROR", expiredStatus)),
		synced("20", quiet(1, "21")),
		{open},
	}, func(s *story) {
		s.after(2*time.Minute, `
			0s WATCHLIST
			0s WATCHLIST
			0s begin
			0s commit 9
			1m0s bookmark 15
			1m0s WATCHLIST rv=15
			1m0s begin
			1m0s commit 20
			1m0s relisted: expired
			2m0s bookmark 21
			2m0s WATCH rv=21
		`)
		s.accepted(wantEither, wantJSON, wantJSON, wantJSON)
	})
}

// A server that accepts nothing is no hot loop: it shows, and it is asked again
// at the pace of the backoff.
func TestNothingAcceptableBacksOff(t *testing.T) {
	no := answer{fail(406, status(406, "NotAcceptable", "only application/yaml", ""))}
	tell(t, Config{Format: wire.Protobuf}, []answer{no, no, no, no}, func(s *story) {
		s.after(time.Second, `
			0s WATCHLIST
			0s WATCHLIST
			0s LIST
			0s failed 1, wait 800ms
			800ms LIST
			800ms failed 2, wait 1.6s
		`)
		if err := s.r.LastError(); err == nil || !strings.Contains(err.Error(), "only application/yaml") {
			s.t.Errorf("LastError is %v", err)
		}
	})
}

// The door for KEP-5958. Servers that do not know the parameter pass over it;
// one that refuses it gets the same request without.
func TestManagedFieldsAreDroppedWhereTheServerCan(t *testing.T) {
	no := answer{fail(406, status(406, "NotAcceptable", "drop", ""))}
	for _, c := range []struct {
		format  wire.Format
		refuses int
		want    []string
	}{
		{wire.JSON, 0, []string{wantJSONDrop}},
		{wire.JSON, 1, []string{wantJSONDrop, wantJSON}},
		{wire.Protobuf, 0, []string{wantEitherDrop}},
		{wire.Protobuf, 1, []string{wantEitherDrop, wantEither}},
		{wire.Protobuf, 2, []string{wantEitherDrop, wantEither, wantJSON}},
	} {
		t.Run(fmt.Sprint(c.format, " refused ", c.refuses), func(t *testing.T) {
			script := make([]answer, 0, c.refuses+1)
			for range c.refuses {
				script = append(script, no)
			}
			tell(t, Config{Format: c.format, DropManagedFields: true}, append(script, synced("9", open)), func(s *story) {
				s.pass(time.Minute)
				s.accepted(c.want...)
				if s.r.State() != Watching {
					s.t.Errorf("state is %v", s.r.State())
				}
			})
		})
	}
}

// A login page, with a 200 before it as usual, is called what it is, and is no
// hot loop.
func TestRubbish(t *testing.T) {
	rubbish := answer{send("\n<html>login</html>\n")}
	tell(t, Config{}, []answer{rubbish, {list("10", "")}, rubbish, rubbish, {open}}, func(s *story) {
		s.after(time.Second, `
			0s WATCHLIST
			0s begin
			0s abort
			0s LIST
			0s begin
			0s commit 10
			0s WATCH rv=10
			0s failed 2, wait 1.6s
		`)
		const want = `watch pods: the answer is neither JSON nor Kubernetes protobuf: it begins with "\n<html>login</html>\n"`
		if err := s.r.LastError(); err == nil || err.Error() != want {
			s.t.Errorf("LastError is %v", err)
		}
		s.after(time.Minute, `
			1.6s WATCH rv=10
			1.6s failed 3, wait 3.2s
			4.8s WATCH rv=10
		`)
	})
}

// So is a list that is none.
func TestRubbishInPlaceOfAList(t *testing.T) {
	for name, c := range map[string]struct{ answer, want string }{
		"page":   {"<html>", `list pods: the answer is neither JSON nor Kubernetes protobuf: it begins with "<html>"`},
		"status": {`{"kind":"Status","apiVersion":"v1","status":"Success"}`, `list pods: read list of kind "Status": no items: the answer is not a list`},
		"table":  {`{"kind":"Table","apiVersion":"meta.k8s.io/v1","metadata":{"resourceVersion":"10"},"columnDefinitions":[],"rows":[]}`, "list pods: " + errTable.Error()},
		"events": {`{"type":"ADDED","object":{"kind":"Table","apiVersion":"meta.k8s.io/v1","rows":[]}}`, "list pods: " + errTable.Error()},
		"cut":    {`k8s` + "\x00", `list pods: read list of kind "": no items: the answer is not a list`},
	} {
		t.Run(name, func(t *testing.T) {
			tell(t, Config{PagedListOnly: true}, []answer{{send(c.answer)}, {list("11", "")}}, func(s *story) {
				s.pass(0)
				if err := s.r.LastError(); err == nil || err.Error() != c.want {
					s.t.Errorf("LastError is %v\n want %v", err, c.want)
				}
				s.after(time.Second, `
					800ms LIST
					800ms begin
					800ms commit 11
					800ms WATCH rv=11
				`)
			})
		})
	}
}

// A watch of a Table is a mistake of somebody on the way; its events have no
// keys to put right.
func TestWatchOfATable(t *testing.T) {
	table := `{"kind":"Table","apiVersion":"meta.k8s.io/v1","metadata":{"resourceVersion":"10"},"columnDefinitions":null,"rows":[]}`
	tell(t, Config{PagedListOnly: true}, []answer{{list("9", "")}, {event("ADDED", table), open}}, func(s *story) {
		s.after(0, `
			0s LIST
			0s begin
			0s commit 9
			0s WATCH rv=9
			0s failed 1, wait 800ms
		`)
		if err := s.r.LastError(); err == nil || !strings.Contains(err.Error(), errTable.Error()) {
			s.t.Errorf("LastError is %v", err)
		}
	})
}

// The first bytes tell the formats apart, wherever the first piece ends.
func TestFormatOfAnAnswer(t *testing.T) {
	frame := binary.BigEndian.AppendUint32(nil, wire.MaxFrame-4)
	for head, want := range map[string]wire.Format{
		`{"kind":`: wire.JSON, "{": wire.JSON, " \n\t{": wire.JSON, "\n": wire.JSON,
		"k8s\x00": wire.Protobuf, "k": wire.Protobuf, string(frame): wire.Protobuf, "\x00": wire.Protobuf, "\x00\x00\x00\x0a": wire.Protobuf,
		`{"kind":"Table","apiVersion":"tables.example.com/v1"`: wire.JSON,
		"[": 0, "<": 0, "upstream connect error": 0, "\xd9\xd9\xf7\xa4": 0, // CBOR: not yet
	} {
		got, err := formatOf([]byte(head))
		if got != want || (err == nil) != (want != 0) {
			t.Errorf("%q: format %v, error %v", head, got, err)
		}
	}
}
