// Package inspect answers "why was this reconciled?", and shows the whole program
// at work.
//
// It stands beside the chains and hears what their stages tell, through the hooks
// that each of them has anyway:
//
//	reflector ──▶ fifo ──▶ indexer ──▶ handler, predicate ──▶ workqueue ──▶ pool
//	    │           │         │                 │                 │           │
//	  Trace      Oldest     Stats          WhenElse            Trace.OnAsk  Trace
//	    ▼           ▼         ▼                 ▼                 ▼           ▼
//	┌─ Inspector ──────────────────────────┬─ Controller ──────────────────────────┐
//	│ a Resource for each chain            │ a history for each key: asks and runs  │
//	└──────────┬───────────────────────────┴──────────────┬─────────────────────────┘
//	           ▼                                          ▼
//	/debug/pipeline, /debug/events (live)       /debug/key?controller=…&key=ns/name
//
// Of a key it remembers who asked for a run of it, when that news reached the
// process, and what the queue made of it; what a predicate dropped on the way; and
// when a worker took it, how long it had waited, and what came of it. What can be
// read off the stages at the moment of the question (the object in the cache, the
// queue's state of the key, the causes of the next run) is read off them, and kept
// nowhere.
//
// # What it promises
//
//  1. A Report has what each stage did with a key, and when, in order: as far back
//     as it is remembered, and with the number of earlier events that are not.
//  2. A Report says what a key runs for at this moment, what it will run for next,
//     and when that is due.
//  3. A key that neither cache nor queue nor memory knows is told from one to which
//     nothing has happened.
//  4. Memory is bounded: of a key 32 asks and 16 runs with 256 bytes of error each,
//     which is 16 KiB at the most; of all keys of a controller DefaultBudget, 4 MiB.
//     Beyond that the keys go to which nothing has happened for longest. No string
//     that is kept is a part of an object.
//  5. The hooks do not allocate for a key that has been there before, and never
//     block: each takes one lock, for less than a microsecond. Reading does not
//     hold up anybody either: it takes one stage's lock after the other, for a
//     moment each.
//  6. The page needs nothing from elsewhere, and puts names and errors on the
//     screen as text, never as markup.
//
// It does not promise that the last moments before a crash are remembered: it is
// memory, not a log. Nor is a history the audit of what a reconcile has written:
// the API server has that.
//
// # Goroutines
//
// It has none. Hooks run in the goroutines of the stages that call them, reports in
// those of the requests. An Inspector belongs to one run of the program, so two of
// them in one process (as in simulations) do not meet.
package inspect
