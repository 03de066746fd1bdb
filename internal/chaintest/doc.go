// Package chaintest plays stories: what happens to the objects of a model API server,
// and what every stage of the chain makes of it, one step at a time.
//
//	story ──▶ server ──LIST/WATCH──▶ reflector ──▶ fifo ─┤step├▶ indexer ──▶ handler ──▶ workqueue ─┤worker├
//	            set, delete, drop, expire, …                                              get, done, reconcile
//
// The reflector runs by itself, as in production. What it has brought waits in the
// FIFO until the story says step, and a key waits in the queue until a worker takes
// it: so a story can look at what stands between two stages, which a program that runs
// never shows. Time is the story's as well, and stands still until it says advance.
//
// A story is a file of testdata: sentences, commands, and what the stages then said.
//
//	# Two changes while nobody looks are one entry.
//	server set taskrun/a spec=two
//	----
//	server    MODIFIED n/a u1 @1002
//	reflector taskruns MODIFIED
//	fifo      taskruns n/a: Updated u1 @1002
//
// A line begins with who says it: server, reflector, fifo, indexer, predicate, handler,
// queue, worker, or the program that drains. The output is what happened, and is never
// written by hand: go test ./internal/chaintest -rewrite writes it, and a test that
// follows finds out where the stages have changed their minds. Commands are in verbs.go.
//
// What it promises: a story has the same output each time, or it fails
// (TestStoriesAreTrue).
package chaintest
