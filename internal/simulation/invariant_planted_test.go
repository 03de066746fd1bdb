package simulation

import (
	"fmt"
	"time"

	"millrace/internal/simulation/apiserver"
)

// What the stories of the invariants of invariant_planted.go are told with.

// since is a status of a run that has been at work since that second.
func since(second string) string {
	return `{"conditions":[{"type":"Succeeded","status":"Unknown","reason":"Running","lastTransitionTime":"2026-01-01T00:00:` + second + `Z"}]}`
}

func (l *tale) reconciled(times int) {
	l.facts.Metrics = map[string]string{"millrace-0": fmt.Sprintf("controller_runtime_reconcile_total{controller=\"taskrun\",result=\"success\"} %d\n", times)}
}

func (l *tale) lists() {
	l.check.See(apiserver.Exchange{Request: apiserver.Request{Actor: leader, Verb: "list", Resource: "pods"}, At: time.Now(), Code: 200})
}

func (l *tale) refusedWrites(n int) {
	for i := range n {
		at := l.facts.Begun.Add(time.Duration(i) * 29 * time.Second / time.Duration(n))
		l.check.See(apiserver.Exchange{Request: apiserver.Request{Actor: leader, Verb: "patch", Resource: "taskruns", Key: aRun}, At: at, Code: 500})
	}
}
