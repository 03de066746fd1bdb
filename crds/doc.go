// Package crds is the Tekton API that Millrace serves: tekton.dev/v1 as Go
// types, and beside them the CustomResourceDefinitions made from those types.
//
//	kubectl ──YAML──▶ API server ──bytes──▶ wire ─ … ─▶ indexer ──bytes──▶ wire.Decode[crds.TaskRun] ──▶ reconcile
//	                     ▲                                                       ▲
//	                     └── tekton.dev_*.yaml ◀── make crds ◀── these Go types ─┘
//
// The types are the single source. A field is written here once, with the one
// sentence that `kubectl explain` will print, and `make crds` writes the YAML.
// A test refuses YAML that has drifted from the types.
//
// What the package promises:
//
//  1. Pure: no I/O, no context, no clock, no goroutine. What needs the time is
//     handed it.
//  2. Every type decodes what Tekton's own clients write, and encodes what they
//     read: the JSON names are Tekton's, and nothing else of it is here.
//  3. A value of a parameter or result is a string, an array of strings or an
//     object of strings; it round-trips as the kind it came in, and JSON that is
//     none of the three becomes the string of its own text (see ParamValue).
//  4. A condition's lastTransitionTime moves when its status does, and at no
//     other time.
//  5. Each CustomResourceDefinition stays under 200,000 bytes of JSON, because
//     client-side `kubectl apply` keeps a copy in an annotation and the server
//     refuses annotations above 262,144.
//  6. A rule of a definition refuses nothing that Tekton accepts, stands at spec or
//     below, and can be counted on by nobody: an object that is stored already keeps
//     what breaks it, and its status and metadata can still be written.
//
// v1beta1 of Task, TaskRun, Pipeline and PipelineRun has no types here: the definitions
// serve it with a loose schema, and package conversion makes v1 of it and back.
//
// There is no DeepCopy. Readers of the cache decode a private copy each time,
// so there is nothing shared to copy from.
//
// +groupName=tekton.dev
// +versionName=v1
package crds
