package apiserver_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"

	"millrace/internal/simulation/apiserver"
	"millrace/wire"
)

// spoiling spoils each list and each event of pods in one way.
type spoiling struct {
	apiserver.Calm

	how apiserver.Spoiling
}

func (s spoiling) Request(r apiserver.Request) apiserver.Verdict {
	if r.Verb != "list" {
		return apiserver.Verdict{}
	}
	return apiserver.Verdict{Spoil: s.how, Item: 1}
}

func (s spoiling) Event(e apiserver.Event) apiserver.EventVerdict {
	if e.Object.GetName() != "b" {
		return apiserver.EventVerdict{}
	}
	return apiserver.EventVerdict{Spoil: s.how}
}

// What is spoiled is one object: those before and behind it are read, and what is
// stored is whole.
func TestASpoiledObjectSpoilsNoOther(t *testing.T) {
	unreadable := map[apiserver.Spoiling]bool{apiserver.Truncated: true, apiserver.Malformed: true, apiserver.Nameless: true}
	for how := apiserver.Truncated; how <= apiserver.ManyManagers; how++ {
		for _, encoding := range encodings {
			bubble(t, encoding, spoiling{how: how}, func(ctx context.Context, r *rig) {
				for _, name := range []string{"a", "b", "c"} {
					if _, err := r.Actor("user").Create("pods", pod(name)); err != nil {
						r.Fatal(err)
					}
				}
				listed, refused, err := r.scanList(ctx, encoding)
				inList := encoding == runtime.ContentTypeProtobuf || how != apiserver.Truncated // of a cut object of JSON the list is cut as well
				if want := 3; inList && (err != nil || len(listed)+refused != want || (refused == 1) != unreadable[how]) {
					r.Errorf("%s, spoiled as %d: a list of %v, %d unreadable: %v", encoding, how, listed, refused, err)
				} else if !inList && err == nil {
					r.Errorf("%s: the list was read", encoding)
				}
				told, refused := r.scanWatch(ctx, encoding, 3)
				if len(told)+refused != 3 || (refused == 1) != unreadable[how] || told[len(told)-1] != "c" {
					r.Errorf("%s, spoiled as %d: a watch of %v, %d unreadable", encoding, how, told, refused)
				}
				if o, ok := r.Object("pods", types.NamespacedName{Namespace: "default", Name: "b"}); !ok || len(o.JSON()) > 1000 || !json.Valid(o.JSON()) {
					r.Errorf("stored is %.100s", o.JSON())
				}
			})
		}
	}
}

// rest is a client that hands out bytes.
func (r *rig) rest(encoding string) rest.Interface {
	cfg := &rest.Config{Host: "http://apiserver", QPS: -1, Transport: &http.Transport{DialContext: r.link.Dial, DisableKeepAlives: true}}
	cfg.ContentType, cfg.AcceptContentTypes = encoding, encoding
	client, err := typedcorev1.NewForConfig(cfg)
	if err != nil {
		r.Fatal(err)
	}
	return client.RESTClient()
}

func (r *rig) scanList(ctx context.Context, encoding string) (names []string, refused int, err error) {
	raw, err := r.rest(encoding).Get().Namespace("default").Resource("pods").SetHeader("Accept", encoding).Do(ctx).Raw()
	if err != nil {
		return nil, 0, err
	}
	var scanner wire.Scanner
	_, err = scanner.List(formatOf(encoding), bytes.NewReader(raw), func(o *wire.Object, broken error) error {
		if broken != nil {
			refused++
		} else {
			names = append(names, o.Key().Name)
		}
		return nil
	})
	return names, refused, err
}

// scanWatch reads the first events of a watch from the beginning.
func (r *rig) scanWatch(ctx context.Context, encoding string, n int) (names []string, refused int) {
	body, err := r.rest(encoding).Get().Namespace("default").Resource("pods").SetHeader("Accept", encoding).
		VersionedParams(&metav1.ListOptions{Watch: true}, metav1.ParameterCodec).Timeout(time.Minute).Stream(ctx)
	if err != nil {
		r.Fatal(err)
	}
	defer body.Close()
	var scanner wire.Scanner
	events := scanner.Events(formatOf(encoding), bufio.NewReader(body))
	for range n {
		event, err := events.Next()
		var bad *wire.ScanError
		switch {
		case errors.As(err, &bad):
			refused++
		case err != nil:
			if !errors.Is(err, io.EOF) {
				r.Error(err)
			}
			return names, refused
		default:
			names = append(names, event.Object.Key().Name)
		}
	}
	return names, refused
}

func formatOf(encoding string) wire.Format {
	if encoding == runtime.ContentTypeJSON {
		return wire.JSON
	}
	return wire.Protobuf
}
