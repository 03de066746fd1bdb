//go:build e2e

package e2e

import (
	"bytes"
	"context"
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
	"k8s.io/apimachinery/pkg/util/wait"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"millrace/internal/simulation/dialogue"
)

var update = flag.Bool("update", false, "record the dialogue anew")

const dialogues = "../simulation/dialogue/testdata"

// TestTheServerAnswersAsRecorded keeps the record that the model API server is
// held to from going stale. It needs the CRDs; of Millrace, nothing. The scripts
// are played at once, since in most of the time a server waits.
func TestTheServerAnswersAsRecorded(t *testing.T) {
	server := theServer(t)
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
	return name, wait.PollUntilContextTimeout(t.Context(), 50*time.Millisecond, time.Minute, true, func(ctx context.Context) (bool, error) {
		_, account := s.core.ServiceAccounts(name).Get(ctx, "default", metav1.GetOptions{})
		_, authority := s.core.ConfigMaps(name).Get(ctx, "kube-root-ca.crt", metav1.GetOptions{})
		return account == nil && authority == nil, nil
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
