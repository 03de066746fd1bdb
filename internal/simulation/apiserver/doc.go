// Package apiserver is a model of the Kubernetes API server, and of the network
// before it, for simulations: as exact as the program that is simulated can tell.
//
//	program ─▶ client-go's REST client ─▶ Link (net.Pipe) ─▶ HTTP ─▶ Interference ─▶ store ─▶ watches
//	                                       cut, partition             what goes wrong   │
//	actors (kubelet, users) ─────────────────────────────────────── Actor ─▶────────────┤
//	                                                                                    ▼
//	                                                                        Exchange ─▶ invariants
//
// It speaks HTTP/1.1 with an unmodified client, in a bubble of testing/synctest,
// over pipes: real sockets would keep the bubble's clock from moving.
//
// # What is modelled
//
//   - Resource versions, one count for all resources; conflicts; preconditions of
//     UID and resource version; generation; the status subresource; dry run.
//   - Lists in pages of one snapshot, whose continuations expire; lists as streams
//     (sendInitialEvents); watches from a version, with history, bookmarks once a
//     minute, and 410 where the history was compacted, in all three places.
//   - JSON merge patch, JSON patch, and strategic merge patch for built-in kinds.
//   - Deletion: finalizers, a pod's grace, and the garbage collection of what an
//     owner leaves (Orphans finds it; an actor deletes it, in its own time).
//   - JSON, protobuf for built-in kinds, and PartialObjectMetadata.
//   - A restore from a backup: objects go back; so do resource versions, or they
//     leap ahead.
//
// # What is not
//
// Admission, schemas and defaulting, except for what Interference refuses;
// aggregation; server-side apply; OpenAPI; HTTP/2.
//
// # How to add a resource
//
// One line in resources.go.
//
// # What it promises
//
//  1. Nothing happens at an instant that another thing may happen at, if
//     Interference waits a different time for each request and event.
//  2. Exchanges are told in the order in which the store acted, under its lock;
//     whoever is told must not call the server.
//  3. Objects handed out are shared, and are never changed.
//  4. Run returns when every connection is closed and every handler has returned.
package apiserver
