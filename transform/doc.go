// Package transform says what is cut from an object before it is kept.
//
//	reflector ──▶ transform ──▶ fifo ──▶ indexer
//	   as sent     smaller      waits     kept
//
// It stands at the door of the FIFO, so that what waits is small too, and in
// any case before the indexer.
//
// # A warning to whoever reads the cache next
//
// A field that is cut here reads as if nobody had ever set it. There is no
// error and no mark, and the type still has the field. Before you read a field
// from the cache, look at the list that its chain was given in main.go; what
// Default takes away is this:
//
//	metadata.managedFields
//	metadata.annotations["kubectl.kubernetes.io/last-applied-configuration"]
//
// And never write an object from the cache back as a whole: what was cut would
// be gone on the server. Write a patch of what changes, or read the object from
// the server first.
//
// It is tempting to cut more: the status of a run that is done, the env of a
// step. But reconcilers do read completed objects: a PipelineRun reads the
// results of its children long after they have ended. So Default is what no
// controller reads, and no more.
//
// # What it promises
//
//  1. A transform of Cuts is total and idempotent, and spells what it keeps as
//     the server did. (TestDefaultCutsWhatNoControllerReads,
//     TestATransformLeavesAloneWhatItHasMade)
//  2. Key, UID, resourceVersion, labels and owners of an Object are not changed
//     by a Cut, whatever is cut. (TestACutKeepsTheFacts)
//  3. It is not called here at all: the FIFO does, once for each state that is
//     news, never for a deletion that nobody saw, never for a resync.
//
// No goroutine is started here, and no state is kept: one Func may serve any
// number of chains.
package transform
