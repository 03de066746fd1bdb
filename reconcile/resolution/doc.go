// Package resolution reads references to Tasks and Pipelines that are not objects of
// the run's own namespace.
//
//	ref: {resolver: cluster, params: …} ──Cluster──▶ namespace and name ──cache, server──▶ object ──Source──▶ provenance
//	ref: {resolver: git, params: …} ──Request──▶ ResolutionRequest ··somebody's resolver··▶ Read ──▶ object, provenance
//
// What it promises:
//
//  1. Cluster is total: any parameters give a key or an error that says which of them
//     is wrong (TestClusterReferences).
//  2. A source names one version of one object, by its UID and the digest of its spec
//     (TestSourceNamesOneVersion).
//  3. The name of a request follows from the run and the question: asking twice is
//     asking once (TestNamesOfRequests).
//  4. Read gives an object of the kind that was asked for, ErrPending, or an error for
//     good, whatever a resolver has answered (TestAnswersOfResolvers); and it does not
//     wait for ever for one that is not there.
//
// No I/O, no clock, no goroutine.
package resolution
