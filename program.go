package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"slices"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"

	"millrace/indexer"
	"millrace/internal/inspect"
	"millrace/internal/metrics"
	"millrace/internal/settings"
	"millrace/internal/tracing"
	"millrace/reconcile"
	"millrace/reflector"
	"millrace/shard"
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
	// handling is called before a change of a resource is handled, by the goroutine
	// that handles it. Default: nothing.
	handling func(resource string)
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
	probing  atomic.Pointer[probes]
	settings []settingsChain
	hook     hook

	share  atomic.Pointer[share] // nil while this replica has none
	member *shard.Member         // nil if there is one share, of everything
	leader *shard.Leader         // nil if there are several

	contends  atomic.Pointer[time.Time] // since when, for the Lease of a shard
	hasShared atomic.Bool               // it has been ready with a share of its own: see ready
}

// work is what live lets this process do: it starts what has to live as long as the
// caches, and returns what is to be done while ctx lives, which returns when it is.
type work func(caching context.Context, parts *errgroup.Group) func(ctx context.Context) error

// run is the program: it returns nil when ctx has ended and all that it started
// has returned, or the error of the first part that failed. It opens its ports before
// it asks the API server for anything, and one that is away is no failure.
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
	if p.api, err = newClients(cfg, rc, p.registry, p.traces); err != nil {
		return err
	}
	defer p.api.close()
	if p.listener, err = p.on.listen(ctx, "tcp", cfg.bind); err != nil {
		return fmt.Errorf("--bind-address=%s: %w", cfg.bind, err)
	}
	p.shown = inspect.New(version, p.leads)
	mayWork, lose := context.WithCancelCause(context.WithoutCancel(ctx))
	defer lose(nil)
	if p.hook, err = newHook(ctx, cfg, p.api, p.registry, p.on, p.from); err != nil {
		return err
	}
	if l := p.hook.listener; l != nil {
		defer l.Close() // who has served there has closed it already
	}
	work := p.all
	if cfg.shards > 0 {
		work = p.some
		p.shown.Shared(p.part)
	}
	return p.live(ctx, work(mayWork, lose))
}

// live starts all parts, and waits for them: what there is once, and the work, as soon as
// is learned what it goes by.
func (p *program) live(ctx context.Context, work work) error {
	defer p.deliver(ctx)() // when all who make spans have returned
	// Sources and caches live until the workers are done with them.
	caching, stopCaching := context.WithCancel(context.WithoutCancel(ctx))
	defer stopCaching()
	parts, caching := errgroup.WithContext(caching)
	start := newStart(p.api.questions(p.cfg, p.registry))
	p.probing.Store(start.probes(ctx))
	parts.Go(func() error { return serve(caching, p.listener, p.registry.Handler(), p.probing.Load) })
	parts.Go(func() error { return serveDebug(caching, p.cfg, p.rc, p.on, p.shown.Handler()) })
	parts.Go(func() error {
		defer stopCaching()
		toldOrFailed, stop := context.WithCancel(ctx)
		defer stop()
		defer context.AfterFunc(caching, stop)() // a part that fails takes the others with it
		if !start.learn(toldOrFailed) {
			return nil
		}
		working := p.begin(caching, parts, work)
		p.probing.Store(p.probes(ctx))
		if !awaitGood(toldOrFailed, p.api.settings) {
			return nil
		}
		return working(toldOrFailed)
	})
	return parts.Wait()
}

// begin wires by what was learned, and starts that among the parts. Work begins by
// starting the caches that it needs.
func (p *program) begin(caching context.Context, parts *errgroup.Group, work work) func(ctx context.Context) error {
	p.settings = []settingsChain{p.settingsOf(settings.FeatureFlags), p.settingsOf(settings.ConfigDefaults)}
	working := work(caching, parts)
	for _, c := range p.settings {
		c.keep(caching, parts, p.api.settings)
	}
	p.hook.run(caching, parts)
	return working
}

// all is the work of one share of everything, while this process leads. Its caches are
// warm all the time.
func (p *program) all(mayWork context.Context, lose context.CancelCauseFunc) work {
	p.leader = shard.NewLeader(p.shardLeases(), p.cfg.retryPeriod/2)
	leads := func(bool) {}
	if p.cfg.leaderElect {
		leads = p.registry.Leader(leaseName) // 0 from the start on: nobody leads who waits, for whatever
	}
	return func(caching context.Context, parts *errgroup.Group) func(context.Context) error {
		s := newShare(mayWork, p, shard.Range{})
		s.interpose(p.on.handling)
		p.share.Store(s)
		s.keep(caching, parts)
		return func(ctx context.Context) error {
			if !p.cfg.leaderElect {
				return unlessStopped(ctx, s.work)(ctx)
			}
			work := func(ctx context.Context) error {
				leads(true)
				defer leads(false)
				return s.work(ctx)
			}
			return lead(ctx, p.cfg, p.api.lock, unlessStopped(ctx, unshared(p.leader, work)), lose)
		}
	}
}

// interpose has something done before any change of what wakes runs is handled.
func (s *share) interpose(handling func(resource string)) {
	if handling == nil {
		return
	}
	for _, c := range []*chain{&s.taskRuns, &s.pipelineRuns, &s.customRuns, &s.pods} {
		c.handlers = slices.Insert(c.handlers, 0, func(indexer.Change) { handling(c.Name()) })
	}
}

// deliver has the spans delivered until stop is called, which returns when the last of
// them is, or has to be given up.
func (p *program) deliver(ctx context.Context) (stop func()) {
	if p.traces == nil {
		return func() {}
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	var delivering errgroup.Group
	delivering.Go(func() error { return p.traces.Run(ctx) })
	return func() {
		cancel()
		if err := delivering.Wait(); err != nil {
			klog.FromContext(ctx).Error(err, "Spans are lost")
		}
	}
}

// tracer is nil if no collector is named.
func (p *program) tracer() (*tracing.Tracer, error) {
	cfg := p.cfg.tracing
	if cfg.Off() {
		return nil, nil //nolint:nilnil // A nil Tracer is one that is off.
	}
	cfg.Version, cfg.Namespace, cfg.Pod = version, p.cfg.namespace, p.cfg.podName
	cfg.Trace, cfg.Transport = p.registry.Tracing(), p.on.collector
	return tracing.New(cfg)
}

// leads tells whether this process does the work.
func (p *program) leads() bool {
	s := p.share.Load()
	return s != nil && s.waiting.over.Load()
}

// part is how much of the namespaces' hashes this process has.
func (p *program) part() float64 {
	s := p.share.Load()
	if s == nil {
		return 0
	}
	return s.of.Fraction()
}

// from is what all sources are asked in the same way.
func (p *program) from(resource, kind string, format wire.Format) reflector.Config {
	return reflector.Config{Kind: kind, Namespace: p.cfg.watchNamespace, Format: format, Pulse: p.api.pulse, Rand: p.on.random(resource)}
}

// settingsOf is the chain of one of the ConfigMaps with the settings. They wake nobody:
// what they say by then is what the next reconcile goes by.
func (p *program) settingsOf(name string) settingsChain {
	asked := p.from("configmaps", "ConfigMap", wire.Protobuf)
	asked.Namespace, asked.FieldSelector = p.cfg.namespace, "metadata.name="+name
	c := newChain(p.api.core, "configmaps", shard.Range{}, p.api.settings.Now().Transform(), observe(p.registry, p.shown, p.traces, "configmaps/"+name), asked)
	return newSettingsChain(c, types.NamespacedName{Namespace: p.cfg.namespace, Name: name}, p.api.configMaps[name])
}

// probes are what the kubelet is answered, until ctx ends and after it.
func (p *program) probes(ctx context.Context) *probes {
	return &probes{
		ready: func() error { return p.ready(ctx) },
		live: func() error {
			chains, pools := p.parts()
			return liveness(chains, pools...)()
		},
	}
}

// ready is why this replica may not be sent to. Its first share of the namespaces has to
// be at work, so that an update waits for it; but not those that come later. They change
// for all replicas at once, and each of them serves the webhook all the time. So it is
// where a leader goes, and all begin.
func (p *program) ready(ctx context.Context) error {
	s := p.share.Load()
	chains, changes := p.onceChains(), error(nil)
	if !p.hasShared.Load() {
		if s != nil {
			chains = append(s.chains(), chains...)
		}
		changes = p.shared()
	}
	err := errors.Join(readiness(ctx, chains...)(), changes, notGood(p.api.settings), p.hook.ready())
	if err == nil && p.member != nil && (s != nil || p.member.Led()) {
		p.hasShared.Store(true)
	}
	return err
}

// parts are the chains and the pools that there are now.
func (p *program) parts() (chains []chain, pools []*reconcile.Pool) {
	chains = p.onceChains()
	if s := p.share.Load(); s != nil {
		return append(s.chains(), chains...), []*reconcile.Pool{s.taskRunPool, s.pipelineRunPool}
	}
	return chains, nil
}

// onceChains are those that there are once, whatever the share.
func (p *program) onceChains() (chains []chain) {
	for _, c := range p.settings {
		chains = append(chains, c.chain)
	}
	return chains
}
