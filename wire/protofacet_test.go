package wire_test

import (
	stdjson "encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"millrace/wire"
)

// podFacets are of every kind that there is.
var podFacets = func() []wire.Facet {
	var list []wire.Facet
	for _, path := range []string{
		`status.phase`, `status.podIP`, `status.conditions[type=Ready].status`, `status.conditions[type=Ready].reason`,
		`status.conditions[].type`, `status.conditions[#]`, `status.containerStatuses[].name`, `status.containerStatuses[name=a].ready`,
		`status.containerStatuses[name=a].restartCount`, `status.containerStatuses[name=a].state.terminated.exitCode`,
		`status.containerStatuses[name=b].state.terminated.message`, `status.initContainerStatuses[#]`, `status.containerStatuses[].started`,
		`spec.nodeName`, `spec.priority`, `spec.hostNetwork`, `spec.terminationGracePeriodSeconds`, `spec.containers[].image`, `spec.containers[name=a].args[]`,
		`metadata.generation`, `metadata.finalizers[]`, `metadata.ownerReferences[kind=TaskRun].name`, `metadata.managedFields[#]`,
	} {
		list = append(list, wire.NewFacetOf[corev1.Pod](path))
	}
	return list
}()

func podWithStatus(r *rand.Rand) *corev1.Pod {
	p := randomPod(r)
	pick := func(from ...string) string { return from[r.IntN(len(from))] }
	p.Status.Phase = corev1.PodPhase(pick("", "Running", "Succeeded"))
	for range r.IntN(4) {
		p.Status.Conditions = append(p.Status.Conditions, corev1.PodCondition{
			Type: corev1.PodConditionType(pick("Ready", "Initialized", "")), Status: corev1.ConditionStatus(pick("True", "False", "")), Reason: pick("", "why")})
	}
	for range r.IntN(4) {
		yes := r.IntN(2) == 0
		s := corev1.ContainerStatus{Name: pick("a", "b", ""), Ready: yes, RestartCount: r.Int32N(3) - 1, Started: &yes}
		if r.IntN(2) == 0 {
			s.State.Terminated = &corev1.ContainerStateTerminated{ExitCode: r.Int32N(3), Message: pick("", "gone")}
		}
		p.Status.ContainerStatuses = append(p.Status.ContainerStatuses, s)
	}
	p.Spec.NodeName = pick("", "n1")
	for i := range p.Spec.Containers {
		p.Spec.Containers[i].Name = pick("a", "b")
	}
	if r.IntN(2) == 0 {
		priority, grace := r.Int32N(3)-1, r.Int64N(3)
		p.Spec.Priority, p.Spec.TerminationGracePeriodSeconds, p.Spec.HostNetwork = &priority, &grace, r.IntN(2) == 0
	}
	p.OwnerReferences = append(p.OwnerReferences, metav1.OwnerReference{Kind: pick("TaskRun", "Job"), Name: pick("x", "y")})
	return p
}

func TestAFacetOfAPodIsTheSameInBothFormats(t *testing.T) {
	s := wire.NewScanner(podFacets...)
	told := map[string]int{}
	for seed := range uint64(1000) {
		p := podWithStatus(rand.New(rand.NewPCG(seed, 7)))
		o, err := s.Scan(wire.Protobuf, sealed(t, p))
		if err != nil {
			t.Fatal(err)
		}
		sameFacets(t, s, o, p, told)
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
	for _, f := range podFacets {
		if told[f.String()] < 100 {
			t.Errorf("%s had a value %d times: the test has lost its point", f, told[f.String()])
		}
	}
}

// sameFacets holds the facets of an object in protobuf against those of the pod
// that it is, in JSON.
func sameFacets(t *testing.T, s *wire.Scanner, o *wire.Object, p *corev1.Pod, told map[string]int) {
	t.Helper()
	raw, err := stdjson.Marshal(p)
	if err != nil {
		t.Skip("not to be spelled in JSON: ", err)
	}
	in, err := s.Scan(wire.JSON, raw)
	if err != nil {
		t.Skip("no object in JSON: ", err)
	}
	for _, f := range podFacets {
		want, knownInJSON := in.FacetValues(f)
		got, known := o.FacetValues(f)
		for i := range got { // as JSON has it
			got[i] = strings.Map(func(r rune) rune { return r }, got[i])
		}
		if told == nil { // a fuzzer leaves out zeros that a server writes
			zero := func(s string) bool { return s == "" || s == "0" || s == "false" }
			got, want = slices.DeleteFunc(got, zero), slices.DeleteFunc(want, zero)
		}
		if known && knownInJSON && !slices.Equal(got, want) {
			t.Errorf("%s is %q, want %q of\n%s", f, got, want, raw)
		}
		if told != nil && len(got) > 0 {
			told[f.String()]++
		}
		if told != nil && !known {
			t.Errorf("%s is not known", f)
		}
	}
}

// What a message says twice is laid together: its lists are one list, in which an
// item that comes later is not the first one of its kind.
func TestTheListsOfAMessageThatComesTwiceAreOne(t *testing.T) {
	s := wire.NewScanner(podFacets...)
	for _, conditions := range [][]corev1.PodCondition{
		{{Type: "Ready", Status: "True"}, {Type: "Ready", Status: "False"}},
		{{Type: "Ready", Reason: "no status"}, {Type: "Ready", Status: "False"}},
		{{Type: "Initialized", Status: "True"}, {Type: "Ready", Status: "False"}, {Type: "Ready"}},
	} {
		var status []byte
		for _, c := range conditions {
			status = append(status, tagged(3, 2, tagged(2, 2, marshalled(t, &c)))...)
		}
		raw := around(t, append(tagged(1, 2, tagged(1, 2, []byte("a"))), status...))
		o, err := s.Scan(wire.Protobuf, raw)
		if err != nil {
			t.Fatal(err)
		}
		var p corev1.Pod
		if err := ordinarily(raw, &p); err != nil {
			t.Fatal(err)
		}
		sameFacets(t, s, o, &p, map[string]int{})
	}
}

// FuzzProtobufFacets holds facets in protobuf against decoding.
func FuzzProtobufFacets(f *testing.F) {
	for _, s := range protobufSeeds(f) {
		f.Add(s)
	}
	for seed := range uint64(20) {
		f.Add(sealed(f, podWithStatus(rand.New(rand.NewPCG(seed, 8)))))
	}
	phase := func(s string) []byte { return tagged(3, 2, tagged(1, 2, []byte(s))) }
	f.Add(around(f, slices.Concat(phase("first"), phase("second")))) // a message that comes twice is one
	f.Add(around(f, slices.Concat(phase("first"), tagged(3, 2, tagged(2, 2, nil)))))
	ready := tagged(3, 2, tagged(2, 2, tagged(1, 2, []byte("Ready"))))
	f.Add(around(f, slices.Concat(ready, ready)))
	s := wire.NewScanner(podFacets...)
	f.Fuzz(func(t *testing.T, raw []byte) {
		o, err := s.Scan(wire.Protobuf, raw)
		if _, plain := wire.Scan(wire.Protobuf, raw); (err != nil) != (plain != nil) {
			t.Fatalf("with facets: %v, without: %v", err, plain)
		}
		if err != nil {
			return
		}
		var p corev1.Pod
		if err := ordinarily(raw, &p); err == nil {
			sameFacets(t, s, o, &p, nil)
		}
	})
}

func TestWhatIsNotKnownInProtobufIsTold(t *testing.T) {
	phase, ip, none := wire.NewFacetOf[corev1.Pod](`status.phase`), wire.NewFacet(`status.podIP`), wire.NewFacet(`status.phase`)
	raw := sealed(t, podOf(t, []byte(pod)))
	see := func(what string, s *wire.Scanner, raw []byte, f wire.Facet, want string) {
		t.Helper()
		o, err := s.Scan(wire.Protobuf, raw)
		if err != nil {
			t.Fatal(err)
		}
		value, known := o.Facet(f)
		check(t, what, fmt.Sprint(value, " ", known), want)
	}
	see("of its type", wire.NewScanner(phase), raw, phase, "Running true")
	see("of no type", wire.NewScanner(none), raw, none, " false")
	see("one of each", wire.NewScanner(ip, phase), raw, ip, " false")
	see("the other", wire.NewScanner(ip, phase), raw, phase, "Running true")
	see("the same twice", wire.NewScanner(none, phase), raw, none, "Running true")
	see("a status that is none", wire.NewScanner(phase), around(t, append(tagged(1, 2, tagged(1, 2, []byte("a"))), tagged(3, 2, []byte("\xff"))...)), phase, " false")
	see("a phase that is none", wire.NewScanner(phase), around(t, append(tagged(1, 2, tagged(1, 2, []byte("a"))), tagged(3, 2, tagged(1, 0, []byte{1}))...)), phase, " false")
}

func TestAPathThatIsNoneInProtobufIsNamed(t *testing.T) {
	for path, why := range map[string]string{
		`status.nothing`:             "no field nothing",
		`kind`:                       "no field kind",
		`status`:                     "no value",
		`metadata.creationTimestamp`: "no value",
		`metadata.labels.app`:        "no field app",
		`status.conditions.type`:     "no place",
		`status.phase[#]`:            "no place",
		`status.conditions[status`:   "not closed",
		`status.containerStatuses[ready=true].name`: "not by a string",
	} {
		func() {
			defer func() {
				if said := fmt.Sprint(recover()); !strings.Contains(said, fmt.Sprintf("%q", path)) || !strings.Contains(said, why) {
					t.Errorf("%s: %s, want %s", path, said, why)
				}
			}()
			wire.NewFacetOf[corev1.Pod](path)
		}()
	}
}
