package taskrun

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// inquireEvery is how often the events of a pod are read that says nothing itself.
const inquireEvery = 15 * time.Second

// inquiries remember what events have told of pods that have not started. The queue would
// not: what a run says of it comes back as news of the run, and for each such answer a
// server goes through all events of the namespace. Its size is that of the pods that wait.
type inquiries struct {
	mu sync.Mutex
	of map[types.NamespacedName]inquiry
}

// An inquiry is what events have told of a pod, and when they were asked.
type inquiry struct {
	pod     types.UID
	at      time.Time
	trouble string // the last warning; empty if there is none
}

// holds tells whether it is of that pod, and need not be made again yet.
func (i inquiry) holds(pod types.UID, now time.Time) bool { return i.pod == pod && i.left(now) > 0 }

// left is how long it holds.
func (i inquiry) left(now time.Time) time.Duration { return i.at.Add(inquireEvery).Sub(now) }

// look adds to what is observed what was told last, and forgets what nobody will ask for.
func (i *inquiries) look(key types.NamespacedName, o *observation) {
	if o == nil || o.Pod == nil || o.Run.IsDone() || podBegun(o.Pod) {
		i.forget(key)
		return
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	o.Told = i.of[key]
}

func (i *inquiries) note(key types.NamespacedName, told inquiry) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.of == nil {
		i.of = map[types.NamespacedName]inquiry{}
	}
	i.of[key] = told
}

func (i *inquiries) forget(key types.NamespacedName) {
	i.mu.Lock()
	defer i.mu.Unlock()
	delete(i.of, key)
}
