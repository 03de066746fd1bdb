package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"

	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"millrace/internal/inspect"
	"millrace/internal/metrics"
	"millrace/internal/settings"
	"millrace/internal/tracing"
	"millrace/reflector"
	"millrace/wire"
)

// machine is what the program takes from the machine that it runs on. Its zero
// value is that machine; a simulation hands in one without sockets and luck.
type machine struct {
	// listen opens the port of /metrics, /healthz and /readyz. Default: TCP.
	listen func(ctx context.Context, network, address string) (net.Listener, error)
	// random is a source of jitter for the chain of a resource. Default: the
	// system's.
	random func(resource string) rand.Source
	// collector is how a collector of traces is reached. Default: by TCP.
	collector http.RoundTripper
}

func (m machine) withDefaults() machine {
	if m.listen == nil {
		m.listen = new(net.ListenConfig).Listen
	}
	if m.random == nil {
		m.random = func(string) rand.Source { return nil } // which is the reflector's default
	}
	return m
}

// program is what a process has once, whatever its share of the work.
type program struct {
	cfg      config
	rc       *rest.Config
	on       machine
	api      *clients
	registry *metrics.Registry
	shown    *inspect.Inspector
	traces   *tracing.Tracer // nil if tracing is off

	listener net.Listener // of /metrics, /healthz and /readyz
	settings []settingsChain
	hook     hook
	share    *share
}

// run is the program: it returns nil when ctx has ended and all that it started
// has returned, or the error of the first part that failed.
//
// It ends in this order: workers take no more keys, and finish those in hand;
// the Lease is given back; the caches, on which the workers lean to the last,
// stop following the server.
func run(ctx context.Context, cfg config, rc *rest.Config, on machine) error {
	p := &program{cfg: cfg, rc: rc, on: on.withDefaults(), registry: metrics.New()}
	var err error
	if p.traces, err = p.tracer(); err != nil {
		return fmt.Errorf("tracing: %w", err)
	}
	if p.api, err = newClients(ctx, cfg, rc, p.registry, p.traces); err != nil {
		return err
	}
	defer p.api.close()
	if p.listener, err = p.on.listen(ctx, "tcp", cfg.bind); err != nil {
		return fmt.Errorf("--bind-address=%s: %w", cfg.bind, err)
	}
	p.shown = inspect.New(version, p.leads)
	mayWork, lose := context.WithCancelCause(context.WithoutCancel(ctx))
	defer lose(nil)
	p.share = newShare(mayWork, p)
	p.settings = []settingsChain{p.settingsOf(settings.FeatureFlags), p.settingsOf(settings.ConfigDefaults)}
	if p.hook, err = newHook(ctx, cfg, p.api, p.registry, p.on, p.from); err != nil {
		return err
	}
	return p.live(ctx, lose)
}

// live starts all parts, and waits for them.
func (p *program) live(ctx context.Context, lose context.CancelCauseFunc) error {
	// Sources and caches live until the workers are done with them.
	caching, stopCaching := context.WithCancel(context.WithoutCancel(ctx))
	defer stopCaching()
	parts, caching := errgroup.WithContext(caching)
	p.share.keep(caching, parts)
	for _, c := range p.settings {
		c.keep(caching, parts, p.api.settings)
	}
	p.hook.run(caching, parts)
	parts.Go(func() error { return serve(caching, p.listener, p.registry.Handler(), p.probes(ctx)) })
	parts.Go(func() error { return p.traces.Run(caching) })
	parts.Go(func() error { return serveDebug(caching, p.cfg, p.rc, p.on, p.shown.Handler()) })
	parts.Go(func() error {
		defer stopCaching()
		working, stop := context.WithCancel(ctx)
		defer stop()
		defer context.AfterFunc(caching, stop)() // a part that fails takes the others with it
		if !awaitGood(working, p.api.settings) {
			return nil
		}
		work := unlessStopped(ctx, p.share.work)
		if !p.cfg.leaderElect {
			return work(working)
		}
		return lead(working, p.cfg, p.api.lock, p.registry.Leader(leaseName), work, lose)
	})
	return parts.Wait()
}

// tracer is nil if no collector is named.
func (p *program) tracer() (*tracing.Tracer, error) {
	cfg := p.cfg.tracing
	if cfg.Endpoint == "" {
		return nil, nil //nolint:nilnil // A nil Tracer is one that is off.
	}
	cfg.Version, cfg.Namespace, cfg.Pod = version, p.cfg.namespace, p.cfg.podName
	cfg.Trace, cfg.Transport = p.registry.Tracing(), p.on.collector
	return tracing.New(cfg)
}

// leads tells whether this process does the work.
func (p *program) leads() bool { return p.share.waiting.over.Load() }

// from is what all sources are asked in the same way.
func (p *program) from(resource, kind string, format wire.Format) reflector.Config {
	return reflector.Config{Kind: kind, Namespace: p.cfg.watchNamespace, Format: format, Pulse: p.api.pulse, Rand: p.on.random(resource)}
}

// settingsOf is the chain of one of the ConfigMaps with the settings. They wake nobody:
// what they say by then is what the next reconcile goes by.
func (p *program) settingsOf(name string) settingsChain {
	asked := p.from("configmaps", "ConfigMap", wire.Protobuf)
	asked.Namespace, asked.FieldSelector = p.cfg.namespace, "metadata.name="+name
	c := newChain(p.api.core, "configmaps", p.api.settings.Now().Transform(), observe(p.registry, p.shown, p.traces, "configmaps/"+name), asked)
	return newSettingsChain(c, types.NamespacedName{Namespace: p.cfg.namespace, Name: name}, p.api.configMaps[name])
}

// probes are what the kubelet is answered, until ctx ends and after it.
func (p *program) probes(ctx context.Context) probes {
	chains := p.share.chains()
	for _, c := range p.settings {
		chains = append(chains, c.chain)
	}
	ready := readiness(ctx, chains...)
	return probes{
		ready: func() error { return errors.Join(ready(), notGood(p.api.settings), p.hook.ready()) },
		live:  liveness(chains, p.share.taskRunPool, p.share.pipelineRunPool),
	}
}
