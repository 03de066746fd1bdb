package simulation

import (
	"millrace/internal/simulation/apiserver"
)

// An Invariant is what must hold whatever goes wrong. To add one, write its New
// and put it into Invariants; and plant a violation in invariant_test.go.
type Invariant struct {
	ID   string
	Says string
	New  func(*Facts, report) Check
}

// report tells of a violation.
type report func(format string, args ...any)

// A Check watches one simulation. See is called after each exchange, Told before
// each event of a watch, End when all is over; each may be nil. It is told things one after the other.
type Check struct {
	See  func(apiserver.Exchange)
	Told func(apiserver.Event) // of a watch, when it is sent
	End  func()
}

// Invariants are all there are, by the numbers that docs/reliability.md gives them.
func Invariants() []Invariant {
	return []Invariant{
		{"I1", "at most one live pod of a run's attempt, and no pod of another's is taken for its own", onePod},
		{"I2", "every accepted run ends soon after the faults have", together(nothingLost, noPipelineLost)},
		{"I3", "no pod is made again after its first step was seen to begin, and no claim; no task of a pipeline runs twice, and none before its turn", together(nothingTwice, oneClaim, eachTaskOnceInItsTurn)},
		{"I4", "a status only goes forward", together(monotone, pipelinesGoForward)},
		{"I5", "a run that has ended is not written, and nothing is made for it; a pipeline ends after its tasks", together(completedIsOver, pipelinesEndLast)},
		{"I6", "nothing is written when nothing happens", quiescence},
		{"I7", "the caches are what the server has, and the queues are empty", cachesAreTrue},
		{"I8", "every write insists on what it was decided for, and is made by the leader", writesInsist},
		{"I9", "a process that has stopped leaves nothing running", nothingLeaks},
		{"I10", "what is held, and what waits, is bounded by what there is", bounded},
		{"I11", "an outage is not made worse", backsOff},
		{"I12", "what is secret is told to nobody", secretsAreKept},
		{"I13", "nothing is asked for that the manifests do not grant", onlyWhatIsGranted},
		{"I16", "a run comes to what it would have come to without faults", together(sameEnds, samePipelineEnds)},
		{"fault 5", "a watch that says nothing is given up within 90 s", silenceIsNoticed},
		{"fault 17", "a pod that is refused for now is waited for", waitsForOthers},
		{"I4b", "times move with what they are of, results come at the end, and nobody is out of time too early", inItsTime},
		{"I5b", "the pod of a run that has ended ends, too", nothingGoesOn},
		{"I5c", "a pod that has begun stays, with its logs, unless its run was cancelled, or is out of time", logsStay},
		{"I6b", "where nothing goes wrong, an attempt is looked at twenty times at most", littleWork},
		{"I9b", "no process ends but for having been told to, or for its Lease", nobodyGivesUp},
		{"I11b", "what is refused is tried again once a second at most", retriesWait},
	}
}

// together checks several things under one number.
func together(all ...func(*Facts, report) Check) func(*Facts, report) Check {
	return func(f *Facts, report report) Check {
		parts := make([]Check, 0, len(all))
		for _, one := range all {
			parts = append(parts, one(f, report))
		}
		return Check{
			See: func(e apiserver.Exchange) {
				for _, p := range parts {
					if p.See != nil {
						p.See(e)
					}
				}
			},
			Told: func(e apiserver.Event) {
				for _, p := range parts {
					if p.Told != nil {
						p.Told(e)
					}
				}
			},
			End: func() {
				for _, p := range parts {
					if p.End != nil {
						p.End()
					}
				}
			},
		}
	}
}
