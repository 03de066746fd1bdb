package conversion

import "testing"

// Whatever a conversion writes beside an object stays with that object.
func TestWhatAConversionKeepsIsTold(t *testing.T) {
	annotations := []string{AnnotationKept, AnnotationKeptV1}
	for _, kind := range []string{"Task", "TaskRun", "Pipeline", "PipelineRun"} {
		for _, f := range tektonFields(kind) {
			annotations = append(annotations, f.annotation)
		}
	}
	if len(annotations) < 7 {
		t.Fatalf("only %v", annotations)
	}
	for _, a := range annotations {
		if !Keeps(a) {
			t.Errorf("%s is handed on", a)
		}
	}
	for _, a := range []string{"tekton.dev/pipeline", "tekton.dev/v1", "note"} {
		if Keeps(a) {
			t.Errorf("%s is not", a)
		}
	}
}
