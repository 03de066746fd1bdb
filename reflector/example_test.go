package reflector_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"millrace/reflector"
	"millrace/wire"
)

// printer is a sink that prints what it is told. It says when an object was found,
// and has heard enough after a deletion.
type printer struct {
	found  chan<- string
	enough context.CancelFunc
}

func (p printer) Begin()                    { fmt.Println("a list begins") }
func (p printer) Item(o *wire.Object) error { return say("  has", o) }
func (p printer) Commit(rv string)          { fmt.Println("the list is complete as of", rv) }
func (p printer) Abort()                    { fmt.Println("the list is not complete") }
func (p printer) Keep(key types.NamespacedName) {
	fmt.Println("  has", key, "which cannot be read")
}

func (p printer) Found(o *wire.Object) error {
	defer func() { p.found <- o.Key().Name }()
	return say("found", o)
}
func (p printer) Gone(key types.NamespacedName) { fmt.Println("gone", key) }

func (p printer) Add(o *wire.Object) error    { return say("added", o) }
func (p printer) Update(o *wire.Object) error { return say("changed", o) }
func (p printer) Delete(o *wire.Object) error {
	defer p.enough()
	return say("gone", o)
}
func (p printer) Bookmark(rv string) { fmt.Println("nothing else up to", rv) }
func (p printer) Resync()            {}

func say(what string, o *wire.Object) error {
	fmt.Println(what, o.Key(), "at", o.ResourceVersion())
	return nil
}

// A sink hears of a server's pods, first those that are there, then what
// happens, over one HTTP request. One of them cannot be read; it is asked for by
// itself a second later.
func Example() {
	found := make(chan string, 1)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Get("fieldSelector") == "metadata.name=odd" {
			_, _ = io.WriteString(w, `{"metadata":{"resourceVersion":"15"},"items":[{"metadata":{"namespace":"ci","name":"odd","resourceVersion":"6"}}]}`)
			return
		}
		_, _ = io.WriteString(w, `
{"type":"ADDED","object":{"metadata":{"namespace":"ci","name":"build","resourceVersion":"5"}}}
{"type":"ADDED","object":{"metadata":{"namespace":"ci","name":"odd","resourceVersion":"6","labels":7}}}
{"type":"ADDED","object":{"metadata":{"namespace":"ci","name":"test","resourceVersion":"7"}}}
{"type":"BOOKMARK","object":{"metadata":{"resourceVersion":"9","annotations":{"k8s.io/initial-events-end":"true"}}}}
{"type":"MODIFIED","object":{"metadata":{"namespace":"ci","name":"build","resourceVersion":"10"}}}
{"type":"BOOKMARK","object":{"metadata":{"resourceVersion":"15"}}}
`)
		_ = http.NewResponseController(w).Flush()
		<-found
		_, _ = io.WriteString(w, `{"type":"DELETED","object":{"metadata":{"namespace":"ci","name":"test","resourceVersion":"16"}}}
`)
	}))
	defer server.Close()
	client, err := rest.RESTClientFor(&rest.Config{
		Host: server.URL, APIPath: "/api", QPS: -1, // no rate limit: the reflector paces itself
		ContentConfig: rest.ContentConfig{
			GroupVersion:         &schema.GroupVersion{Version: "v1"},
			NegotiatedSerializer: serializer.NewCodecFactory(scheme()),
		},
	})
	if err != nil {
		fmt.Println(err)
		return
	}

	ctx, cancel := context.WithCancel(context.Background())
	pods := reflector.New(client, "pods", printer{found, cancel}, reflector.Config{Namespace: "ci"})
	fmt.Println("stopped:", pods.Run(ctx))
	// Output:
	// a list begins
	//   has ci/build at 5
	//   has ci/odd which cannot be read
	//   has ci/test at 7
	// the list is complete as of 9
	// changed ci/build at 10
	// nothing else up to 15
	// found ci/odd at 6
	// gone ci/test at 16
	// stopped: <nil>
}

// scheme knows nothing but how a server says that it failed.
func scheme() *runtime.Scheme {
	s := runtime.NewScheme()
	metav1.AddToGroupVersion(s, schema.GroupVersion{Version: "v1"})
	return s
}
