package main

import (
	"encoding/json"
	"os"
	"slices"
	"testing"

	"millrace/internal/simulation"
)

// The test of package planted builds this program with faults in it, and has it
// play plans: from the file that PLANTED_TASK names, until one breaks an invariant.
func TestPlansAreToldToWhoPlantsFaults(t *testing.T) {
	file := os.Getenv("PLANTED_TASK")
	if file == "" {
		t.Skip("a part of internal/simulation/planted")
	}
	var task struct {
		Plans []simulation.Plan
		Until string
	}
	raw, err := os.ReadFile(file)
	if err == nil {
		err = json.Unmarshal(raw, &task)
	}
	if err != nil {
		t.Fatal(err)
	}
	type tale struct {
		Plan       string
		Violations []simulation.Violation
	}
	var told []tale
	for _, p := range task.Plans {
		r := play(t, p)
		told = append(told, tale{p.String(), r.Violations})
		if slices.ContainsFunc(r.Violations, func(v simulation.Violation) bool { return v.Invariant == task.Until }) {
			break
		}
	}
	raw, err = json.Marshal(told)
	if err == nil {
		err = os.WriteFile(file+".told", raw, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}
