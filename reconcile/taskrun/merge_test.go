package taskrun

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"millrace/crds"
	"millrace/internal/intime"
)

// Long lists are merged by hand, and come out as apimachinery merges short ones.
func TestMergeIsAStrategicMergePatch(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	list := func() (c corev1.Container) {
		for _, i := range random.Perm(8)[:random.IntN(6)] {
			name := string(rune('a' + i))
			c.Env = append(c.Env, corev1.EnvVar{Name: name, Value: fmt.Sprint(random.IntN(9))})
			c.VolumeDevices = append(c.VolumeDevices, corev1.VolumeDevice{DevicePath: name, Name: fmt.Sprint(random.IntN(9))})
			mount := corev1.VolumeMount{MountPath: name, Name: fmt.Sprint(random.IntN(9)), ReadOnly: random.IntN(2) == 0}
			if random.IntN(2) == 0 {
				mount.SubPath = fmt.Sprint(random.IntN(9))
			}
			c.VolumeMounts = append(c.VolumeMounts, mount)
		}
		return c
	}
	for range 300 {
		under, over := list(), list()
		want, got := must(mergeFields(under, over)), must(mergeContainers(under, over))
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("%v over %v: -want +got\n%s", over, under, diff)
		}
	}
}

// A task may have as many variables as fit into it.
func TestMergeIsLinear(t *testing.T) {
	spec := &crds.TaskSpec{StepTemplate: &crds.StepTemplate{}, Steps: []crds.Step{{Image: "x"}}}
	for i := range 50_000 {
		spec.StepTemplate.Env = append(spec.StepTemplate.Env, corev1.EnvVar{Name: fmt.Sprint("a", i)})
		spec.Steps[0].Env = append(spec.Steps[0].Env, corev1.EnvVar{Name: fmt.Sprint("b", i)})
	}
	intime.Within(t, 20*time.Second, "many variables", func() {
		if merged := must(mergeTemplate(spec, workspaces{})); len(merged[0].container.Env) != 100_000 {
			t.Errorf("%d variables", len(merged[0].container.Env))
		}
	})
}
