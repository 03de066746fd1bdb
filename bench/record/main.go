// Record keeps what an API server says of TaskRuns and of their pods while a
// command makes some, or of PipelineRuns while a model cluster runs them: the bytes of
// its watch streams, as they come.
//
//	record -out DIR COMMAND [ARG...]
//	record -out DIR -model MILLRACE FILE...
//
// It writes one stream a resource and format, compressed with zstd, and the
// first page of a list of each beside it, for its shape. The frames of one
// object stand together, in the order in which they came; nothing else about
// them is changed. KUBECONFIG names the cluster.
//
// With -model there is none: the program that is named serves the files in a model
// cluster, where a step needs no image, and its results stand in its script. What such a
// server says of a PipelineRun is what a real one does but for managedFields, which
// neither side of the benchmarks keeps.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/klauspost/compress/zstd"
	"golang.org/x/sync/errgroup"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"millrace/wire"
)

// settle is how long the streams are read on after the command has ended: what
// it waited for may reach them a little later than it.
const settle = 3 * time.Second

// source is one stream to record.
type source struct {
	path   string // of the resource on the server
	query  string
	format wire.Format
	accept string
	file   string
}

func sources() []source {
	const json, protobuf = "application/json", "application/vnd.kubernetes.protobuf"
	const pods, ofRuns = "/api/v1/pods", "labelSelector=tekton.dev%2FtaskRun"
	return []source{
		{pods, ofRuns, wire.JSON, json, "pods.json"},
		{pods, ofRuns, wire.Protobuf, protobuf, "pods.pb"},
		{"/apis/tekton.dev/v1/taskruns", "", wire.JSON, json, "taskruns.json"},
	}
}

func pipelineRuns() source {
	return source{"/apis/tekton.dev/v1/pipelineruns", "", wire.JSON, "application/json", "pipelineruns.json"}
}

func main() {
	out := flag.String("out", "", "folder to write to")
	program := flag.String("model", "", "the program that runs the files in a model cluster")
	flag.Parse()
	if err := run(*out, *program, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "record:", err)
		os.Exit(1)
	}
}

func run(out, program string, args []string) error {
	if out == "" || len(args) == 0 {
		return errors.New("usage: record -out DIR COMMAND [ARG...], or with -model MILLRACE FILE [FILE...]")
	}
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	if program == "" {
		client, err := connect()
		if err != nil {
			return err
		}
		return record(ctx, client, out, sources(), func() error { return runCommand(ctx, args) })
	}
	m, err := newModel(ctx, program)
	if err != nil {
		return err
	}
	client, err := m.connect()
	if err != nil {
		return err
	}
	err = record(ctx, client, out, []source{pipelineRuns()}, func() error { return m.play(ctx, args) })
	stop()
	for range m.ended { // it was interrupted, and closes the channel
	}
	return err
}

// record keeps what the sources say while something is done.
func record(ctx context.Context, client rest.Interface, out string, sources []source, do func() error) (err error) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	tapes := make([]*tape, len(sources))
	var watching errgroup.Group
	for i, s := range sources {
		if tapes[i], err = newTape(ctx, client, s); err != nil {
			return fmt.Errorf("watch %s: %w", s.file, err)
		}
		watching.Go(tapes[i].run)
	}
	if err := do(); err != nil {
		return err
	}
	time.Sleep(settle) //nolint:forbidigo // Nothing says that a server has no more to say.
	for i, s := range sources {
		page, err := get(ctx, client, s, "limit=3")
		if err != nil {
			return fmt.Errorf("list %s: %w", s.file, err)
		}
		if err := write(out, "list-"+s.file, page); err != nil {
			return err
		}
		defer tapes[i].close()
	}
	stop()
	if err := watching.Wait(); err != nil {
		return err
	}
	for i, s := range sources {
		if err := write(out, s.file, tapes[i].frames()); err != nil {
			return err
		}
	}
	return nil
}

func connect() (rest.Interface, error) {
	cfg, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(clientcmd.NewDefaultClientConfigLoadingRules(), nil).ClientConfig()
	if err != nil {
		return nil, fmt.Errorf("no cluster to record: %w (set KUBECONFIG)", err)
	}
	cfg.NegotiatedSerializer = scheme.Codecs.WithoutConversion()
	return rest.UnversionedRESTClientFor(cfg)
}

func runCommand(ctx context.Context, command []string) error {
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("%s: %w", command[0], err)
	}
	return nil
}

func get(ctx context.Context, client rest.Interface, s source, query string) ([]byte, error) {
	return client.Get().RequestURI(s.path+"?"+s.query+"&"+query).SetHeader("Accept", s.accept).Do(ctx).Raw()
}

func write(dir, name string, raw []byte) error {
	packer, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedBestCompression), zstd.WithWindowSize(8<<20))
	if err != nil {
		return err
	}
	packed := packer.EncodeAll(raw, nil)
	fmt.Printf("%-20s %8d bytes, %7d packed\n", name, len(raw), len(packed))
	return os.WriteFile(filepath.Join(dir, name+".zst"), packed, 0o644)
}
