// Millrace serves Tekton's API (tekton.dev/v1) on a Kubernetes cluster. This file
// is the whole program, wired by hand: read it with the drawing of the chain beside
// it.
//
//	API server ──LIST/WATCH──▶ reflector ──▶ transform ──▶ fifo ──▶ indexer ──▶ handler ──▶ workqueue ──▶ reconcile
//
// There is a chain for each resource, a queue and a pool of workers for each kind of
// run, and between them the handlers, which say whom a change concerns:
//
//	pipelineruns ──itself──▶ queue of PipelineRuns ──▶ reconcile/pipelinerun ──makes──▶ TaskRuns, CustomRuns, PipelineRuns
//	customruns, taskruns, pipelineruns ──the PipelineRun that made it──▲
//	taskruns ──itself──▶ queue of TaskRuns ──▶ reconcile/taskrun ──makes──▶ pods
//	pods ──the TaskRun that made it──▲
//	pipelines, tasks, stepactions, serviceaccounts, limitranges ──▶ nobody: they are looked up
//
// The stages know each other's types where they must, and nothing else of each
// other: they meet here.
package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"millrace/crds"
	"millrace/fifo"
	"millrace/handler"
	"millrace/indexer"
	"millrace/internal/inspect"
	"millrace/internal/metrics"
	"millrace/internal/settings"
	"millrace/predicate"
	"millrace/reconcile"
	"millrace/reconcile/pipelinerun"
	"millrace/reconcile/taskrun"
	"millrace/reflector"
	"millrace/wire"
)

// version is set by the linker: make build, make image.
var version = "unknown"

// main is one of the commands in command.go; without any, it is run.
func main() {
	os.Exit(execute(context.Background(), os.Args[1:], os.Getenv, os.Stdout, os.Stderr))
}

// machine is what the program takes from the machine that it runs on. Its zero
// value is that machine; a simulation hands in one without sockets and luck.
type machine struct {
	// listen opens the port of /metrics, /healthz and /readyz. Default: TCP.
	listen func(ctx context.Context, network, address string) (net.Listener, error)
	// random is a source of jitter for the chain of a resource. Default: the
	// system's.
	random func(resource string) rand.Source
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

// run is the program: it returns nil when ctx has ended and all that it started
// has returned, or the error of the first part that failed.
//
// It ends in this order: workers take no more keys, and finish those in hand;
// the Lease is given back; the caches, on which the workers lean to the last,
// stop following the server.
func run(ctx context.Context, cfg config, rc *rest.Config, on machine) error {
	on = on.withDefaults()
	registry := metrics.New()
	api, err := newClients(ctx, cfg, rc, registry)
	if err != nil {
		return err
	}
	defer api.close()
	listener, err := on.listen(ctx, "tcp", cfg.bind)
	if err != nil {
		return fmt.Errorf("--bind-address=%s: %w", cfg.bind, err)
	}

	// Nobody takes from the queues before this replica leads.
	var waiting standby

	// Whoever wants to know sees all of it: why was this reconciled?
	shown := inspect.New(version, waiting.over.Load)
	showTaskRun := shown.Controller("taskrun", crds.ResourceTaskRuns)
	showPipelineRun := shown.Controller("pipelinerun", crds.ResourcePipelineRuns)

	// The queues, fair between namespaces.
	taskRunQueue, pipelineRunQueue := newQueue(registry, "taskrun", showTaskRun.Queue), newQueue(registry, "pipelinerun", showPipelineRun.Queue)

	// One chain for each resource. What is cut from an object before it is kept
	// is the transform's to say: see its warning before you read another field.
	cut := api.settings.Now().Transform()
	from := func(resource, kind string, format wire.Format) reflector.Config {
		return reflector.Config{Kind: kind, Namespace: cfg.watchNamespace, Format: format, Pulse: api.pulse, Rand: on.random(resource)}
	}

	// TaskRuns: each wakes itself, and the PipelineRun that made it when it ends.
	succeeded := wire.NewFacet("status.conditions[type=Succeeded].status")
	ofTask := pipelinerun.TaskRunFacets()
	seen := observe(registry, shown, crds.ResourceTaskRuns)
	taskRuns := indexer.New(crds.ResourceTaskRuns)
	taskRunFIFO := fifo.New(taskRuns, fifo.Config{Transform: cut, Trace: seen.FIFO})
	asked := from(crds.ResourceTaskRuns, crds.KindTaskRun, wire.JSON)
	asked.ResyncPeriod, asked.Facets, asked.Trace = cfg.resync, ofTask.List(), seen.Source
	taskRunSource := reflector.New(api.tekton, crds.ResourceTaskRuns, taskRunFIFO, asked)
	seen.Watch(taskRunSource, taskRunFIFO, taskRuns)
	working := newAtWork(taskRuns, succeeded)
	registry.RunningTaskRuns(working.count)
	ofPipelineRun := schema.GroupKind{Group: crds.Group, Kind: crds.KindPipelineRun}
	onTaskRun := handler.When(waiting.isOver, handler.Enqueue(crds.ResourceTaskRuns, taskRunQueue))
	wakePipelineRun := func(q handler.Queue) func(indexer.Change) {
		return handler.EnqueueOwner(crds.ResourceTaskRuns, ofPipelineRun, q, ofTask.IsNews)
	}
	onChild := handler.When(waiting.isOver, handler.WhenElse(ofTask.IsNews,
		wakePipelineRun(pipelineRunQueue), wakePipelineRun(showPipelineRun.Dropped("no news of a child"))))

	// The other chains are wired in the same way: see newChain.
	chainOf := func(client rest.Interface, resource string, asked reflector.Config) chain {
		return newChain(client, resource, cut, observe(registry, shown, resource), asked)
	}

	// PipelineRuns: each wakes itself when somebody asks something else of it, and the
	// one that made it when it ends. Its status only it writes, once for each child that
	// ends: two hundred more looks at a run of two hundred tasks would find nothing.
	ofPipeline := pipelinerun.InnerFacets()
	asked = from(crds.ResourcePipelineRuns, crds.KindPipelineRun, wire.JSON)
	asked.ResyncPeriod, asked.Facets = cfg.resync, ofPipeline.List()
	pipelineRuns := chainOf(api.tekton, crds.ResourcePipelineRuns, asked)
	running := newAtWork(pipelineRuns.Indexer, succeeded)
	registry.RunningPipelineRuns(running.count)
	onPipelineRun := handler.When(waiting.isOver, handler.WhenElse(predicate.GenerationChanged,
		handler.Enqueue(crds.ResourcePipelineRuns, pipelineRunQueue),
		handler.Enqueue(crds.ResourcePipelineRuns, showPipelineRun.Dropped("its spec has not changed"))))
	wakeAround := func(q handler.Queue) func(indexer.Change) {
		return handler.EnqueueOwner(crds.ResourcePipelineRuns, ofPipelineRun, q, ofPipeline.IsNews)
	}
	onInner := handler.When(waiting.isOver, handler.WhenElse(ofPipeline.IsNews,
		wakeAround(pipelineRunQueue), wakeAround(showPipelineRun.Dropped("no news of a child"))))

	// CustomRuns are somebody else's to run; each wakes the PipelineRun that made it.
	ofCustom := pipelinerun.CustomRunFacets()
	asked = from(crds.ResourceCustomRuns, crds.KindCustomRun, wire.JSON)
	asked.Facets = ofCustom.List()
	customRuns := chainOf(api.tektonBeta, crds.ResourceCustomRuns, asked)
	wakeOfCustom := func(q handler.Queue) func(indexer.Change) {
		return handler.EnqueueOwner(crds.ResourceCustomRuns, ofPipelineRun, q, ofCustom.IsNews)
	}
	onCustomRun := handler.When(waiting.isOver, handler.WhenElse(ofCustom.IsNews,
		wakeOfCustom(pipelineRunQueue), wakeOfCustom(showPipelineRun.Dropped("no news of a child"))))

	// Pods of runs: each wakes the TaskRun that owns it, with every change of
	// its status, since here the news is the status. One that is gone does not
	// wait for a backoff to end.
	asked = from("pods", "Pod", wire.Protobuf)
	asked.LabelSelector = taskrun.PodSelector
	pods := chainOf(api.core, "pods", asked)
	ofTaskRun := schema.GroupKind{Group: crds.Group, Kind: crds.KindTaskRun}
	gone := func(c indexer.Change) bool { return c.Type == indexer.Deleted }
	onPod := handler.When(waiting.isOver, handler.EnqueueOwner("pods", ofTaskRun, taskRunQueue, gone))

	// What runs refer to is looked up, and wakes nobody.
	pipelines := chainOf(api.tekton, crds.ResourcePipelines, from(crds.ResourcePipelines, crds.KindPipeline, wire.JSON))
	tasks := chainOf(api.tekton, crds.ResourceTasks, from(crds.ResourceTasks, crds.KindTask, wire.JSON))
	stepActions := chainOf(api.tektonBeta, crds.ResourceStepActions, from(crds.ResourceStepActions, crds.KindStepAction, wire.JSON))
	accounts := chainOf(api.core, "serviceaccounts", from("serviceaccounts", "ServiceAccount", wire.Protobuf))
	limitRanges := chainOf(api.core, "limitranges", from("limitranges", "LimitRange", wire.Protobuf))

	// The ConfigMaps with the settings wake nobody either: what they say by then is what
	// the next reconcile goes by.
	settingsOf := func(name string) settingsChain {
		asked := from("configmaps", "ConfigMap", wire.Protobuf)
		asked.Namespace, asked.FieldSelector = cfg.namespace, "metadata.name="+name
		return newSettingsChain(newChain(api.core, "configmaps", cut, observe(registry, shown, "configmaps/"+name), asked),
			types.NamespacedName{Namespace: cfg.namespace, Name: name}, api.configMaps[name])
	}
	featureFlags, configDefaults := settingsOf(settings.FeatureFlags), settingsOf(settings.ConfigDefaults)

	// The webhook, which every replica has, and what keeps its certificate.
	admitting, err := newHook(ctx, cfg, api, registry, on, from)
	if err != nil {
		return err
	}

	// The reconcilers read the caches, decoded on read, and write to the server.
	// They work for as long as this process may: until the Lease is lost.
	gate := reconcile.NewGate()
	mayWork, lose := context.WithCancelCause(context.WithoutCancel(ctx))
	defer lose(nil)
	taskRunReconciler := taskrun.New(taskRunConfig(cfg, api), taskrun.Parts{
		Caches: taskrun.Caches{
			TaskRun:        indexer.Read[crds.TaskRun](taskRuns).Get,
			Head:           indexer.Read[taskrun.Head](taskRuns).Get,
			Known:          taskRuns.Known,
			Task:           indexer.Read[crds.Task](tasks.Indexer).Get,
			StepAction:     indexer.Read[crds.StepAction](stepActions.Indexer).Get,
			ServiceAccount: indexer.Read[corev1.ServiceAccount](accounts.Indexer).Get,
			LimitRanges:    indexer.Read[corev1.LimitRange](limitRanges.Indexer).List,
			Pod:            indexer.Read[corev1.Pod](pods.Indexer).Get,
			TaskRuns:       taskRuns,
			Pods:           pods.Indexer,
		},
		Client:   taskrun.NewAPIClient(api.tekton, api.coreV1),
		Gate:     gate,
		Images:   api.images,
		Recorder: api.recorder,
		Trace:    registry.TaskRuns(),
		Settings: func(c *taskrun.Config) { api.settings.Now().TaskRuns(c) },
	})
	// A pod that began and went while its run waited its turn no reconcile will see,
	// nor one that went while another replica led. What is told of runs that are
	// over, or whose pods are cleaned up, a reconcile forgets; where there is none, of
	// a run that is over nothing is told. One that is in no cache may be to come: of
	// those the reconciler remembers the last ones.
	onPodGone := handler.When(gone, func(c indexer.Change) {
		known := working.knows(c.Old)
		if known && !waiting.isOver(c) && !working.owner(c.Old) {
			return
		}
		if pod, err := wire.Decode[corev1.Pod](c.Old); err == nil {
			taskRunReconciler.PodGone(&pod, known)
		}
	})
	onRunEnded := func(c indexer.Change) {
		if c.New == nil || !working.run(c.New) {
			taskRunReconciler.RunEnded(c.Key)
		}
	}
	taskRunsNeeded := reconcile.Source{Name: crds.ResourceTaskRuns, Synced: taskRuns.Synced(), LastError: taskRunSource.LastError}
	taskRunPool := reconcile.NewPool("taskrun", taskRunQueue, while(mayWork, taskRunReconciler.Reconcile), reconcile.PoolConfig{
		Workers:      cfg.workers,
		DrainTimeout: cfg.drain,
		Gate:         gate,
		Trace:        showTaskRun.Pool(registry.Pool("taskrun", cfg.workers)),
		Sources:      []reconcile.Source{taskRunsNeeded, pods.needed(), tasks.needed(), stepActions.needed(), accounts.needed(), limitRanges.needed()},
	})

	// PipelineRuns look at the runs that they have made through summaries of them.
	pipelineGate := reconcile.NewGate()
	pipelineRunReconciler := pipelinerun.New(pipelineRunConfig(cfg), pipelinerun.Parts{
		Caches: pipelinerun.Caches{
			PipelineRun: indexer.Read[crds.PipelineRun](pipelineRuns.Indexer).Get,
			Head:        indexer.Read[pipelinerun.Head](pipelineRuns.Indexer).Get,
			Known:       pipelineRuns.Known,
			Pipeline:    indexer.Read[crds.Pipeline](pipelines.Indexer).Get,
			Task:        indexer.Read[crds.Task](tasks.Indexer).Get,
			TaskRun:     indexer.Read[crds.TaskRun](taskRuns).Get,
			CustomRun:   indexer.Read[crds.CustomRun](customRuns.Indexer).Get,
			Children: []pipelinerun.Children{
				pipelinerun.TaskRunsOf(taskRuns, ofTask), pipelinerun.CustomRunsOf(customRuns.Indexer, ofCustom),
				pipelinerun.PipelineRunsOf(pipelineRuns.Indexer, ofPipeline),
			},
			PipelineRuns: pipelineRuns.Indexer,
			TaskRuns:     taskRuns,
			CustomRuns:   customRuns.Indexer,
		},
		Client:   pipelinerun.NewAPIClient(api.tekton, api.tektonBeta, api.coreV1),
		Gate:     pipelineGate,
		Recorder: api.recorder,
		Trace:    registry.PipelineRuns(),
		Settings: func(c *pipelinerun.Config) { api.settings.Now().PipelineRuns(c) },
	})
	pipelineRunPool := reconcile.NewPool("pipelinerun", pipelineRunQueue, while(mayWork, pipelineRunReconciler.Reconcile), reconcile.PoolConfig{
		Workers:      cfg.workers,
		DrainTimeout: cfg.drain,
		Gate:         pipelineGate,
		Trace:        showPipelineRun.Pool(registry.Pool("pipelinerun", cfg.workers)),
		Sources:      []reconcile.Source{pipelineRuns.needed(), taskRunsNeeded, customRuns.needed(), pipelines.needed(), tasks.needed()},
	})

	showTaskRun.Attach(taskRunQueue, taskRunPool)
	showPipelineRun.Attach(pipelineRunQueue, pipelineRunPool)
	registry.Alarms("taskrun", taskRunPool)
	registry.Alarms("pipelinerun", pipelineRunPool)

	// Sources and caches live until the workers are done with them.
	caching, stopCaching := context.WithCancel(context.WithoutCancel(ctx))
	defer stopCaching()
	parts, caching := errgroup.WithContext(caching)
	parts.Go(func() error { return taskRunSource.Run(caching) })
	parts.Go(func() error { return taskRuns.Run(caching, taskRunFIFO, onRunEnded, onTaskRun, onChild) })
	pipelineRuns.run(caching, parts, onPipelineRun, onInner)
	customRuns.run(caching, parts, onCustomRun)
	pods.run(caching, parts, onPodGone, onPod)
	// What nobody reads and nobody is at work for is packed; a child is not while its
	// owner is.
	pack := func(x *indexer.Indexer, live func(*wire.Object) bool) {
		parts.Go(func() error { return cfg.pack(caching, x, live) })
	}
	pack(taskRuns, func(run *wire.Object) bool { return working.run(run) || running.owner(run) })
	pack(pipelineRuns.Indexer, func(run *wire.Object) bool { return running.run(run) || running.owner(run) })
	pack(customRuns.Indexer, running.owner)
	pack(pods.Indexer, working.owner)
	for _, c := range []chain{pipelines, tasks, stepActions, accounts, limitRanges} {
		c.run(caching, parts)
		pack(c.Indexer, nil)
	}
	featureFlags.keep(caching, parts, api.settings)
	configDefaults.keep(caching, parts, api.settings)
	admitting.run(caching, parts)
	parts.Go(func() error {
		chains := []chain{{taskRuns, taskRunFIFO, taskRunSource}, pipelineRuns, customRuns, pods,
			pipelines, tasks, stepActions, accounts, limitRanges, featureFlags.chain, configDefaults.chain}
		ready := readiness(ctx, chains...)
		return serve(caching, listener, registry.Handler(), probes{
			ready: func() error { return errors.Join(ready(), notGood(api.settings), admitting.ready()) },
			live:  liveness(chains, taskRunPool, pipelineRunPool),
		})
	})
	parts.Go(func() error { return serveDebug(caching, cfg, rc, on, shown.Handler()) })
	parts.Go(func() error {
		defer stopCaching()
		working, stop := context.WithCancel(ctx)
		defer stop()
		defer context.AfterFunc(caching, stop)() // a part that fails takes the others with it
		if !awaitGood(working, api.settings) {
			return nil
		}
		work := unlessStopped(ctx, func(ctx context.Context) error {
			waiting.takeOver(taskRuns, taskRunQueue)
			waiting.takeOver(pipelineRuns.Indexer, pipelineRunQueue)
			pools, ctx := errgroup.WithContext(ctx)
			pools.Go(func() error { return taskRunPool.Run(ctx) })
			pools.Go(func() error { return pipelineRunPool.Run(ctx) })
			return pools.Wait()
		})
		if !cfg.leaderElect {
			return work(working)
		}
		return lead(working, cfg, api.lock, registry.Leader(leaseName), work, lose)
	})
	return parts.Wait()
}
