// Package reference reads the $(...) references in what authors of tasks and pipelines
// write: where they are, and what their names mean. It puts nothing in.
//
//	"echo $(params.x[0]) $(date)" ──Each──▶ params.x[0], date ──Of("params")──▶ x, [0]
//	                                                          ──OfTask──▶ a task, its result …
//
//	crds/validation ──▶ reference ◀── reconcile/variables, which replaces what is found
//
// What it promises:
//
//  1. Who checks a reference and who replaces it see the same ones: there is one scan,
//     Each, and one list of spellings (TestEach, FuzzOf).
//  2. A reference is everything between "$(" and the next ")", compared as text: no
//     spaces are trimmed, no quotes are normalised.
//  3. Time grows with the length of the text and no faster (TestEachIsLinear).
//  4. No name is malformed: what is in no scope is not found by it, and is somebody
//     else's, as $(date) is the shell's.
//
// No state, no I/O, no goroutine.
package reference
