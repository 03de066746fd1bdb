// Package objects makes any number of pods and TaskRuns, as a server would send
// them, from some that a server has sent.
//
//	testdata: what was recorded ──▶ half of it ──▶ shapes ──▶ texts that vary ──▶ object i, state s
//	          75 pods, 89 runs      dictionary     encoded     names, UIDs, times,    JSON, protobuf
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
//  5. The two halves have no recorded file in common, so a dictionary that was
//     made of one has not seen the other. (TestTheHalvesHaveNothingInCommon)
//
// It has no goroutines. A Maker is for one goroutine, a Run for any number.
package objects
