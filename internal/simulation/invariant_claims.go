package simulation

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"millrace/crds"
	"millrace/internal/simulation/apiserver"
)

// oneClaim is the part of I3 that is about claims: what an attempt has left in its
// workspace is there for the next one. A claim that somebody deletes before a step has
// begun may be made again: there is nothing in it.
func oneClaim(f *Facts, report report) Check {
	made := map[types.NamespacedName]bool{} // names have the run's UID in them
	names := map[types.UID]int{}
	lives := podLives{}
	return Check{Told: lives.tell, See: func(e apiserver.Exchange) {
		lives.see(e)
		lives.note(e)
		if uid, ok := born(e, "persistentvolumeclaims"); ok {
			if !made[e.Key] {
				names[uid]++
			} else if slices.ContainsFunc(lives.of(uid), func(l *podLife) bool { return l.knownTo(e.Actor) }) {
				report("%s is made a second time, though a step of its run has begun", e.Key)
			}
			made[e.Key] = true
			if run := f.Runs[uid]; run == nil {
				report("%s is made, and there is no run that it is for", e.Key)
			} else if most := templates(run); names[uid] > most {
				report("%s is claim %d of a run that has %d templates", e.Key, names[uid], most)
			}
		}
		if uid, ok := born(e, "pods"); ok && f.Runs[uid] != nil {
			pod := apiserver.As[corev1.Pod](e.After)
			for _, claim := range strange(pod, apiserver.As[crds.TaskRun](f.Runs[uid].Last)) {
				if !made[types.NamespacedName{Namespace: pod.Namespace, Name: claim}] {
					report("%s is made before its claim %s", e.Key, claim)
				}
			}
		}
	}}
}

func templates(run *Run) (n int) {
	for _, w := range apiserver.As[crds.TaskRun](run.Last).Spec.Workspaces {
		if w.VolumeClaimTemplate != nil {
			n++
		}
	}
	return n
}

// strange are the claims of a pod that its run does not name.
func strange(pod *corev1.Pod, run *crds.TaskRun) (names []string) {
	for _, v := range pod.Spec.Volumes {
		if v.PersistentVolumeClaim == nil {
			continue
		}
		name := v.PersistentVolumeClaim.ClaimName
		if !slices.ContainsFunc(run.Spec.Workspaces, func(w crds.WorkspaceBinding) bool {
			return w.PersistentVolumeClaim != nil && w.PersistentVolumeClaim.ClaimName == name
		}) {
			names = append(names, name)
		}
	}
	return names
}
