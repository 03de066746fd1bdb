package dialogue_test

import (
	"context"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"

	"millrace/internal/simulation/apiserver"
	"millrace/internal/simulation/dialogue"
)

func TestMain(m *testing.M) {
	// The handlers after the first keep the time of the process, not of a bubble.
	utilruntime.ErrorHandlers = utilruntime.ErrorHandlers[:1] //nolint:reassign // there is no other door
	os.Exit(m.Run())
}

func scripts(t *testing.T) (all []*dialogue.Script) {
	t.Helper()
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no scripts: %v", err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		s, err := dialogue.Parse(filepath.Base(file), string(text))
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, s)
	}
	return all
}

// namespace is like no other text in an answer.
const namespace = "dialogue-of-the-model"

// model is the model API server as one that scripts are played against. Call it
// in a bubble.
func model(ctx context.Context, t *testing.T, play func(*dialogue.Server)) {
	t.Helper()
	s := apiserver.New(apiserver.Config{})
	for resource, object := range map[string]metav1.ObjectMeta{"namespaces": {Name: namespace}, "serviceaccounts": {Namespace: namespace, Name: "default"}} {
		if _, err := s.Actor("cluster").Create(resource, metav1.PartialObjectMetadata{ObjectMeta: object}); err != nil {
			t.Fatal(err)
		}
	}
	ctx, stop := context.WithCancel(ctx)
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	transport := &http.Transport{DialContext: s.Connect("dialogue").Dial}
	play(&dialogue.Server{
		URL: "http://apiserver", Client: &http.Client{Transport: transport},
		Compact: func(context.Context) error { return nil }, // what was before the first version never was there
		Pause: func(ctx context.Context) error {
			s.Actor("collector").Collect()
			time.Sleep(time.Second)
			return ctx.Err()
		},
	})
	transport.CloseIdleConnections()
	stop()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

func TestTheModelAnswersAsTheServerDid(t *testing.T) {
	exchanges, equal := 0, 0
	for _, script := range scripts(t) {
		t.Run(script.Name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				model(t.Context(), t, func(s *dialogue.Server) {
					answers, err := s.Play(t.Context(), script, namespace)
					if err != nil {
						t.Error(err)
						return
					}
					for i, e := range script.Exchanges {
						exchanges++
						if same := answers[i] == e.Answer; same {
							equal++
						}
						if why := e.Compare(answers[i]); why != "" {
							t.Error(why)
						}
					}
				})
			})
		})
	}
	t.Logf("exchanges=%d equal=%d", exchanges, equal)
}
