// Package validation says what is wrong with a Task, TaskRun, Pipeline, PipelineRun,
// StepAction, CustomRun or ResolutionRequest, beyond what their schemas can say, and
// what to do about it.
//
//	object, defaulted ──Task, TaskRun, … (Options)──▶ errors: refuse it
//	                                                └▶ warnings: take it, and tell its author
//	new, old ──TaskRunUpdate, …──▶ errors: what may not be changed any more
//
//	webhook ──▶ validation ◀── reconcile/taskrun, reconcile/pipelinerun
//	               │ └──▶ crds/reference: what $(...) in a text means
//	               ├────▶ crds/graph: what ties the tasks of a pipeline to each other
//	               └────▶ crds/defaulting: two specs are compared as if both were defaulted
//
// # What it promises
//
//  1. Whether an object is accepted is Tekton's decision, and so is the field that is
//     wrong; the words are ours. What Tekton accepts, and cannot work, is accepted with a
//     warning.
//  2. Each error is at the exact path of a field, from spec or metadata on, and says
//     what is wrong and what to do (TestEveryErrorSaysWhatToDo).
//  3. Pure: no context, no clock, no I/O, nothing remembered, and the object is not
//     changed. Nothing that decodes makes it panic (FuzzTaskRun, FuzzTask,
//     FuzzPipelineRun, FuzzPipeline).
//  4. Time grows with the size of the object and no faster (BenchmarkTask,
//     BenchmarkTaskRun, BenchmarkPipeline, BenchmarkPipelineRun); of more errors than
//     people read the rest is left out.
//  5. An object is judged as it will be when its defaults are filled in: an object that
//     is accepted before that is accepted after it (TestDefaultsRefuseNothing).
//
// An object that a webhook has let pass is no reason to trust it: the webhook may have
// been away, or the object restored from a backup. The reconcilers ask the same
// functions again.
//
// # Goroutines
//
// None.
package validation
