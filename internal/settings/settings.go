// Package settings is what the administrator of the cluster says in Tekton's two
// ConfigMaps, feature-flags and config-defaults, as far as it is served.
//
//	              ┌ a chain for each ConfigMap ────────────────┐
//	API server ──▶│ reflector ──▶ fifo ──▶ indexer ──▶ handler │──Take──▶ Settings ──Now──▶ each reconcile,
//	              └────────────────────────────────────────────┘             │              each admission
//	                                                                         ▼
//	                          Trace: what changed, what is wrong, and what makes no difference
//
// A key of a ConfigMap is a row of a table (Keys): its name, its type and default, and
// when a change of it makes a difference. Nobody polls, and nobody is told: who acts
// asks for the Values of the moment, once, and acts by those until it is done.
//
// # What it promises
//
//  1. Values are one moment of both ConfigMaps: they are made whole, and not changed
//     any more. (TestValuesAreOneMoment)
//  2. A key that is not there, or is empty, has Tekton's default, and so has every key
//     of a ConfigMap that is gone. (TestWithoutConfigMapsThereAreTektonsDefaults,
//     TestADeletedConfigMapIsDefaults)
//  3. A value that is not valid leaves the last good one of its key in force, and
//     changes nothing about other keys. (TestAWrongValueLeavesTheLastGoodOne)
//  4. A key that has had no good value since the program began is waited for: Good is
//     closed when every key has had one, and not before. (TestWhatWasNeverGoodIsWaitedFor)
//  5. What is wrong, or makes no difference, is told once, and once more if it comes
//     again after it was put right; so is that it was. (TestEachComplaintIsToldOnce)
//  6. Tekton's own ConfigMaps, which have every key with its default, are no reason for
//     a complaint. (TestTektonsOwnConfigMapsAreNoReasonToComplain)
//
// # Goroutines
//
// The package starts none. Take and Gone are called by those that run the chains, one
// for each ConfigMap, and by who starts; Now by everybody. A Trace is called by Take
// and Gone, one call at a time.
package settings

import (
	"maps"
	"slices"
	"sync"
	"sync/atomic"

	"k8s.io/apimachinery/pkg/types"
)

// Trace is told what happens; every func may be nil. They must not call Settings.
type Trace struct {
	// Changed: another value is in force.
	Changed func(Change)
	// Complains: something is wrong with a key that was not before.
	Complains func(Complaint)
	// Righted: what was complained of is no more.
	Righted func(Complaint)
}

// A Change is that of one key.
type Change struct {
	Key      Key
	From, To string
}

// Settings are those of the moment. The zero value is not ready to use: see New.
type Settings struct {
	trace Trace
	now   atomic.Pointer[Values]
	good  chan struct{}

	mu sync.Mutex
	// seen are both ConfigMaps, each from the first Take on.
	seen map[string]configMap
	// last have an entry for each key that has had a good value.
	last last
	// read is what both come to; its complaints were told, and are not righted.
	read reading
}

// New returns settings that are the defaults, until Take says otherwise.
func New(trace Trace) *Settings {
	s := &Settings{trace: trace, good: make(chan struct{}), seen: map[string]configMap{}, last: last{}}
	s.read = read(nil, last{})
	s.now.Store(s.read.values)
	return s
}

// Now are the settings of the moment. The caller must not change them.
func (s *Settings) Now() *Values { return s.now.Load() }

// Good is closed when both ConfigMaps were taken and each key has had a good value.
func (s *Settings) Good() <-chan struct{} { return s.good }

// InForce are the values of the moment as text, in the order of Keys.
func (s *Settings) InForce() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.read.texts)
}

// Complaints are those of the moment.
func (s *Settings) Complaints() []Complaint {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.read.complaints)
}

// Take takes in what a ConfigMap says. The first one of a name is what there was, and
// no change.
func (s *Settings) Take(name string, uid types.UID, data map[string]string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.takeLocked(name, configMap{uid, maps.Clone(data)})
}

// Gone takes in that the ConfigMap with that UID is no more; without a UID, that there
// is none to begin with. If another has come in its place, nothing happens.
func (s *Settings) Gone(name string, uid types.UID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.seen[name].uid == uid {
		s.takeLocked(name, configMap{})
	}
}

func (s *Settings) takeLocked(name string, now configMap) {
	_, again := s.seen[name]
	s.seen[name] = now
	before := s.read
	s.read = read(s.seen, s.last)
	s.now.Store(s.read.values)
	if again {
		s.tellChanges(before)
	}
	tell(before.complaints, s.read.complaints, s.trace.Righted)
	tell(s.read.complaints, before.complaints, s.trace.Complains)
	s.openLocked()
}

// openLocked opens the door once nothing is missing.
func (s *Settings) openLocked() {
	select {
	case <-s.good:
	default:
		if len(s.seen) == len(Names()) && len(s.last) == len(Keys()) {
			close(s.good)
		}
	}
}

func (s *Settings) tellChanges(before reading) {
	for i, k := range Keys() {
		if from, to := before.texts[i], s.read.texts[i]; from != to && s.trace.Changed != nil {
			s.trace.Changed(Change{k, from, to})
		}
	}
}

// tell tells of those that are not among others.
func tell(those, others []Complaint, to func(Complaint)) {
	for _, c := range those {
		if to != nil && !slices.Contains(others, c) {
			to(c)
		}
	}
}
