package planted

import "millrace/internal/simulation"

// Faults are all there are.
func Faults() []Fault {
	return []Fault{
		{
			Name: "stale-lister", Says: "a lister serves an object as it was first seen", Caught: "I2",
			In: "indexer", Plans: quiet("one step"),
			Old: `	o, ok := r.x.Object(key)
`,
			New: `	o, ok := r.x.Object(key)
	if planted("stale-lister") && ok {
		o = plantedFirst([3]any{r.x, key, o.UID()}, o)
	}
`,
		},
		{
			Name: "already-exists-fatal", Says: "AlreadyExists, for the TaskRun that is there already, ends the run", Caught: "I16",
			In: "reconcile/pipelinerun", Plans: staleRestarts("pipeline: cancel", "taskruns", 6),
			Old: `	case apierrors.IsAlreadyExists(err):
		return true, r.adopt(ctx, key, o, c, err)
`,
			New: `	case apierrors.IsAlreadyExists(err) && planted("already-exists-fatal"):
		o.Refused[c.Name] = err
		return true, nil
	case apierrors.IsAlreadyExists(err):
		return true, r.adopt(ctx, key, o, c, err)
`,
		},
		{
			Name: "adopt-by-name", Says: "a pod is adopted if its controller has the run's name, whatever its UID", Caught: "I1",
			In: "reconcile/taskrun", Plans: quiet("run made again under its name"),
			Old: `	case controller != nil && controller.UID == run.UID:
`,
			New: `	case controller != nil && (controller.UID == run.UID || planted("adopt-by-name") && controller.Name == run.Name):
`,
		},
		{
			Name: "lost-done", Says: "a worker does not give its key back", Caught: "I2",
			In: "reconcile", Plans: quiet("one step"),
			Old: `	defer p.queue.Done(key)
`,
			New: `	defer func() {
		if !planted("lost-done") {
			p.queue.Done(key)
		}
	}()
`,
		},
		{
			Name: "first-owner-only", Says: "a child wakes the first of its owners alone", Caught: "I2",
			In: "handler", Plans: quiet("pod gets another owner"),
			Old: `	return o.Owners()
`,
			New: `	owners := o.Owners()
	if planted("first-owner-only") && len(owners) > 1 {
		owners = owners[:1]
	}
	return owners
`,
		},
		{
			Name: "restless-condition", Says: "lastTransitionTime is now, at each reconcile", Caught: "I4b",
			In: "crds", Plans: quiet("three steps, the middle one fails"),
			Old: `	if old.Status == condition.Status {
`,
			New: `	if old.Status == condition.Status && !planted("restless-condition") {
`,
		},
		{
			Name: "restless-start", Says: "startTime is now, at each look at the pod", Caught: "I4",
			In: "reconcile/taskrun", Plans: quiet("three steps, the middle one fails"),
			Old: `		status.StartTime = d.madeAt()
	}
`,
			New: `		status.StartTime = d.madeAt()
	}
	if planted("restless-start") {
		at := metav1.NewTime(d.now.Truncate(time.Second))
		status.StartTime = &at
	}
`,
		},
		{
			Name: "relist-forgets", Says: "a list does not delete what it does not show", Caught: "I7",
			In: "fifo", Plans: quiet("compaction while cut off"),
			Old: `	for _, key := range sorted(maps.Keys(f.unseen)) {
`,
			New: `	for _, key := range sorted(maps.Keys(f.unseen)) {
		if planted("relist-forgets") {
			continue
		}
`,
		},
		{
			Name: "lost-deletion", Says: "the event of a deletion is passed over", Caught: "I7",
			In: "fifo", Plans: quiet("run deleted while running"),
			Old: `	f.removeLocked(o.Key(), kept)
`,
			New: `	if !planted("lost-deletion") {
		f.removeLocked(o.Key(), kept)
	}
`,
		},
		{
			Name: "works-without-lease", Says: "a leader that has lost its Lease goes on", Caught: "I8",
			In: ".", Plans: quiet("Lease cannot be renewed"),
			Old: `func(err error) { lose(err); stop(err) }`,
			New: `func(err error) {
		if !planted("works-without-lease") {
			lose(err)
			stop(err)
		}
	}`,
		},
		{
			Name: "standby-works", Says: "a replica without the Lease begins to work after 20 s", Caught: "I8",
			In: ".", Plans: quiet("two replicas"),
			Old: `	case <-leading:
`,
			New: `	case <-leading:
	case <-plantedAfter("standby-works", 20e9):
`,
		},
		{
			Name: "standby-hoards", Says: "a standby's queue takes every key", Caught: "I10",
			In: ".", Plans: quiet("two replicas"),
			Old: `return s.over.Load()`,
			New: `return s.over.Load() || planted("standby-hoards")`,
		},
		{
			Name: "delete-whoever", Says: "a pod is deleted by its name, whatever its UID", Caught: "I8",
			In: "reconcile/taskrun", Plans: quiet("cancel"),
			Old: `	options := &metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &uid}}
`,
			New: `	options := &metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &uid}}
	if planted("delete-whoever") {
		options = &metav1.DeleteOptions{}
	}
`,
		},
		{
			Name: "patch-whatever", Says: "a status is patched whatever version it has", Caught: "I8",
			In: "reconcile", Plans: quiet("one step"),
			Old: `	metadata, err := json.Marshal(map[string]string{"resourceVersion": resourceVersion})
`,
			New: `	insists := map[string]string{"resourceVersion": resourceVersion}
	if planted("patch-whatever") {
		insists = map[string]string{}
	}
	metadata, err := json.Marshal(insists)
`,
		},
		{
			Name: "random-pod-name", Says: "a pod's name ends in something random", Caught: "I1",
			In: "reconcile/taskrun", Plans: quiet("one step"),
			Old: `	created, err := r.parts.Client.CreatePod(ctx, pod)
`,
			New: `	if n := plantedTurn(); planted("random-pod-name") && n < 10 {
		pod.Name += fmt.Sprint("-", n)
	}
	created, err := r.parts.Client.CreatePod(ctx, pod)
`,
		},
		{
			Name: "pod-of-nobody", Says: "a pod has no owner", Caught: "I3",
			In: "reconcile/taskrun", Plans: quiet("one step"),
			Old: `		OwnerReferences: []metav1.OwnerReference{owner(b.run)},
`,
			New: `		OwnerReferences: []metav1.OwnerReference{owner(b.run)}[:map[bool]int{false: 1}[planted("pod-of-nobody")]],
`,
		},
		{
			Name: "unwitnessed", Says: "what the process has seen of a pod that is gone is forgotten", Caught: "I3",
			In: "reconcile/taskrun", Plans: quiet("pod goes while its run cannot be written"),
			Old: `	o.Witnessed = w.seen[key] == this
`,
			New: `	o.Witnessed = w.seen[key] == this && !planted("unwitnessed")
`,
		},
		{
			Name: "claim-made-anew", Says: "the claim of an attempt that has begun is made again for the next one", Caught: "I3",
			In: "reconcile/taskrun", Plans: quiet("a claim that is lost"),
			Old: `	used := d.Run.Status.Annotations[claimsAnnotation] == claimsInUse
`,
			New: `	used := d.Run.Status.Annotations[claimsAnnotation] == claimsInUse && !planted("claim-made-anew")
`,
		},
		{
			Name: "trusting-restart", Says: "a run without a pod is taken for one that has not begun, on the cache's word", Caught: "I3",
			In: "reconcile/taskrun", Plans: staleRestarts("pod deleted after its first step", "taskruns", 6),
			Old: `	if !doubt && lacksPod(o) {
`,
			New: `	if !doubt && lacksPod(o) && !planted("trusting-restart") {
`,
		},
		{
			Name: "secret-logged", Says: "the spec of each run is logged", Caught: "I12",
			In: "reconcile/taskrun", Plans: quiet("params from a Task"),
			Old: `		r.tell(ctx, key, p)
`,
			New: `		r.tell(ctx, key, p)
		if planted("secret-logged") {
			klog.FromContext(ctx).Info("Reconciling", "params", o.Run.Spec.Params)
		}
`,
		},
		{
			Name: "secret-in-event", Says: "an event tells the results of a run", Caught: "I12",
			In: "reconcile/taskrun", Plans: quiet("results"),
			Old: `		eventType, reason, message := call.Event(had, now)
`,
			New: `		eventType, reason, message := call.Event(had, now)
		if planted("secret-in-event") {
			message += fmt.Sprint(after.Status.Results)
		}
`,
		},
		{
			Name: "secret-in-status", Says: "the message of a run tells its results", Caught: "I12",
			In: "reconcile/taskrun", Plans: quiet("results"),
			Old: `	return d.write("the run ends: "+condition.Reason, d.ended(status, condition))
`,
			New: `	if planted("secret-in-status") {
		condition.Message += invalid("%v", status.Results).message
	}
	return d.write("the run ends: "+condition.Reason, d.ended(status, condition))
`,
		},
		{
			Name: "never-relists", Says: "after 410 the same watch is tried again", Caught: "I2",
			In: "reflector", Plans: quiet("compaction while cut off"),
			Old: `	case expired:
		return p.afterExpiry(o)
`,
			New: `	case expired:
		if planted("never-relists") {
			return p.backOff(Watching, o)
		}
		return p.afterExpiry(o)
`,
		},
		{
			Name: "fatal-410", Says: "410 ends the program, which is started again", Caught: "I9b",
			In: "reflector", Plans: quiet("compaction while cut off"),
			Old: `		p = r.step(ctx, p)
`,
			New: `		p = r.step(ctx, p)
		if planted("fatal-410") && p.cause == CauseExpired {
			return p.err
		}
`,
		},
		{
			Name: "deaf-watch", Says: "a watch that says nothing is believed for ever", Caught: "I2",
			In: "reflector", Plans: quiet("watches fall silent"),
			Old: `orDefault(c.SilenceTimeout, 90*time.Second)`,
			New: `orDefault(c.SilenceTimeout, map[bool]time.Duration{false: 90 * time.Second, true: 24 * time.Hour}[planted("deaf-watch")])`,
		},
		{
			Name: "impatient-reflector", Says: "a list that fails is tried again at once", Caught: "I11",
			In: "reflector", Plans: quiet("server in trouble"),
			Old: `	return max(wish, step) + jitter
`,
			New: `	if planted("impatient-reflector") {
		return 10 * time.Millisecond
	}
	return max(wish, step) + jitter
`,
		},
		{
			Name: "impatient-queue", Says: "a key that fails is tried again at once", Caught: "I11b",
			In: "workqueue", Plans: quiet("server in trouble"),
			Old: `	delay = max(min(delay, atMost), atLeast, 0)
`,
			New: `	delay = max(min(delay, atMost), atLeast, 0)
	if planted("impatient-queue") {
		delay = 10 * time.Millisecond
	}
`,
		},
		{
			Name: "lost-timer", Says: "a key that is to run later never runs", Caught: "I2",
			In: "workqueue", Plans: quiet("quota refuses at first"),
			Old: `	q.delays++
`,
			New: `	q.delays++
	if planted("lost-timer") {
		return
	}
`,
		},
		{
			Name: "leak", Says: "a worker leaves a goroutine behind", Caught: "I9",
			In: "reconcile", Plans: quiet("one step"),
			Old: `		workers.Go(func() { p.work(taking, working) })
`,
			New: `		workers.Go(func() {
			p.work(taking, working)
			if planted("leak") {
				go time.Sleep(time.Hour)
			}
		})
`,
		},
		{
			Name: "written-again", Says: "a run that has ended gets another completion time", Caught: "I5",
			In: "reconcile/taskrun", Plans: quiet("burst of 50"),
			Old: `		return d.tidy()
`,
			New: `		if planted("written-again") {
			return d.conclude(run.Status, run.Succeeded())
		}
		return d.tidy()
`,
		},
		{
			Name: "resync-writes", Says: "a run that has ended long ago is written again, should a resync bring it up", Caught: "I6",
			In: "reconcile/taskrun", Plans: quiet("one step"),
			Old: `	if r.settled.Is(key, version) && !r.podCame(key) {
`,
			New: `	if planted("resync-writes") && plantedTurn() < 50 {
		o, err := r.observe(ctx, key)
		if err == nil && o != nil && o.Run.IsDone() && time.Since(o.Run.Status.CompletionTime.Time) > 6*time.Minute {
			_, err := r.parts.Client.PatchTaskRun(ctx, key, []byte("{\"metadata\":{\"resourceVersion\":\""+version+"\",\"annotations\":{\"seen\":\""+time.Now().String()+"\"}}}"))
			return reconcile.Result{}, err
		}
	}
	if r.settled.Is(key, version) && !r.podCame(key) {
`,
		},
		{
			Name: "transient-is-fatal", Says: "an answer of 500 to the creation of a pod ends the run", Caught: "I16",
			In: "reconcile", Plans: quiet("no pod can be made for a while"),
			Old: `	return status.Status().Code >= http.StatusInternalServerError ||`,
			New: `	return status.Status().Code >= http.StatusInternalServerError && !planted("transient-is-fatal") ||`,
		},
		{
			Name: "quota-is-fatal", Says: "a refusal for quota ends the run", Caught: "I16",
			In: "reconcile/taskrun", Plans: quiet("quota refuses at first"),
			Old: `		return d.awaitQuota(status, err)
`,
			New: `		if planted("quota-is-fatal") {
			return d.refuse(&refusal{crds.TaskRunReasonPodCreationFailed, err.Error()})
		}
		return d.awaitQuota(status, err)
`,
		},
		{
			Name: "timeout-from-creation", Says: "a run's time is counted from its creation, not from its start", Caught: "I4b",
			In: "reconcile/taskrun", Plans: quiet("quota refuses at first"),
			Old: `	deadline := d.Run.Status.StartTime.Add(limit)
`,
			New: `	deadline := d.Run.Status.StartTime.Add(limit)
	if planted("timeout-from-creation") {
		deadline = d.Run.CreationTimestamp.Add(limit)
	}
`,
		},
		{
			Name: "early-results", Says: "a run tells results before it has ended", Caught: "I4b",
			In: "reconcile/taskrun", Plans: quiet("results"),
			Old: `	status = d.set(status, ongoing(crds.TaskRunReasonRunning, "Not all Steps in the Task have finished executing"))
`,
			New: `	status = d.set(status, ongoing(crds.TaskRunReasonRunning, "Not all Steps in the Task have finished executing"))
	if planted("early-results") && status.TaskSpec != nil {
		status.Results = gather(status.TaskSpec, findResults(d.Pod, nil)).results
	}
`,
		},
		{
			Name: "pod-outlives-run", Says: "the pod of a run that was stopped goes on", Caught: "I5b",
			In: "reconcile/taskrun", Plans: quiet("cancel of a long run"),
			Old: `	return !ended && !stopped &&`,
			New: `	return !planted("pod-outlives-run") && !ended && !stopped &&`,
		},
		{
			Name: "busy", Says: "a run that waits is looked at ten times a second", Caught: "I6b",
			In: "reconcile/taskrun", Plans: quiet("three steps, the middle one fails"),
			Old: `	return false, reconcile.Result{RequeueAfter: p.Requeue}, nil
`,
			New: `	if planted("busy") && p.Requeue > 0 {
		p.Requeue = 100 * time.Millisecond
	}
	return false, reconcile.Result{RequeueAfter: p.Requeue}, nil
`,
		},
		{
			Name: "one-handler-at-a-time", Says: "handlers of all resources take turns", Caught: "a handler stalls",
			In: "indexer", Plans: quiet("a handler stalls"),
			Old: `			handle(c)
`,
			New: `			if planted("one-handler-at-a-time") {
				turn := plantedFirst("turn", make(chan struct{}, 1)) // no mutex: time passes while others wait
				turn <- struct{}{}
				handle(c)
				<-turn
				continue
			}
			handle(c)
`,
		},
		{
			Name: "jam-drops", Says: "what comes while ten objects wait to be taken into the cache is dropped", Caught: "I7",
			In: "fifo", Plans: quiet("a handler stalls"),
			Old: `	kept, err := f.transform(o)
	f.mu.Lock()
`,
			New: `	if planted("jam-drops") && f.Len() >= 10 {
		return nil
	}
	kept, err := f.transform(o)
	f.mu.Lock()
`,
		},
	}
}

// plans are those of all faults, each once.
func plans(faults []Fault) []simulation.Plan {
	var all []simulation.Plan
	known := map[string]bool{}
	for _, f := range faults {
		for _, p := range f.Plans {
			if !known[p.String()] {
				known[p.String()] = true
				all = append(all, p)
			}
		}
	}
	return all
}
