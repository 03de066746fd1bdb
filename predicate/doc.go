// Package predicate decides which changes of the cache are worth a reconcile.
//
//	indexer ──Change──▶ predicate ──yes──▶ handler ──key──▶ workqueue
//	                        └────no───▶ nothing happens
//
// A predicate is a function of a change, and nothing else: no state, no clock,
// no error. It runs in the goroutine of the indexer's Run, between two entries
// of the FIFO, so it must not wait. It sees the two states as bytes with a few
// facts read from them, and those here never decode.
//
// What it promises:
//
//  1. No predicate here panics, whatever of Old and New is nil; what it cannot
//     judge it lets pass, since a reconcile too many costs little and one too
//     few is a run that hangs. (TestTable)
//  2. Old is the state that the handlers were last told of, not the one before
//     New on the server. So changes that were merged on their way are judged
//     together: a generation that moved is seen however many events stood for
//     the move. (indexer.TestApplyTellsWhatChanged, and "status, merged" in TestTable)
//  3. A new UID under an old name is a deletion and a creation, never an
//     update. It passes GenerationChanged even where both generations are 1
//     (kube-rs #1768 missed it). ("another UID" in TestTable)
//  4. No predicate allocates. (TestPredicatesDoNotAllocate)
//  5. And, Or and Not ask from left to right, and no further than they must.
//     (TestAndOrNot)
//  6. The table below. (TestTable)
//
// It does not promise that what it drops was no news to you: that is for whoever wires
// it to know. No goroutine is started here, no lock taken, and one predicate may serve
// any number of chains at once.
//
// The table. "Resync" is an update without a change, "status" one that changed
// the status alone, "status 0" the same where the server counts no generation,
// "spec" one that changed the spec, "label" one that changed a label alone:
//
//	                   created  deleted  generic  resync  status  status 0  spec  label  deletionTimestamp
//	GenerationChanged  yes      yes      yes      yes     no      no        yes   no     yes
//	LabelChanged       yes      yes      yes      yes     no      no        no    yes    yes
//	NoGeneration       yes      yes      yes      no ¹    no      yes       no    no     no ¹
//	Dependent          no       yes      no       no      no      no        yes   yes    yes
//
//	¹ yes where the generation is 0
//
// GenerationChanged is for the objects that a reconciler was made for: its own
// writes to the status bring it no news. Or(GenerationChanged, NoGeneration) is
// for kinds of both sorts. Dependent is for what a reconciler has made out of
// its object, a Deployment or a Service.
//
// Dependent must not stand between a Pod and its TaskRun. A Pod tells that a
// step has started, ended or failed in its status and nowhere else; behind
// Dependent the run would stay Unknown until its timeout. Nor does NoGeneration
// save it: the API server has begun to count a generation for Pods (KEP-5067),
// and with it status updates of Pods stop passing. Between them stands no
// predicate at all.
//
// controller-runtime's GenerationChangedPredicate differs in two points. It
// drops resyncs, so that a resync period that somebody configures does nothing;
// and it drops the update that sets a deletionTimestamp, wherever a server does
// not count that as a generation, so that finalizers wait for other news.
package predicate
