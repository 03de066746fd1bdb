package pipelinerun

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"millrace/crds"
	"millrace/indexer"
	"millrace/reconcile/call"
	"millrace/wire"
)

// Children are the runs of one kind that PipelineRuns have made, as summaries: a run
// of two hundred tasks looks at two hundred lines, and decodes none of them.
type Children struct {
	kind   string
	facets Facets
	cache  *indexer.Indexer
	index  *indexer.Index[types.UID]
	decode func(*wire.Object) (child, error) // of one whose facets are not known
	served func(context.Context, Client, *crds.PipelineRun) ([]child, error)
}

// TaskRunsOf adds an index to the cache of TaskRuns, whose source has to be given the
// facets.
func TaskRunsOf(cache *indexer.Indexer, facets Facets) Children {
	return childrenOf(crds.KindTaskRun, cache, facets, ofTaskRun, Client.ListTaskRuns)
}

// CustomRunsOf is TaskRunsOf for CustomRuns.
func CustomRunsOf(cache *indexer.Indexer, facets Facets) Children {
	return childrenOf(crds.KindCustomRun, cache, facets, ofCustomRun, Client.ListCustomRuns)
}

// PipelineRunsOf is TaskRunsOf for PipelineRuns, which may be made by others.
func PipelineRunsOf(cache *indexer.Indexer, facets Facets) Children {
	return childrenOf(crds.KindPipelineRun, cache, facets, ofPipelineRun, Client.ListPipelineRuns)
}

// lists is a method of Client.
type lists[T any] func(c Client, ctx context.Context, run types.NamespacedName) ([]T, error)

func childrenOf[T any, P interface {
	*T
	metav1.Object
}](kind string, cache *indexer.Indexer, facets Facets, summary func(*T) child, list lists[T]) Children {
	return Children{
		kind: kind, facets: facets, cache: cache,
		index: indexer.AddIndex(cache, "controller", controllerUID),
		decode: func(o *wire.Object) (child, error) {
			run, err := wire.Decode[T](o)
			if err != nil {
				return child{}, err
			}
			return summary(&run), nil
		},
		served: func(ctx context.Context, client Client, run *crds.PipelineRun) (children []child, err error) {
			all, err := list(client, ctx, types.NamespacedName{Namespace: run.Namespace, Name: run.Name})
			for i := range all {
				if metav1.IsControlledBy(P(&all[i]), run) {
					children = append(children, summary(&all[i]))
				}
			}
			return children, err
		},
	}
}

// settle is what there is of a run's children where the cache cannot be trusted: what
// the server has, and what only the cache has, which has gone since, or has lost the
// label by which it is asked for.
func (c Children) settle(ctx context.Context, client Client, run *crds.PipelineRun, cached []*child) ([]*child, error) {
	served, err := c.served(ctx, client, run) // of one that is damaged the cache reads what can be read
	if unreadable := new(call.UnreadableError); err != nil && !errors.As(err, &unreadable) {
		return nil, fmt.Errorf("list %ss: %w", c.kind, err)
	}
	settled, of := make([]*child, len(served), len(served)+len(cached)), map[string]bool{}
	for i := range served {
		settled[i], of[served[i].Name] = &served[i], true
	}
	for _, one := range cached {
		if !of[one.Name] {
			settled = append(settled, one)
		}
	}
	slices.SortFunc(settled, func(a, b *child) int { return strings.Compare(a.Name, b.Name) })
	return settled, nil
}

// controllerUID is that of the PipelineRun that made the object. Other owners have not.
func controllerUID(o *wire.Object, add func(types.UID)) {
	for _, owner := range o.Owners() {
		if owner.Controller && owner.Kind == crds.KindPipelineRun {
			add(owner.UID)
		}
	}
}

// A sight is what the cache had of a run's children, in the order of their names.
type sight struct {
	glances  []indexer.Glance
	children []*child
}

// of is what the cache has of a run's children. What has not changed since an earlier
// sight of them is not looked at again: of two hundred children that is one, or two.
func (c Children) of(run types.UID, before sight) (sight, error) {
	now := sight{glances: c.index.Glances(run)}
	now.children = make([]*child, len(now.glances))
	at := 0
	for i, g := range now.glances {
		if at < len(before.glances) && before.glances[at] == g {
			now.children[i] = before.children[at]
			at++
			continue
		}
		one, err := c.summary(g)
		if err != nil {
			return sight{}, err
		}
		now.children[i] = &one
		for at < len(before.children) && before.children[at].Name <= one.Name {
			at++
		}
	}
	return now, nil
}

// someGoOn tells whether the cache has a child of the run that has not ended. One of
// which that cannot be seen may not have.
func (c Children) someGoOn(run types.UID) bool {
	return slices.ContainsFunc(c.index.Glances(run), func(g indexer.Glance) bool {
		one, known := c.facets.summary(c.kind, g)
		return !known || !one.done()
	})
}

func (c Children) summary(g indexer.Glance) (child, error) {
	if one, known := c.facets.summary(c.kind, g); known {
		return one, nil
	}
	o, ok := c.cache.Object(g.Key())
	if !ok { // gone since the glance
		return child{Kind: c.kind, Name: g.Key().Name, UID: g.UID(), Deleting: true}, nil
	}
	one, err := c.decode(o)
	if err != nil {
		return child{}, fmt.Errorf("read %s: %w", c.kind, err)
	}
	return one, nil
}

// summary is the child, unless its facets are not known: they are too long together, or
// the object was damaged.
func (f Facets) summary(kind string, g indexer.Glance) (c child, known bool) {
	var v [facetsAtMost]string
	if !g.Facets(f.list, v[:]) {
		return c, false
	}
	return child{
		Kind: kind, Name: g.Key().Name, UID: g.UID(), Version: g.ResourceVersion(), PipelineTask: v[atTask],
		Status: corev1.ConditionStatus(v[atStatus]), Reason: v[atReason],
		Cancelled: isCancel(v[atAsked]), TimedOut: isTimeout(v[atAsked], v[atMessage]), Deleting: v[atDeleting] != "",
		Ending: endingOf(kind, v[atAsked]), Started: startOf(v[atStarted]),
	}, true
}

// startOf is when a CustomRun says that it began. One that writes a time which is none
// has not begun: its own clock is all that there is to go by.
func startOf(text string) time.Time {
	if text == "" {
		return time.Time{}
	}
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return time.Time{}
	}
	return at
}

// isCancel tells whether spec.status asks a child to stop, in the words of its kind.
func isCancel(asked string) bool {
	switch asked {
	case string(crds.TaskRunSpecStatusCancelled), string(crds.CustomRunSpecStatusCancelled), string(crds.PipelineRunSpecStatusCancelled):
		return true
	default:
		return false
	}
}

// endingOf is how a PipelineRun is asked to end.
func endingOf(kind, asked string) crds.PipelineRunSpecStatus {
	if kind != crds.KindPipelineRun {
		return ""
	}
	return crds.PipelineRunSpecStatus(asked)
}

// isTimeout tells whether it is because its time is up, by the end of our words for that.
func isTimeout(asked, message string) bool {
	return isCancel(asked) && strings.HasSuffix(message, timedOutSuffix)
}

// timedOutSuffix ends what a child is told that is stopped because the time of its
// PipelineRun is up: "TaskRun cancelled " comes before it. The words are Tekton's.
const timedOutSuffix = "as the PipelineRun it belongs to has timed out."

func ofTaskRun(run *crds.TaskRun) child {
	return summaryOf(crds.KindTaskRun, run, run.Succeeded(), string(run.Spec.Status), string(run.Spec.StatusMessage))
}

func ofCustomRun(run *crds.CustomRun) child {
	c := summaryOf(crds.KindCustomRun, run, run.Succeeded(), string(run.Spec.Status), string(run.Spec.StatusMessage))
	if run.Status.StartTime != nil {
		c.Started = run.Status.StartTime.Time
	}
	return c
}

func ofPipelineRun(run *crds.PipelineRun) child {
	return summaryOf(crds.KindPipelineRun, run, run.Succeeded(), string(run.Spec.Status), run.Annotations[annotationMessage])
}

func summaryOf(kind string, run metav1.Object, succeeded crds.Condition, asked, message string) child {
	return child{
		Kind: kind, Name: run.GetName(), UID: run.GetUID(), Version: run.GetResourceVersion(), PipelineTask: run.GetLabels()[labelPipelineTask],
		Status: succeeded.Status, Reason: succeeded.Reason,
		Cancelled: isCancel(asked), TimedOut: isTimeout(asked, message), Deleting: run.GetDeletionTimestamp() != nil,
		Ending: endingOf(kind, asked),
	}
}

// results are those that a child has left. One that is gone has left none; one that
// cannot be decoded neither, for what is in it nobody can say.
func (r *Reconciler) results(ctx context.Context, key types.NamespacedName, kind, name string) ([]crds.TaskRunResult, error) {
	at := beside(key, name)
	switch kind {
	case crds.KindCustomRun:
		run, err := whole(ctx, at, r.parts.Caches.CustomRun, r.parts.Client.GetCustomRun)
		if run == nil || err != nil {
			return nil, err
		}
		return customResults(run), nil
	case crds.KindPipelineRun:
		run, err := whole(ctx, at, r.parts.Caches.PipelineRun, r.parts.Client.GetPipelineRun)
		if run == nil || err != nil {
			return nil, err
		}
		return pipelineResults(run), nil
	default:
		run, err := whole(ctx, at, r.parts.Caches.TaskRun, r.parts.Client.GetTaskRun)
		if run == nil || err != nil {
			return nil, err
		}
		return run.Status.Results, nil
	}
}

func customResults(run *crds.CustomRun) []crds.TaskRunResult {
	results := make([]crds.TaskRunResult, 0, len(run.Status.Results))
	for _, result := range run.Status.Results {
		results = append(results, crds.TaskRunResult{Name: result.Name, Type: crds.ParamTypeString, Value: crds.NewString(result.Value)})
	}
	return results
}

func pipelineResults(run *crds.PipelineRun) []crds.TaskRunResult {
	results := make([]crds.TaskRunResult, 0, len(run.Status.Results))
	for _, result := range run.Status.Results {
		results = append(results, crds.TaskRunResult{Name: result.Name, Type: result.Value.Type, Value: result.Value})
	}
	return results
}

// whole is a child that has ended and is to be read: from the cache, or from the server
// where the cache has not come to it, or to its end, yet. That it has ended the server may
// have told itself, to a run in doubt, and a cache that stands still shows no results
// (seed 1270).
func whole[T any, P interface {
	*T
	IsDone() bool
}](
	ctx context.Context, key types.NamespacedName,
	cache func(types.NamespacedName) (T, bool, error), server func(context.Context, types.NamespacedName) (*T, error),
) (*T, error) {
	ended := func(key types.NamespacedName) (T, bool, error) {
		run, ok, err := cache(key)
		return run, ok && (err != nil || P(&run).IsDone()), err
	}
	run, _, err := call.Find(ctx, key, ended, server)
	if err != nil {
		return nil, fmt.Errorf("read the results of %s: %w", key.Name, err)
	}
	return run, nil
}
