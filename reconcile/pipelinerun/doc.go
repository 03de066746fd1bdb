// Package pipelinerun executes PipelineRuns: it makes a run for each task of a
// pipeline when its turn has come, and tells in the PipelineRun's status what
// becomes of them.
package pipelinerun
