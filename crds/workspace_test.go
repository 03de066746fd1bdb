package crds

import (
	"testing"

	"k8s.io/apimachinery/pkg/util/json" // looks at capitals, as the reader of the cache does
)

func TestAMountPathInSmallLettersIsRead(t *testing.T) {
	var task Task
	if err := json.Unmarshal([]byte(`{"spec":{"steps":[{"workspaces":[{"name":"w","mountpath":"/w"}]}]}}`), &task); err != nil {
		t.Fatal(err)
	}
	if got := task.Spec.Steps[0].Workspaces[0]; got != (WorkspaceUsage{Name: "w", MountPath: "/w"}) {
		t.Errorf("%+v", got)
	}
}
