// Millrace serves Tekton's API (tekton.dev/v1) on a Kubernetes cluster. This file
// is its chains, wired by hand: read it with the drawing beside it. The workers at
// their ends are in workers.go, and what runs all of it is in program.go.
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
	"os"
	"runtime/debug"
	"slices"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"millrace/crds"
	"millrace/fifo"
	"millrace/handler"
	"millrace/indexer"
	"millrace/internal/inspect"
	"millrace/internal/metrics"
	"millrace/internal/tracing"
	"millrace/predicate"
	"millrace/reconcile"
	"millrace/reconcile/pipelinerun"
	"millrace/reconcile/taskrun"
	"millrace/reflector"
	"millrace/shard"
	"millrace/transform"
	"millrace/wire"
)

// version is set by the linker: make build, make image.
var version = "unknown"

// garbage is how much there may be of it before it is collected, as a percentage of what
// is in use. Go's 100 would need a third more memory; and twice as many collections cost
// little, since most of what is in use is packed objects, without pointers to follow.
const garbage = 50

// main is one of the commands in command.go; without any, it is run.
func main() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(garbage)
	}
	os.Exit(execute(context.Background(), os.Args[1:], os.Getenv, os.Stdout, os.Stderr))
}

// A share is what this process does of the work: the chains of all resources, and
// the workers at their ends. Its caches are its own, and so are its metrics, which
// begin at zero with it.
type share struct {
	*program

	of       shard.Range // of the namespaces; the zero value is all of them
	registry *metrics.Registry
	cut      transform.Func
	waiting  standby

	showTaskRun, showPipelineRun   *inspect.Controller
	traceTaskRun, tracePipelineRun *tracing.Controller
	taskRunQueue, pipelineRunQueue *queue
	taskRunWorkers                 *taskrun.Reconciler
	pipelineRunWorkers             *pipelinerun.Reconciler
	taskRunPool, pipelineRunPool   *reconcile.Pool
	succeeded                      wire.Facet         // the status of a run's condition
	ofTask, ofPipeline, ofCustom   pipelinerun.Facets // what of a child its PipelineRun looks at
	working, running               atWork             // TaskRuns, PipelineRuns

	taskRuns, pipelineRuns, customRuns, pods             chain
	pipelines, tasks, stepActions, accounts, limitRanges chain
}

// newShare wires it, and starts nothing. Its workers work for as long as mayWork
// lives.
func newShare(mayWork context.Context, p *program, of shard.Range) *share {
	s := &share{program: p, of: of, registry: p.registry.Part(), cut: p.api.settings.Now().Transform()}

	// Whoever wants to know sees all of it: why was this reconciled?
	s.showTaskRun = p.shown.Controller("taskrun", crds.ResourceTaskRuns)
	s.showPipelineRun = p.shown.Controller("pipelinerun", crds.ResourcePipelineRuns)

	// And where the time goes: nil, unless tracing is on.
	s.traceTaskRun, s.tracePipelineRun = p.traces.Controller("taskrun"), p.traces.Controller("pipelinerun")

	// The queues, fair between namespaces.
	s.taskRunQueue = newQueue(s.registry, "taskrun", s.showTaskRun.Queue, s.traceTaskRun.Queue)
	s.pipelineRunQueue = newQueue(s.registry, "pipelinerun", s.showPipelineRun.Queue, s.tracePipelineRun.Queue)

	s.succeeded = wire.NewFacet("status.conditions[type=Succeeded].status")
	s.followTaskRuns()
	s.followPipelineRuns()
	s.followCustomRuns()
	s.followPods()
	s.lookUp()
	s.employTaskRunWorkers(mayWork)
	s.employPipelineRunWorkers(mayWork)
	return s
}

// followTaskRuns: each wakes itself, and the PipelineRun that made it when it ends.
// What is cut from an object before it is kept is the transform's to say: see its
// warning before you read another field.
func (s *share) followTaskRuns() {
	s.ofTask = pipelinerun.TaskRunFacets()
	seen := observe(s.registry, s.shown, s.traces, crds.ResourceTaskRuns)
	store := indexer.New(crds.ResourceTaskRuns)
	waits := fifo.New(store, fifo.Config{Transform: s.cut, Trace: seen.FIFO})
	asked := s.from(crds.ResourceTaskRuns, crds.KindTaskRun, wire.JSON)
	asked.ResyncPeriod, asked.Trace, asked.Room = s.cfg.resync, seen.Source, waits.Room
	asked.Facets = slices.Concat(s.ofTask.List(), s.traceTaskRun.Facets())
	source := reflector.New(s.api.tekton, crds.ResourceTaskRuns, shard.Over(waits, s.of, seen.Foreign), asked)
	seen.Watch(source, waits, store)
	s.working = newAtWork(store, s.succeeded)
	s.registry.RunningTaskRuns(s.working.count)

	onTaskRun := handler.When(s.waiting.isOver, enqueueRun(crds.ResourceTaskRuns, &s.working, s.taskRunQueue))
	onChild := s.onChild(crds.ResourceTaskRuns, s.ofTask)
	s.taskRuns = chain{store, waits, source, []func(indexer.Change){s.onRunEnded, onTaskRun, onChild}, nil}
	s.taskRuns.live = func(run *wire.Object) bool { return s.working.run(run) || s.running.owner(run) }
}

// onChild wakes the PipelineRun that made a run, when that has news for it, or has come
// after its end.
func (s *share) onChild(resource string, facets pipelinerun.Facets) func(indexer.Change) {
	late := func(c indexer.Change) bool { return s.running.comesLate(c) } // which is made after this
	wake := func(q handler.Queue) func(indexer.Change) {
		return handler.EnqueueOwner(resource, kindOf(crds.KindPipelineRun), q, facets.IsNews)
	}
	return handler.When(s.waiting.isOver, handler.WhenElse(predicate.Or(facets.IsNews, late),
		wake(s.pipelineRunQueue), wake(s.showPipelineRun.Dropped("no news of a child"))))
}

// endsAmid passes the end of a PipelineRun that has a child yet which has not: it may
// have come between the last look at them and the end.
func (s *share) endsAmid(c indexer.Change) bool {
	return s.running.ends(c) && s.pipelineRunWorkers.HasUnended(c.New.UID())
}

// from is what all sources are asked in the same way. A server that does not select by
// shard sends everything: shard.Over, before the FIFO, drops the rest.
func (s *share) from(resource, kind string, format wire.Format) reflector.Config {
	asked := s.program.from(resource, kind, format)
	asked.ShardSelector, asked.ShardFiltered = s.of.Selector(), true
	return asked
}

// The other chains are wired in the same way: see newChain.
func (s *share) chain(client rest.Interface, resource string, asked reflector.Config, handlers ...func(indexer.Change)) chain {
	return newChain(client, resource, s.of, s.cut, observe(s.registry, s.shown, s.traces, resource), asked, handlers...)
}

// followPipelineRuns: each wakes itself when somebody asks something else of it, and
// the one that made it when it ends. Its status only it writes, once for each child
// that ends: two hundred more looks at a run of two hundred tasks would find nothing.
func (s *share) followPipelineRuns() {
	s.ofPipeline = pipelinerun.InnerFacets()
	asked := s.from(crds.ResourcePipelineRuns, crds.KindPipelineRun, wire.JSON)
	asked.ResyncPeriod = s.cfg.resync
	asked.Facets = slices.Concat(s.ofPipeline.List(), s.tracePipelineRun.Facets())

	onPipelineRun := handler.When(s.waiting.isOver, handler.WhenElse(predicate.Or(predicate.GenerationChanged, s.endsAmid),
		enqueueRun(crds.ResourcePipelineRuns, &s.running, s.pipelineRunQueue),
		handler.Enqueue(crds.ResourcePipelineRuns, s.showPipelineRun.Dropped("its spec has not changed"))))
	onInner := s.onChild(crds.ResourcePipelineRuns, s.ofPipeline)
	s.pipelineRuns = s.chain(s.api.tekton, crds.ResourcePipelineRuns, asked, onPipelineRun, onInner)
	s.running = newAtWork(s.pipelineRuns.Indexer, s.succeeded)
	s.registry.RunningPipelineRuns(s.running.count)
	s.pipelineRuns.live = func(run *wire.Object) bool { return s.running.run(run) || s.running.owner(run) }
}

// followCustomRuns: they are somebody else's to run; each wakes the PipelineRun that
// made it.
func (s *share) followCustomRuns() {
	s.ofCustom = pipelinerun.CustomRunFacets()
	asked := s.from(crds.ResourceCustomRuns, crds.KindCustomRun, wire.JSON)
	asked.Facets = s.ofCustom.List()

	s.customRuns = s.chain(s.api.tektonBeta, crds.ResourceCustomRuns, asked, s.onChild(crds.ResourceCustomRuns, s.ofCustom))
	s.customRuns.live = s.running.owner
}

// followPods of runs: each wakes the TaskRun that owns it, with every change of its
// status, since here the news is the status. One that has ended or is gone does not wait
// for a backoff to end, nor behind runs that have not begun.
func (s *share) followPods() {
	phase := wire.NewFacetOf[corev1.Pod]("status.phase")
	asked := s.from("pods", "Pod", wire.Protobuf)
	asked.LabelSelector, asked.Facets = taskrun.PodSelector, []wire.Facet{phase}

	onPod := handler.When(s.waiting.isOver, handler.EnqueueOwner("pods", kindOf(crds.KindTaskRun), s.taskRunQueue, gone, podEnds(phase)))
	s.pods = s.chain(s.api.core, "pods", asked, handler.When(gone, s.onPodGone), onPod)
	s.pods.live = s.working.owner
}

func kindOf(kind string) schema.GroupKind { return schema.GroupKind{Group: crds.Group, Kind: kind} }

func gone(c indexer.Change) bool { return c.Type == indexer.Deleted }

// podEnds is a predicate: it passes the end of a pod, by its phase.
func podEnds(phase wire.Facet) predicate.Func {
	ended := func(pod *wire.Object) bool {
		in, _ := pod.Facet(phase)
		return in == string(corev1.PodSucceeded) || in == string(corev1.PodFailed)
	}
	return func(c indexer.Change) bool {
		return c.New != nil && ended(c.New) && (c.Old == nil || !ended(c.Old))
	}
}

// lookUp is for what runs refer to: it is looked up, and wakes nobody.
func (s *share) lookUp() {
	s.pipelines = s.chain(s.api.tekton, crds.ResourcePipelines, s.from(crds.ResourcePipelines, crds.KindPipeline, wire.JSON))
	s.tasks = s.chain(s.api.tekton, crds.ResourceTasks, s.from(crds.ResourceTasks, crds.KindTask, wire.JSON))
	s.stepActions = s.chain(s.api.tektonBeta, crds.ResourceStepActions, s.from(crds.ResourceStepActions, crds.KindStepAction, wire.JSON))
	s.accounts = s.chain(s.api.core, "serviceaccounts", s.from("serviceaccounts", "ServiceAccount", wire.Protobuf))
	s.limitRanges = s.chain(s.api.core, "limitranges", s.from("limitranges", "LimitRange", wire.Protobuf))
}

// chains are all of them.
func (s *share) chains() []chain {
	return []chain{s.taskRuns, s.pipelineRuns, s.customRuns, s.pods,
		s.pipelines, s.tasks, s.stepActions, s.accounts, s.limitRanges}
}

// keep starts the sources and the caches, which live until ctx ends. What nobody reads
// and nobody is at work for is packed.
func (s *share) keep(ctx context.Context, parts *errgroup.Group) {
	for _, c := range s.chains() {
		c.runPacked(ctx, parts, s.cfg.packAfter)
	}
}
