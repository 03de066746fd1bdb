package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"

	"millrace/crds"
	"millrace/crds/defaulting"
	"millrace/internal/modelcluster"
	"millrace/internal/simulation/apiserver"
)

// model is a model cluster with Millrace in it, in which files are played as record.sh
// plays them on a real one.
type model struct {
	*modelcluster.Cluster

	ended <-chan error // the program
}

// newModel starts both; they end with ctx.
func newModel(ctx context.Context, program string) (*model, error) {
	cluster, err := modelcluster.Start(ctx)
	if err != nil {
		return nil, err
	}
	ended, err := cluster.Program(ctx, program, "--bind-address=127.0.0.1:0", "--webhook-bind-address=", "--debug-bind-address=", "--leader-elect=false",
		"--entrypoint-image=registry.example.com/millrace")
	return &model{cluster, ended}, err
}

func (m *model) connect() (rest.Interface, error) {
	return rest.UnversionedRESTClientFor(&rest.Config{Host: m.Host, QPS: -1, ContentConfig: rest.ContentConfig{NegotiatedSerializer: scheme.Codecs.WithoutConversion()}})
}

// play makes what is in the files, each of them twice, and waits until the PipelineRuns
// have ended.
func (m *model) play(ctx context.Context, files []string) error {
	for _, again := range []string{"", "-2"} {
		for _, file := range files {
			namespace := "ci-" + strings.TrimSuffix(filepath.Base(file), ".yaml") + again
			if err := m.make(namespace, file); err != nil {
				return fmt.Errorf("%s: %w", file, err)
			}
		}
	}
	ctx, cancel := context.WithTimeout(ctx, 5*time.Minute)
	defer cancel()
	for looks := time.NewTicker(time.Second); ; {
		select {
		case <-looks.C:
			if left := m.atWork(); left == 0 {
				return nil
			}
		case err := <-m.ended:
			return errors.Join(errors.New("the program has ended before the PipelineRuns"), err)
		case <-ctx.Done():
			return fmt.Errorf("%d PipelineRuns do not end: %w", m.atWork(), ctx.Err())
		}
	}
}

func (m *model) atWork() (n int) {
	for _, o := range m.Server.Objects(crds.ResourcePipelineRuns) {
		if apiserver.As[crds.PipelineRun](o).Status.CompletionTime == nil {
			n++
		}
	}
	return n
}

// make makes the objects of a file, with their defaults, since no webhook is asked.
func (m *model) make(namespace, file string) error {
	people := m.Server.Actor("people")
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "default"}}
	if _, err := people.Create("serviceaccounts", account); err != nil {
		return err
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	for objects := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(text), 4096); ; {
		var raw json.RawMessage
		if err := objects.Decode(&raw); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		resource, object, err := filled(raw, namespace)
		if err != nil {
			return err
		}
		if _, err := people.Create(resource, object); err != nil {
			return err
		}
	}
}

// filled is an object with its defaults, and which resource it is of.
func filled(raw []byte, namespace string) (resource string, object any, err error) {
	var of metav1.TypeMeta
	if err := json.Unmarshal(raw, &of); err != nil {
		return "", nil, err
	}
	d := defaulting.Defaults{}
	switch of.Kind {
	case crds.KindTask:
		object, err = decoded(raw, namespace, &crds.Task{}, d.Task)
		return crds.ResourceTasks, object, err
	case crds.KindPipeline:
		object, err = decoded(raw, namespace, &crds.Pipeline{}, d.Pipeline)
		return crds.ResourcePipelines, object, err
	case crds.KindPipelineRun:
		object, err = decoded(raw, namespace, &crds.PipelineRun{}, d.PipelineRun)
		return crds.ResourcePipelineRuns, object, err
	default:
		return "", nil, fmt.Errorf("a %s is not known here", of.Kind)
	}
}

func decoded[O interface{ SetNamespace(string) }](raw []byte, namespace string, o O, fill func(O)) (O, error) {
	err := json.Unmarshal(raw, o)
	o.SetNamespace(namespace)
	fill(o)
	return o, err
}
