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
//   - Lists of now, not older than a version, or of one exactly; in pages, whose
//     continuations expire; as streams (sendInitialEvents). Watches from a version,
//     with history, bookmarks once a minute, and 410 where the history was
//     compacted: as a refusal of lists, and as the first event of a watch.
//   - JSON merge patch, JSON patch, and strategic merge patch for built-in kinds.
//   - Deletion: finalizers, a pod's grace, collections, and the garbage collection
//     of what an owner leaves (Actor.Collect).
//   - JSON, protobuf for built-in kinds, PartialObjectMetadata; paths, methods and
//     encodings that are not served, and the words in which that is said.
//   - What servers fill in and drop: defaults of built-in kinds, unknown fields;
//     what they refuse of metadata, of the schemas of custom resources (types and
//     required fields), and a little of pods.
//   - A restore from a backup: objects go back; so do resource versions, or they
//     leap ahead.
//
// How far that is what a server does is held to a record of one, exchange by
// exchange: package dialogue.
//
// # What is not
//
// Admission, but for namespaces and accounts where somebody has made a namespace,
// and for what Interference refuses; tables; managedFields and server-side apply;
// the protection of claims; most of the validation of built-in kinds; aggregation;
// OpenAPI; HTTP/2.
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
