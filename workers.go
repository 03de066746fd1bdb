package main

import (
	"context"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"

	"millrace/crds"
	"millrace/indexer"
	"millrace/reconcile"
	"millrace/reconcile/pipelinerun"
	"millrace/reconcile/taskrun"
	"millrace/wire"
)

// The reconcilers read the caches, decoded on read, and write to the server. They
// work for as long as this process may: until the Lease is lost.

func (s *share) employTaskRunWorkers(mayWork context.Context) {
	gate := reconcile.NewGate()
	s.taskRunWorkers = taskrun.New(taskRunConfig(s.cfg, s.api), taskrun.Parts{
		Caches: taskrun.Caches{
			TaskRun:        indexer.Read[crds.TaskRun](s.taskRuns.Indexer).Get,
			Head:           indexer.Read[taskrun.Head](s.taskRuns.Indexer).Get,
			Known:          s.taskRuns.Known,
			Task:           indexer.Read[crds.Task](s.tasks.Indexer).Get,
			StepAction:     indexer.Read[crds.StepAction](s.stepActions.Indexer).Get,
			ServiceAccount: indexer.Read[corev1.ServiceAccount](s.accounts.Indexer).Get,
			LimitRanges:    indexer.Read[corev1.LimitRange](s.limitRanges.Indexer).List,
			Pod:            indexer.Read[corev1.Pod](s.pods.Indexer).Get,
			KnownPod:       s.pods.Known,
			TaskRuns:       s.taskRuns.Indexer,
			Pods:           s.pods.Indexer,
		},
		Client:   taskrun.NewAPIClient(s.api.tekton, s.api.coreV1),
		Gate:     gate,
		Images:   s.api.images,
		Recorder: s.api.recorder,
		Trace:    s.traceTaskRun.TaskRuns(s.registry.TaskRuns()),
		Settings: func(c *taskrun.Config) { s.api.settings.Now().TaskRuns(c) },
	})
	s.traceTaskRun.Attach(s.taskRuns.Indexer)
	work := s.traceTaskRun.Func(while(mayWork, s.taskRunWorkers.Reconcile))
	s.taskRunPool = reconcile.NewPool("taskrun", s.taskRunQueue, work, reconcile.PoolConfig{
		Workers:      s.cfg.workers,
		DrainTimeout: s.cfg.drain,
		Gate:         gate,
		Trace:        s.traceTaskRun.Pool(s.showTaskRun.Pool(s.registry.Pool("taskrun", s.cfg.workers))),
		Sources:      needed(s.taskRuns, s.pods, s.tasks, s.stepActions, s.accounts, s.limitRanges),
	})
	s.showTaskRun.Attach(s.taskRunQueue, s.taskRunPool)
	s.registry.Alarms("taskrun", s.taskRunPool)
}

// onPodGone tells the workers of a pod that began and went while its run waited its
// turn, which no reconcile will see, or while another replica led. What is told of runs
// that are over, or whose pods are cleaned up, a reconcile forgets; where there is none,
// of a run that is over nothing is told. One that is in no cache may be to come: of
// those the reconciler remembers the last ones.
func (s *share) onPodGone(c indexer.Change) {
	known := s.working.knows(c.Old)
	if known && !s.waiting.isOver(c) && !s.working.owner(c.Old) {
		return
	}
	if pod, err := wire.Decode[corev1.Pod](c.Old); err == nil {
		s.taskRunWorkers.PodGone(&pod, known)
	}
}

func (s *share) onRunEnded(c indexer.Change) {
	if c.New == nil || !s.working.run(c.New) {
		s.taskRunWorkers.RunEnded(c.Key)
	}
}

// PipelineRuns look at the runs that they have made through summaries of them.
func (s *share) employPipelineRunWorkers(mayWork context.Context) {
	gate := reconcile.NewGate()
	s.pipelineRunWorkers = pipelinerun.New(pipelineRunConfig(s.cfg), pipelinerun.Parts{
		Caches: pipelinerun.Caches{
			PipelineRun: indexer.Read[crds.PipelineRun](s.pipelineRuns.Indexer).Get,
			Head:        indexer.Read[pipelinerun.Head](s.pipelineRuns.Indexer).Get,
			Known:       s.pipelineRuns.Known,
			Pipeline:    indexer.Read[crds.Pipeline](s.pipelines.Indexer).Get,
			Task:        indexer.Read[crds.Task](s.tasks.Indexer).Get,
			TaskRun:     indexer.Read[crds.TaskRun](s.taskRuns.Indexer).Get,
			CustomRun:   indexer.Read[crds.CustomRun](s.customRuns.Indexer).Get,
			Children: []pipelinerun.Children{
				pipelinerun.TaskRunsOf(s.taskRuns.Indexer, s.ofTask), pipelinerun.CustomRunsOf(s.customRuns.Indexer, s.ofCustom),
				pipelinerun.PipelineRunsOf(s.pipelineRuns.Indexer, s.ofPipeline),
			},
			PipelineRuns: s.pipelineRuns.Indexer,
			TaskRuns:     s.taskRuns.Indexer,
			CustomRuns:   s.customRuns.Indexer,
		},
		Client:   s.traces.Children(pipelinerun.NewAPIClient(s.api.tekton, s.api.tektonBeta, s.api.coreV1)),
		Gate:     gate,
		Recorder: s.api.recorder,
		Trace:    s.tracePipelineRun.PipelineRuns(s.registry.PipelineRuns()),
		Settings: func(c *pipelinerun.Config) { s.api.settings.Now().PipelineRuns(c) },
	})
	s.tracePipelineRun.Attach(s.pipelineRuns.Indexer)
	work := s.tracePipelineRun.Func(while(mayWork, s.pipelineRunWorkers.Reconcile))
	s.pipelineRunPool = reconcile.NewPool("pipelinerun", s.pipelineRunQueue, work, reconcile.PoolConfig{
		Workers:      s.cfg.workers,
		DrainTimeout: s.cfg.drain,
		Gate:         gate,
		Trace:        s.tracePipelineRun.Pool(s.showPipelineRun.Pool(s.registry.Pool("pipelinerun", s.cfg.workers))),
		Sources:      needed(s.pipelineRuns, s.taskRuns, s.customRuns, s.pipelines, s.tasks),
	})
	s.showPipelineRun.Attach(s.pipelineRunQueue, s.pipelineRunPool)
	s.registry.Alarms("pipelinerun", s.pipelineRunPool)
}

// needed are caches as a pool waits for them.
func needed(chains ...chain) []reconcile.Source {
	sources := make([]reconcile.Source, len(chains))
	for i, c := range chains {
		sources[i] = c.needed()
	}
	return sources
}

// work runs the workers, and returns when the last of them has: when ctx ends.
func (s *share) work(ctx context.Context) error {
	s.waiting.takeOver(s.working, s.taskRunQueue)
	s.waiting.takeOver(s.running, s.pipelineRunQueue)
	pools, ctx := errgroup.WithContext(ctx)
	pools.Go(func() error { return s.taskRunPool.Run(ctx) })
	pools.Go(func() error { return s.pipelineRunPool.Run(ctx) })
	return pools.Wait()
}
