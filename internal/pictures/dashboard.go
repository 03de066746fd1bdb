package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"millrace/crds"
	"millrace/internal/simulation/apiserver"
	"millrace/internal/tracing/tracetest"
)

// often is how often the metrics are scraped. Grafana's interval of rates is four times
// that, so that four minutes show as much as hours do with Prometheus' usual interval.
const often = 5 * time.Second

// A replica is a pod of the install, and where it is reached.
type replica struct {
	pod, metrics, webhook string
}

// dashboard has two replicas share the work for some minutes, scrapes them, and takes
// pictures of the dashboard of that.
func dashboard(ctx context.Context, tools tools, watch time.Duration) error {
	dir, err := os.MkdirTemp("", "dashboard")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir) //nolint:errcheck // a directory of temporary files
	scrapes, page := filepath.Join(dir, "scrapes"), filepath.Join(dir, "dashboard.html")
	if err := watched(ctx, tools.millrace, scrapes, watch); err != nil {
		return err
	}
	drawer := exec.CommandContext(ctx, tools.drawer, "-scrapes", scrapes, "-every", often.String(), "-board", "manifests/components/monitoring/dashboard.json", "-out", page)
	drawer.Stderr = os.Stderr
	if err := drawer.Run(); err != nil {
		return fmt.Errorf("draw the dashboard: %w", err)
	}
	b, err := open(ctx, tools.browser)
	if err != nil {
		return err
	}
	defer b.close()
	for _, scheme := range []string{"light", "dark"} {
		if err := b.visit("file://"+page, 1280, scheme); err != nil {
			return err
		}
		if err := b.until(ctx, `document.readyState === "complete" && document.querySelector("main") !== null`); err != nil {
			return err
		}
		png, err := b.picture(1280, 5000, 256)
		if err != nil {
			return err
		}
		if err := tools.keep("dashboard-1280-"+scheme+".png", png); err != nil {
			return err
		}
	}
	return nil
}

// watched is the day: everything that happens in it, and the scrapes.
func watched(ctx context.Context, binary, scrapes string, watch time.Duration) error {
	// The world is there until the programs have ended, which would complain without one.
	living, end := context.WithCancel(context.WithoutCancel(ctx))
	defer end()
	world, err := newWorld(living)
	if err != nil {
		return err
	}
	if err := world.install(); err != nil {
		return err
	}
	traces := tracetest.New()
	defer traces.Close()
	ctx, stop := context.WithCancel(ctx)
	replicas := [2]replica{{pod: "millrace-6d9f7c5b8-k2xqp"}, {pod: "millrace-6d9f7c5b8-w7lzt"}}
	var ended [2]<-chan error
	defer func() {
		stop()
		for _, each := range ended {
			for each != nil && <-each != nil { // it was interrupted, and closes the channel
			}
		}
	}()
	start := func(n int) (err error) {
		if err := replicas[n].ports(ctx); err != nil {
			return err
		}
		ended[n], err = world.program(ctx, binary, replicas[n].args(traces.URL)...)
		return err
	}
	if err := start(0); err != nil {
		return err
	}
	world.admit = func(run any) bool { return replicas[0].admit(ctx, run) }
	go world.people(ctx)
	later := time.After(watch / 4)
	go world.trouble(ctx, watch)
	over := time.After(watch)
	for looks := time.NewTicker(often); ; {
		select {
		case <-looks.C:
			if err := scrape(ctx, scrapes, replicas[:]); err != nil {
				return err
			}
		case <-later:
			if err := start(1); err != nil {
				return err
			}
		case err := <-ended[0]:
			return itself(err)
		case err := <-ended[1]:
			return itself(err)
		case <-over:
			return nil
		}
	}
}

// ports are two that were free just now.
func (r *replica) ports(ctx context.Context) error {
	for _, address := range []*string{&r.metrics, &r.webhook} {
		l, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
		if err != nil {
			return err
		}
		*address = l.Addr().String()
		defer l.Close()
	}
	return nil
}

func (r *replica) args(traces string) []string {
	return []string{"--bind-address=" + r.metrics, "--webhook-bind-address=" + r.webhook, "--debug-bind-address=", "--pod-name=" + r.pod, "--shards=2", "--tracing-endpoint=" + traces}
}

// trouble is what happens to the install besides work. It is all mended in the end.
func (w *world) trouble(ctx context.Context, watch time.Duration) {
	settings := types.NamespacedName{Namespace: "tekton-pipelines", Name: "config-defaults"}
	w.create("configmaps", &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: settings.Namespace, Name: settings.Name}})
	set := func(minutes string) {
		_, err := apiserver.Change(w.Server.Actor("people"), "configmaps", "", settings, func(m *corev1.ConfigMap) {
			m.Data = map[string]string{"default-timeout-minutes": minutes}
		})
		if err != nil {
			fmt.Fprintln(os.Stderr, "change the settings:", err)
		}
	}
	for _, each := range []struct {
		part float64 // of the time
		do   func()
	}{
		{0.45, func() { w.Server.RemoveCRD(crds.ResourceCustomRuns) }},
		{0.55, func() { w.Server.RestoreCRD(crds.ResourceCustomRuns) }},
		{0.60, func() { set("an hour") }},
		{0.70, func() { w.Server.Compact(); w.Server.EndWatches(apiserver.Close) }},
		{0.80, func() { set("60") }},
	} {
		defer time.AfterFunc(time.Duration(each.part*float64(watch)), each.do).Stop()
	}
	<-ctx.Done()
}

// scrape writes what each replica that has begun to answer shows.
func scrape(ctx context.Context, to string, replicas []replica) error {
	for _, each := range replicas {
		if each.metrics == "" {
			continue
		}
		at := time.Now()
		text, err := shown(ctx, each.metrics)
		dir := filepath.Join(to, each.pod)
		if _, before := os.Stat(dir); err != nil && errors.Is(before, os.ErrNotExist) {
			continue
		}
		if err = errors.Join(err, os.MkdirAll(dir, 0o755)); err != nil {
			return fmt.Errorf("scrape %s: %w", each.pod, err)
		}
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("%d.txt", at.UnixMilli())), text, 0o644); err != nil {
			return err
		}
	}
	return nil
}

func shown(ctx context.Context, address string) ([]byte, error) {
	asked, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+address+"/metrics", nil)
	if err != nil {
		return nil, err
	}
	client := http.Client{Timeout: often}
	answer, err := client.Do(asked)
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("/metrics: %s", answer.Status)
	}
	return io.ReadAll(answer.Body)
}
