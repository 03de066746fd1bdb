// Package conversion turns a Task, TaskRun, Pipeline or PipelineRun of
// tekton.dev/v1beta1 into one of v1, and back. Most of what people have published
// is v1beta1; v1 is what is stored, and what the rest of Millrace reads.
//
//	kubectl ──v1beta1──▶ API server ──ConversionReview──▶ webhook ──object──▶ Convert ─┬─ rules: fields that moved or were renamed
//	                        │  ▲                             │                         ├─ Tekton's annotations: what it keeps of older versions
//	                        ▼  └────────────── v1 ◀──────────┴─────────◀───────────────┴─ kept: whatever else would be lost
//	                      etcd
//
// It works on JSON trees and not on types, so that a field which no type knows
// passes through. What the package promises:
//
//  1. Pure: no I/O, no clock; the argument is not changed, and the result shares
//     nothing with it.
//  2. Nothing is lost: an object that was converted and converted back is the same
//     JSON, in both directions, whatever it holds. What the other version has no
//     field for lies in an annotation meanwhile (AnnotationKept, or one of Tekton's
//     where Tekton has one), and is not seen in the version that it belongs to.
//  3. An edit made in the other version wins over what was kept: a kept field is put
//     back only where its surroundings are what they were. A step that was renamed
//     does not get the ports of another.
//  4. Total: an object that a server could have stored is converted. Errors are for
//     what is no object of these kinds and versions (named by its field), and for
//     annotations that would grow beyond what an API server takes. One object that
//     cannot be converted makes a list of all of them fail, so a value of the wrong
//     type deeper inside is left as it is, for a schema or for admission to refuse.
//  5. An annotation that was kept for one kind means nothing on another: a TaskRun
//     that was handed the annotations of its Task shows no fields of the Task.
//
// The rules are those of Tekton's own conversion (tektoncd/pipeline, v1beta1 → v1),
// with one difference: a bundle becomes parameters of the resolver of that name, as
// there, and becomes a bundle again on the way back, as it does not there.
package conversion
