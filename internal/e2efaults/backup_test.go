//go:build e2e

package e2efaults

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"millrace/crds"
)

// restored: the cluster goes back to a backup while the program runs, as etcd's
// documentation wants it: with the numbers of its versions raised over those that
// anybody has seen, and all history before that thrown away. What was made since the
// backup is gone, what has ended since goes on, and the cache has to see both.
func restored(s *stage) {
	s.withoutLease() // or it would be another process that comes through
	s.start()
	first := s.now()
	s.create("done", quick)
	s.succeeds("done")
	s.create("goes-on", midway)
	s.steps("goes-on")
	s.must(s.cluster.backUp(s.ctx))
	s.succeeds("goes-on")
	s.create("lost", slow(600))
	s.steps("lost")
	s.deleteRun("done")
	s.must(s.proxy.Shut())
	s.must(s.cluster.restore(s.ctx))
	s.rewound = time.Now()
	s.must(s.proxy.Open())
	s.succeeds("goes-on")
	if _, err := s.get("lost"); err == nil {
		s.fatalf("run lost was made after the backup, and is there after it was restored")
	}
	if why, _ := reason(s.mustGet("done")); why != "Succeeded" {
		s.fatalf("run done was deleted after the backup, and is %q after it was restored", why)
	}
	s.eventually("the cache of TaskRuns to be what the server has (I7)", s.cacheIsTrue)
	s.recovered()
	if s.now() != first {
		s.fatalf("the process did not come through: %s", first.reason)
	}
}

// cacheIsTrue compares by number: the cache is of all namespaces.
func (s *stage) cacheIsTrue() bool {
	raw, err := s.cluster.tekton.Get().Resource(crds.ResourceTaskRuns).Do(s.ctx).Raw()
	if err != nil {
		return false
	}
	var list struct{ Items []json.RawMessage }
	if json.Unmarshal(raw, &list) != nil {
		return false
	}
	_, metrics := s.replica.get(s.ctx, "/metrics")
	held := 0
	for line := range strings.Lines(metrics) {
		if strings.HasPrefix(line, `informer_store_objects{resource="taskruns",`) {
			n, err := strconv.Atoi(strings.TrimSpace(line[strings.LastIndex(line, " "):]))
			if err != nil {
				return false
			}
			held += n
		}
	}
	return held == len(list.Items)
}

// backUp copies what etcd has, while nothing is written.
func (c *cluster) backUp(ctx context.Context) error {
	if err := c.stop("kube-apiserver", "etcd"); err != nil {
		return err
	}
	if err := c.sh(ctx, "cp", "-a", c.etcdFiles(), c.etcdFiles()+".backup"); err != nil {
		return err
	}
	return c.mend(ctx)
}

// restore goes back to the backup. The control plane is started anew on it twice: etcd
// has to run for its numbers to be raised, and who has begun before that would take
// them for the server's.
func (c *cluster) restore(ctx context.Context) error {
	seen, err := c.revision(ctx)
	if err != nil {
		return err
	}
	controlPlane := []string{"kube-scheduler", "kube-controller-manager", "kube-apiserver"}
	if err := c.stop(append(controlPlane, "etcd")...); err != nil {
		return err
	}
	if err := os.RemoveAll(c.etcdFiles()); err != nil {
		return err
	}
	if err := os.Rename(c.etcdFiles()+".backup", c.etcdFiles()); err != nil {
		return err
	}
	if err := c.mend(ctx); err != nil {
		return err
	}
	if err := c.raise(ctx, seen+1000); err != nil {
		return err
	}
	if err := c.stop(controlPlane...); err != nil {
		return err
	}
	return c.mend(ctx)
}

func (c *cluster) etcdFiles() string { return filepath.Join(c.state, "etcd") }

// stop kills parts, which is all that a restore can count on.
func (c *cluster) stop(parts ...string) error {
	for _, part := range parts {
		if err := c.kill(part, syscall.SIGKILL); err != nil {
			return err
		}
	}
	return nil
}

// raise has etcd count on until its revision is past one, and forget all before.
// etcdutl does that to the files, as --bump-revision --mark-compacted.
func (c *cluster) raise(ctx context.Context, past int) error {
	key := base64.StdEncoding.EncodeToString([]byte("raised"))
	put := fmt.Sprintf(`{"requestPut":{"key":%q,"value":%q}}`, key, key)
	for {
		now, err := c.revision(ctx)
		if err != nil {
			return err
		}
		if now > past {
			return c.compact(ctx)
		}
		// A transaction counts as one however much it does; so they are many, in one
		// call of curl.
		if err := c.etcdOften(ctx, "kv/txn", fmt.Sprintf(`{"success":[%s]}`, put), min(past-now+1, 500)); err != nil {
			return err
		}
	}
}
