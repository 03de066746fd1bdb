package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// Of the measuring of replicas that share the work.
const (
	sharedNamespaces = 200
	mostReplicas     = 4
	installNamespace = "tekton-pipelines"
	// steady is how long nobody's share has changed when the replicas are measured: longer
	// than it takes to weigh one and to divide anew.
	steady = 45 * time.Second
)

// A team is replicas that share the work. Each asks as a ServiceAccount of its own, so
// that the audit log tells them apart.
type team []*process

// shared measures one, two and four replicas, each time among the same completed runs,
// while as many more are run as are measured in other parts. Of the four one is killed
// in the midst of it.
func shared(ctx context.Context, s stage, auditLog string) error {
	if auditLog == "" {
		return errors.New("who wrote what? AUDIT_LOG is not set")
	}
	where := make([]string, sharedNamespaces)
	for i := range where {
		where[i] = fmt.Sprintf("shared-%03d", i)
	}
	completed := max(s.runs, sharedNamespaces)
	if s.runs == 0 {
		completed = 2000
	}
	if err := prepare(ctx, s, completed, where); err != nil {
		return err
	}
	fmt.Println("| replicas | of them | namespaces it wrote in | cached, MB | … of one replica's | CPU at start, s | CPU for the new runs, s | memory, MiB | objects dropped |")
	fmt.Println("| --- | --- | --- | --- | --- | --- | --- | --- | --- |")
	whole := 0.0
	for _, n := range []int{1, 2, mostReplicas} {
		var err error
		if whole, err = s.measureTeam(ctx, n, where, auditLog, whole); err != nil {
			return fmt.Errorf("%d replicas: %w", n, err)
		}
	}
	return nil
}

// measureTeam prints a row for each of n replicas. It returns the bytes that one
// replica alone has cached.
func (s stage) measureTeam(ctx context.Context, n int, where []string, auditLog string, whole float64) (float64, error) {
	all, err := s.startTeam(ctx, n)
	if err != nil {
		return 0, err
	}
	defer all.end()
	if err := all.settle(ctx, s); err != nil {
		return 0, err
	}
	before, err := all.readings(ctx)
	if err != nil {
		return 0, err
	}
	var after []reading
	w := newWritings()
	err = w.during(ctx, auditLog, where, func(ctx context.Context) error {
		return s.runAmong(ctx, fmt.Sprintf("of-%d-%d", n, time.Now().Unix()), where, func() (err error) {
			after, err = all.readings(ctx)
			return err
		})
	})
	if err != nil {
		return 0, err
	}
	if n == 1 {
		whole = cached(before[0])
	}
	for i := range all {
		if cached(before[i]) == 0 {
			return 0, fmt.Errorf("replica %d says of no byte that it caches it", i)
		}
		fmt.Printf("| %d | %d | %d | %.2f | %.2f | %.1f | %.1f | %.0f | %.0f |\n", n, i, len(w.writers[account(i)]),
			cached(before[i])/1e6, cached(before[i])/whole, before[i].cpu.Seconds(), (after[i].cpu - before[i].cpu).Seconds(),
			after[i].now/(1<<20), after[i].metrics.sum("informer_foreign_objects_total"))
		if n == mostReplicas && cached(before[i]) > 0.35*whole {
			return 0, fmt.Errorf("replica %d caches %.2f of what one alone does: want 0.35 at most", i, cached(before[i])/whole)
		}
	}
	if len(w.hands) > 0 {
		return 0, fmt.Errorf("namespaces were written in by several replicas: %v", w.hands)
	}
	fmt.Printf("\nNo namespace of %d was written in by two of the %d replicas: %d writes.\n\n", len(w.by), n, w.n)
	if n == mostReplicas {
		return whole, s.killOne(ctx, all, where, auditLog)
	}
	return whole, nil
}

// killOne has another replica finish what one has begun: each namespace passes from one
// hand to another once at most, and never back.
func (s stage) killOne(ctx context.Context, all team, where []string, auditLog string) error {
	w := newWritings()
	kill := make(chan time.Time, 1) // when it was
	var took time.Duration
	err := w.during(ctx, auditLog, where, func(ctx context.Context) error {
		both, ctx := errgroup.WithContext(ctx)
		both.Go(func() error {
			return s.runAmong(ctx, fmt.Sprintf("killed-%d", time.Now().Unix()), where, func() error {
				select {
				case at := <-kill:
					took = time.Since(at)
					return nil
				default:
					return errors.New("all runs had ended before one was killed")
				}
			})
		})
		both.Go(func() error {
			err := all[0].begins(ctx)
			kill <- time.Now()
			all[0].end(syscall.SIGKILL)
			return err
		})
		return both.Wait()
	})
	if err != nil {
		return err
	}
	if err := w.passedOnce(); err != nil {
		return err
	}
	fmt.Printf("One of %d killed: all runs had ended %.0f s later; %d namespaces passed to another replica, each once.\n", len(all), took.Seconds(), len(w.hands))
	return nil
}

// begins returns when a process has begun with new runs.
func (p *process) begins(ctx context.Context) error {
	before := -1.0
	return p.until(ctx, "begin with the new runs", func() (bool, error) {
		all, err := p.scrape(ctx)
		if err != nil {
			return false, err
		}
		now := all.sum("controller_runtime_reconcile_total", "controller", "taskrun")
		if before < 0 {
			before = now
		}
		return now > before, nil
	})
}

// runAmong runs one TaskRun in each namespace, waits until all have succeeded, and calls
// ended; then it deletes them.
func (s stage) runAmong(ctx context.Context, name string, where []string, ended func() error) (err error) {
	body, err := workload{name: name}.bodies()
	if err != nil {
		return err
	}
	names := make([]string, len(where))
	err = inParallel(ctx, len(where), func(ctx context.Context, i int) error {
		h, err := create(ctx, s.tekton, "taskruns", where[i], body(i))
		names[i] = h.Metadata.Name
		return err
	})
	if err != nil {
		return err
	}
	defer func() { // the next team shall have the same to cache
		err = errors.Join(err, inParallel(ctx, len(where), func(ctx context.Context, i int) error {
			return s.tekton.Delete().Namespace(where[i]).Resource("taskruns").Name(names[i]).Do(ctx).Error()
		}))
	}()
	n := 0
	err = poll(ctx, "the runs among the completed ones", func() (bool, error) {
		for ; n < len(where); n++ {
			if over, err := s.over(ctx, where[n], names[n]); !over || err != nil {
				s.progress.at(name, n, len(where), "runs")
				return false, err
			}
		}
		return true, nil
	})
	if err != nil {
		return err
	}
	return ended()
}

// over tells whether a run has succeeded; one that has failed is an error.
func (s stage) over(ctx context.Context, namespace, run string) (bool, error) {
	answer, err := s.tekton.Get().Namespace(namespace).Resource("taskruns").Name(run).Do(ctx).Raw()
	if err != nil {
		return false, err
	}
	var h head
	if err := json.Unmarshal(answer, &h); err != nil {
		return false, err
	}
	if h.succeeded() == "False" {
		return false, fmt.Errorf("run %s in %s has failed", run, namespace)
	}
	return h.succeeded() == "True", nil
}

// pause lets time pass, unless ctx ends.
func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// cached is the bytes of all objects in a replica's caches.
func cached(r reading) float64 { return r.metrics.sum("informer_store_bytes") }

func account(i int) string { return fmt.Sprintf("millrace-replica-%d", i) }

// startTeam starts n replicas, or none.
func (s stage) startTeam(ctx context.Context, n int) (all team, err error) {
	for i := range n {
		p, err := s.startReplica(ctx, i)
		if err != nil {
			all.end()
			return nil, err
		}
		all = append(all, p)
	}
	return all, nil
}

func (s stage) startReplica(ctx context.Context, i int) (*process, error) {
	config, err := s.kubeconfigOf(ctx, account(i))
	if err != nil {
		return nil, err
	}
	return s.start(ctx, account(i), "--kubeconfig="+config, "--pod-name=", fmt.Sprintf("--shards=%d", mostReplicas),
		"--pack-after=0") // a cache that is partly packed cannot be compared
}

func (all team) end() {
	for _, p := range all {
		p.end(syscall.SIGTERM)
	}
}

func (all team) readings(ctx context.Context) ([]reading, error) {
	readings := make([]reading, len(all))
	for i, p := range all {
		var err error
		if readings[i], err = p.reading(ctx); err != nil {
			return nil, err
		}
	}
	return readings, nil
}

// settle waits until everything is worked on, and has been divided the same for a while.
func (all team) settle(ctx context.Context, s stage) error {
	since, last := time.Now(), ""
	return poll(ctx, "shares that stay", func() (bool, error) {
		sum, now := 0.0, ""
		for _, p := range all {
			if err := p.ready(ctx); err != nil {
				return false, err
			}
			m, err := p.scrape(ctx)
			if err != nil {
				return false, err
			}
			share := m.sum("sharding_share_ratio")
			sum += share
			now += fmt.Sprintf(" %.4f/%.0f", share, m.sum("sharding_division_version"))
			if m.sum("sharding_members") != float64(len(all)) || share == 0 {
				since = time.Now()
			}
		}
		if now != last || sum < 0.999 || sum > 1.001 {
			since, last = time.Now(), now
		}
		s.progress.at("settling", int(time.Since(since).Seconds()), int(steady.Seconds()), "s without a change; shares of the hashes, and division:"+now)
		return time.Since(since) >= steady, nil
	})
}

// kubeconfigOf makes a ServiceAccount that may do everything, and a file with a token of it.
func (s stage) kubeconfigOf(ctx context.Context, name string) (string, error) {
	post := func(path string, body any) ([]byte, error) {
		text, err := json.Marshal(body)
		if err != nil {
			return nil, err
		}
		answer, err := s.core.Post().AbsPath(path).Body(text).Do(ctx).Raw()
		if apierrors.IsAlreadyExists(err) {
			err = nil
		}
		return answer, err
	}
	accounts := "/api/v1/namespaces/" + installNamespace + "/serviceaccounts"
	if _, err := post(accounts, map[string]any{"metadata": map[string]any{"name": name}}); err != nil {
		return "", fmt.Errorf("ServiceAccount %s: %w", name, err)
	}
	if _, err := post("/apis/rbac.authorization.k8s.io/v1/clusterrolebindings", map[string]any{
		"metadata": map[string]any{"name": name},
		"roleRef":  map[string]any{"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin"},
		"subjects": []any{map[string]any{"kind": "ServiceAccount", "name": name, "namespace": installNamespace}},
	}); err != nil {
		return "", fmt.Errorf("rights of %s: %w", name, err)
	}
	answer, err := post(accounts+"/"+name+"/token", map[string]any{"spec": map[string]any{"expirationSeconds": 24 * 60 * 60}})
	if err != nil {
		return "", fmt.Errorf("token of %s: %w", name, err)
	}
	var request struct {
		Status struct {
			Token string `json:"token"`
		} `json:"status"`
	}
	if err := json.Unmarshal(answer, &request); err != nil {
		return "", err
	}
	config, err := clientcmd.LoadFromFile(s.kubeconfig)
	if err != nil {
		return "", err
	}
	for user := range config.AuthInfos {
		config.AuthInfos[user] = &clientcmdapi.AuthInfo{Token: request.Status.Token}
	}
	path := filepath.Join(s.logs, name+".kubeconfig")
	if err := clientcmd.WriteToFile(*config, path); err != nil {
		return "", err
	}
	return path, os.Chmod(path, 0o600)
}
