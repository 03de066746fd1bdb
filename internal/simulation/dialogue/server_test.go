//go:build e2e

package dialogue_test

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/yaml"

	"millrace/internal/simulation/dialogue"
)

var update = flag.Bool("update", false, "record the dialogue anew")

const dialogues = "testdata"

// TestTheServerAnswersAsRecorded keeps the record that the model API server is
// held to from going stale. It puts the CRDs there itself; of Millrace, nothing may be
// there: admission and rules in schemas are not modelled. The scripts are played at
// once, since in most of the time a server waits.
func TestTheServerAnswersAsRecorded(t *testing.T) {
	server := theServer(t)
	applyCRDs(t, server)
	files, err := filepath.Glob(dialogues + "/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no scripts: %v", err)
	}
	var exchanges, equal atomic.Int64
	var all sync.WaitGroup
	for _, file := range files {
		all.Go(func() {
			n, same, err := speak(t, server, file)
			if err != nil {
				t.Error(err)
			}
			exchanges.Add(int64(n))
			equal.Add(int64(same))
		})
	}
	all.Wait()
	fmt.Printf("exchanges=%d equal=%d\n", exchanges.Load(), equal.Load())
}

// speak plays a script, and compares or records the answers.
func speak(t *testing.T, server talk, file string) (exchanges, equal int, err error) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		return 0, 0, err
	}
	name := strings.TrimSuffix(filepath.Base(file), ".txt")
	script, err := dialogue.Parse(name, string(text))
	if err != nil {
		return 0, 0, err
	}
	ns, err := server.newNamespace(t, name)
	if err != nil {
		return 0, 0, err
	}
	answers, err := server.Play(t.Context(), script, ns)
	if err != nil {
		return 0, 0, err
	}
	for i, e := range script.Exchanges {
		if *update {
			e.Answer = answers[i]
		}
		if e.Answer == answers[i] {
			equal++
		} else {
			t.Errorf("%s: %s\nrecorded\n%s\nanswered\n%s", name, e.Title, e.Answer, answers[i])
		}
	}
	if *update {
		err = os.WriteFile(file, []byte(script.String()), 0o644)
	}
	return len(answers), equal, err
}

// applyCRDs applies the project's CRDs as the model has them: v1 as it is stored, types
// and required fields, and no rules.
func applyCRDs(t *testing.T, server talk) {
	t.Helper()
	files, err := filepath.Glob("../../../crds/*.dev_*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no CRDs: %v", err)
	}
	for _, file := range files {
		raw, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var crd map[string]any
		if err := yaml.Unmarshal(raw, &crd); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		withoutRules(crd)
		spec := crd["spec"].(map[string]any)
		delete(spec, "conversion")
		if versions := spec["versions"].([]any); storedFirst(versions) {
			spec["versions"] = versions[:1]
		}
		body, err := json.Marshal(crd)
		if err != nil {
			t.Fatal(err)
		}
		name := crd["metadata"].(map[string]any)["name"].(string)
		server.applyCRD(t, name, body)
		server.untilWatched(t, spec)
	}
}

// storedFirst tells a CRD of which v1 is stored, and v1beta1 converted.
func storedFirst(versions []any) bool {
	first := versions[0].(map[string]any)
	return first["name"] == "v1"
}

// withoutRules takes the rules out of a schema, wherever they stand.
func withoutRules(node any) {
	switch node := node.(type) {
	case map[string]any:
		delete(node, "x-kubernetes-validations")
		for _, below := range node {
			withoutRules(below)
		}
	case []any:
		for _, below := range node {
			withoutRules(below)
		}
	}
}

func (s talk) applyCRD(t *testing.T, name string, body []byte) {
	t.Helper()
	crds := s.core.RESTClient()
	at := "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/" + name
	t.Cleanup(func() { // for who installs the whole ones next
		_ = crds.Delete().AbsPath(at).Do(context.WithoutCancel(t.Context())).Error()
	})
	err := crds.Patch(types.ApplyPatchType).AbsPath(at).Param("fieldManager", "dialogue").Param("force", "true").Body(body).Do(t.Context()).Error()
	if err != nil {
		t.Fatalf("apply %s: %v", name, err)
	}
	err = until(t.Context(), func(ctx context.Context) bool {
		raw, err := crds.Get().AbsPath(at).Do(ctx).Raw()
		return err == nil && bytes.Contains(raw, []byte(`"type":"Established"`))
	})
	if err != nil {
		t.Fatalf("%s is not established: %v", name, err)
	}
}

// untilWatched waits until a server that is slow has filled the cache of a CRD that it serves
// since just now: it turns watches away before, with 429.
func (s talk) untilWatched(t *testing.T, spec map[string]any) {
	t.Helper()
	first, names := spec["versions"].([]any)[0].(map[string]any), spec["names"].(map[string]any)
	at := fmt.Sprintf("/apis/%s/%s/%s", spec["group"], first["name"], names["plural"])
	err := until(t.Context(), func(ctx context.Context) bool {
		events, err := s.core.RESTClient().Get().AbsPath(at).Param("watch", "1").Stream(ctx)
		return err == nil && events.Close() == nil
	})
	if err != nil {
		t.Fatalf("%s cannot be watched: %v", at, err)
	}
}

// until waits for what others do in their own time; five minutes are for a slow machine.
func until(ctx context.Context, is func(context.Context) bool) error {
	return wait.PollUntilContextTimeout(ctx, 50*time.Millisecond, 5*time.Minute, true, func(ctx context.Context) (bool, error) { return is(ctx), nil })
}

// A talk is a real server, and a client for what is beside the script.
type talk struct {
	*dialogue.Server

	core typedcorev1.CoreV1Interface
}

// newNamespace makes one that is like no other text in an answer, and waits for
// what controllers put into it.
func (s talk) newNamespace(t *testing.T, script string) (string, error) {
	t.Helper()
	name := fmt.Sprintf("dialogue-%s-%x", script, time.Now().UnixNano()&0xffffff)
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
	if _, err := s.core.Namespaces().Create(t.Context(), ns, metav1.CreateOptions{}); err != nil {
		return "", err
	}
	t.Cleanup(func() {
		_ = s.core.Namespaces().Delete(context.WithoutCancel(t.Context()), name, metav1.DeleteOptions{})
	})
	return name, until(t.Context(), func(ctx context.Context) bool {
		_, account := s.core.ServiceAccounts(name).Get(ctx, "default", metav1.GetOptions{})
		_, authority := s.core.ConfigMaps(name).Get(ctx, "kube-root-ca.crt", metav1.GetOptions{})
		return account == nil && authority == nil
	})
}

func theServer(t *testing.T) talk {
	t.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", os.Getenv("KUBECONFIG"))
	if err != nil {
		t.Fatal(err)
	}
	config.QPS = -1
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		t.Fatal(err)
	}
	core, err := typedcorev1.NewForConfigAndClient(config, client)
	if err != nil {
		t.Fatal(err)
	}
	return talk{core: core, Server: &dialogue.Server{
		URL: config.Host, Client: client, Compact: compact,
		Pause: func(ctx context.Context) error {
			select {
			case <-time.After(50 * time.Millisecond):
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		},
	}}
}

// compact has etcd forget the first version of all, which nobody misses. Only
// in the node's network can etcd be reached.
func compact(ctx context.Context) error {
	file := filepath.Join(filepath.Dir(os.Getenv("KUBECONFIG")), "pid", "node")
	pid, err := os.ReadFile(file)
	if err != nil {
		return fmt.Errorf("find devcluster's node: %w", err)
	}
	node, _, _ := bytes.Cut(pid, []byte(" "))
	out, err := exec.CommandContext(ctx, "nsenter", fmt.Sprintf("--net=/proc/%s/ns/net", node),
		"curl", "-sS", "http://127.0.0.1:2379/v3/kv/compaction", "-d", `{"revision":"2"}`).CombinedOutput()
	if err != nil || !bytes.Contains(out, []byte("revision")) && !bytes.Contains(out, []byte("compacted")) {
		return fmt.Errorf("compact etcd: %w: %s", err, out)
	}
	return nil
}
