package simulation

import (
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"millrace/crds"
	"millrace/internal/simulation/apiserver"
)

const settingsConfigMap = "config-defaults"

// setsDefaults has an administrator write the ConfigMap config-defaults with that
// default time-out alone, or delete it if there is none.
func (w *World) setsDefaults(at time.Duration, minutes string) {
	w.does(at, "user changes a setting", "default-timeout-minutes "+minutes, func() {
		key := types.NamespacedName{Namespace: namespace, Name: settingsConfigMap}
		if minutes == "" {
			_, _ = w.user.Delete("configmaps", key, metav1.DeleteOptions{})
			return
		}
		data := map[string]string{"default-timeout-minutes": minutes}
		if _, err := apiserver.Change(w.user, "configmaps", "", key, func(c *corev1.ConfigMap) { c.Data = data }); err != nil {
			configMap := &corev1.ConfigMap{Data: data}
			configMap.Namespace, configMap.Name = key.Namespace, key.Name
			_, _ = w.user.Create("configmaps", configMap)
		}
	})
}

// flags are what the administrator has said before the program starts.
func (w *World) flags(data map[string]string) {
	flags := &corev1.ConfigMap{Data: data}
	flags.Namespace, flags.Name = namespace, "feature-flags"
	_, _ = w.Server.Actor("cluster").Create("configmaps", flags)
}

// forAnHour is a run that says nothing of a time-out, and ends when a default one does.
func forAnHour(after time.Duration) recipe {
	return func(draw) (crds.TaskRunSpec, Expect) {
		return embedded(stepOf("endless", sleeping(time.Hour))), Expect{Reason: timedOut, Work: after}
	}
}

func lasting(work time.Duration) recipe {
	return func(draw) (crds.TaskRunSpec, Expect) {
		return embedded(stepOf("only", sleeping(work))), Expect{Reason: succeeded, Work: work}
	}
}

// aShorterTimeout is a workload: a run is at work when the default time-out becomes one
// that it has exceeded already. It has what it began with, and the next run has a
// minute. A restart, and what it has missed, are over by the change.
func aShorterTimeout(w *World) {
	w.account("blue")
	w.creates(soon, "blue", "before", lasting(2*time.Minute+30*time.Second))
	w.setsDefaults(soon+65*time.Second, "1")
	w.creates(soon+70*time.Second, "blue", "after", forAnHour(time.Minute))
}

// settingsGoWrong is a scenario: a default is mistyped, and the last good one holds; the
// ConfigMap is deleted, and Tekton's default holds.
func settingsGoWrong(w *World) {
	w.account("blue")
	w.setsDefaults(soon, "1")
	w.setsDefaults(soon+10*time.Second, "1 minute")
	w.creates(soon+20*time.Second, "blue", "mistyped", forAnHour(time.Minute))
	w.setsDefaults(soon+2*time.Minute, "")
	w.creates(soon+2*time.Minute+10*time.Second, "blue", "deleted", lasting(3*time.Minute))
}

// startsWithNonsense is a scenario: a setting says nothing that anybody could go by,
// from before the start until a minute after it.
func startsWithNonsense(w *World) {
	w.account("blue")
	w.setsDefaults(0, "soon")
	w.creates(soon, "blue", "waits", lasting(2*time.Second))
	w.setsDefaults(startsMakingSense, "5")
}

const startsMakingSense = soon + time.Minute

// waitsForSense is about both: what is wrong is told in an event of the ConfigMap, which
// names the key and the value; and without a good value nothing is worked on.
func waitsForSense(wrong string, until time.Duration) func(*Facts, report) Check {
	return func(f *Facts, report report) Check {
		told := false
		return Check{
			See: func(e apiserver.Exchange) {
				switch {
				case podMade(e) && e.At.Sub(f.Begun) < until:
					report("a pod was made, and nobody knew by which time-out")
				case e.Verb == "create" && e.Resource == "events" && e.Committed() && e.Key.Namespace == namespace:
					event := apiserver.As[corev1.Event](e.After)
					told = told || event.Reason == "InvalidSetting" && event.InvolvedObject.Name == settingsConfigMap &&
						strings.Contains(event.Message, "default-timeout-minutes") && strings.Contains(event.Message, wrong)
				}
			},
			End: func() {
				if !told {
					report("no event says that %q is no time-out", wrong)
				}
			},
		}
	}
}
