// Package objects makes any number of pods, TaskRuns and PipelineRuns, as a server would
// send them, from some that a server has sent.
//
//	testdata: what was recorded ──▶ half of it ──▶ shapes ──▶ texts that vary ──▶ object i, state s
//	          pods and runs         dictionary     encoded     names, UIDs, times,    JSON, protobuf
//	                                or measured    once        digests, params, IPs
//
// A cluster's memory is not filled with copies of one object, and not with
// noise either: what repeats in it, and what does not, decides how small it can
// be made. So the objects are recorded (see testdata/README.md), and what would
// differ between two runs of one file differs between two that are made here,
// and is of the same length and look: a UID becomes another UID, a commit
// another commit, a word another word.
//
// What it promises:
//
//  1. Object i of a seed is always the same, to the byte, and no two have the
//     same key or UID. (TestTheSameSeedMakesTheSameObjects, TestNoTwoAreTheSame)
//  2. What is made decodes, and says the same as JSON and as protobuf.
//     (TestWhatIsMadeDecodesToTheSameInBothFormats)
//  3. It is as long as the recorded one of its shape, to a few percent.
//     (TestSizesAreThoseOfTheRecord)
//  4. A run and its pod agree: the pod's owner is the run's UID, its labels the
//     run's name. (TestAPodBelongsToItsRun)
//  5. A PipelineRun's children are called after it.
//     (TestAPipelineRunsChildrenAreCalledAfterIt)
//  6. The two halves have no recorded run in common: each file was run twice. And
//     each half can be narrowed to every other file, so that a dictionary made of
//     some has never seen a run of the others' Tasks.
//     (TestTheHalvesHaveNoRunInCommon,
//     TestEveryOtherFileHasNoFileInCommonWithTheRest)
//
// It has no goroutines. A Maker is for one goroutine, a Run for any number.
package objects
