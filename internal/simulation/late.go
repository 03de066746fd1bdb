package simulation

import (
	"time"

	"millrace/crds"
	"millrace/internal/simulation/apiserver"
)

// childComesLate has the process die that was to make the TaskRun of a PipelineRun, which
// is cancelled then. The server comes to make that TaskRun when the next process, which
// could not know of it, has ended the PipelineRun.
func childComesLate(w *World) {
	const kind = "killed, and what it sent is done later"
	w.account("blue")
	makes := func(r apiserver.Request) bool {
		return program(r.Actor) && r.Verb == "create" && r.Resource == "taskruns"
	}
	over := w.forbid(kind, makes, apiserver.Verdict{Kill: apiserver.BeforeActing, Late: 30 * time.Second})
	w.afterNext(func(e apiserver.Exchange) bool { return makes(e.Request) }, 0, func(apiserver.Exchange) {
		over()
		w.cancelsPipeline(0, "blue", "p", crds.PipelineRunSpecStatusCancelled)
	})
	w.createsPipeline(soon, "blue", "p", func(draw) (crds.PipelineRunSpec, Expect) {
		return executes(crds.PipelineSpec{Tasks: []crds.PipelineTask{pipelineTask("a", "sleep=30m")}}),
			Expect{Reason: string(crds.PipelineRunReasonCancelled), Runs: map[string]int{"a": 1}}
	})
}

// stopsWhatIsLate is of I2: nothing goes on for a PipelineRun that has ended.
func stopsWhatIsLate(f *Facts, report report) Check {
	return Check{End: func() {
		late := 0
		for _, p := range f.PipelineRuns {
			for uid, c := range p.Children {
				run := f.Runs[uid]
				if !c.Late || run == nil {
					continue
				}
				late++
				if took := run.Ended.Sub(run.Created); run.Ended.IsZero() || took > time.Minute {
					report("%s, which was made %s after the end of %s, took %s", c.Key, run.Created.Sub(p.Ended), p.Key, took)
				}
			}
		}
		if late == 0 {
			report("no child has come late")
		}
	}}
}
