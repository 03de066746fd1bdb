//go:build e2e

package operate

import (
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const sharing = "Sharing the work"

// teams are the namespaces of the work that is shared: two in each quarter of the hashes,
// which is what each of four replicas has as long as nothing weighs anything.
var teams = []string{"mail", "search", "shop", "web", "build", "data", "docs", "api"}

// A change is an install that is changed while each team has a run in flight.
type change struct {
	*play
	made   *witness
	work   []*work
	worker hands // whose each namespace has been since the last change was over
}

// shared: from one replica to four that share the work, to two, to four again, and back to
// one.
func (p *play) shared() {
	p.t.Helper()
	sayf("overlays/sharded, with work in %d namespaces", len(teams))
	sh(p.t, p.new.dir, "make build") // for millrace why
	c := &change{play: p, made: newWitness(p.t, p.c, teams...)}
	for _, team := range teams {
		c.work = append(c.work, newWork(p.t, p.c, team, 1))
	}
	enough := begin(p.t, c.work...)
	c.goesOn()

	single := p.kustomization()
	sharded := strings.ReplaceAll(single, "overlays/single]", "overlays/sharded]")
	apply := p.new.take(operating, sharing, "kubectl apply")
	ofLeader, ofShards, _ := strings.Cut(p.new.take(operating, sharing, "  kubectl -n tekton-pipelines delete lease"), "\n")
	c.to(sharded, apply, 4)
	p.new.play(ofLeader)
	p.stands("-k ../mine", 4)
	c.leasesTell(p.new.take(operating, sharing, "kubectl -n tekton-pipelines get leases"))
	c.whyAsksWhoseItIs()
	c.to(sharded+"\nreplicas: [{name: millrace-controller, count: 2}]", apply, 2)
	c.to(sharded, apply, 4)
	c.back(single, apply)
	p.new.play(ofShards)
	p.stands("-k ../mine", 1)

	enough()
	for _, w := range c.work {
		w.wereDoneOnce(p.t, c.made)
	}
	sh(p.t, p.new.dir, "kubectl delete namespace --wait=false "+strings.Join(teams, " "))
	p.sixAreValid()
	p.writes(p.new, single)
}

// to has so many replicas share the work, and sees that they do.
func (c *change) to(kustomization, apply string, replicas int) {
	c.t.Helper()
	from := time.Now()
	c.applied(kustomization, apply, replicas)
	within(c.t, 2*time.Minute, "replicas that share all of the work", func() bool { return c.c.share(c.t, replicas) })
	c.settled(from)
	working := c.worker.replicas()
	for _, pod := range working {
		if n := c.c.metric(c.t, pod, "controller_runtime_reconcile_total"); n == 0 {
			c.t.Errorf("%s has written for runs, and counts no reconcile", pod)
		}
	}
	if len(working) < 2 {
		c.t.Errorf("of %d replicas that share the work only these have done any: %q", replicas, working)
	}
}

// back has one replica do all of it, and sees that nobody else does.
func (c *change) back(kustomization, apply string) {
	c.t.Helper()
	from := time.Now()
	c.applied(kustomization, apply, 1)
	c.settled(from)
	leader := c.c.leader(c.t, false).Name
	if working := c.worker.replicas(); !slices.Equal(working, []string{leader}) {
		c.t.Errorf("%s leads, and the work is done by %q", leader, working)
	}
}

// applied puts a kustomization in force, and returns when its replicas are ready, and no
// others are there any more.
func (c *change) applied(kustomization, apply string, replicas int) {
	c.t.Helper()
	c.writes(c.new, kustomization)
	c.new.play(apply)
	sh(c.t, c.new.dir, "kubectl -n tekton-pipelines rollout status deployment/millrace-controller --timeout=300s")
	within(c.t, time.Minute, "the replicas of before to be gone", func() bool {
		pods := c.c.replicas(c.t)
		return len(pods) == replicas && !slices.ContainsFunc(pods, func(p corev1.Pod) bool { return !isReady(p) })
	})
}

// settled: since a change that began then is over, each namespace is one replica's, and
// while it lasted none has come back to who had passed it on.
func (c *change) settled(from time.Time) {
	c.t.Helper()
	over := time.Now()
	c.goesOn()
	during := c.made.handsSince(from)
	c.worker = c.made.handsSince(over)
	for _, wrong := range slices.Concat(during.wrong(teams), c.worker.divided(teams)) {
		c.t.Error(wrong)
	}
	flying := 0
	for _, w := range c.work {
		flying += w.inFlight()
	}
	sayf("over after %s: %d replicas have written for %d namespaces since, which have passed to another %d times; %d runs in flight",
		seconds(over.Sub(from)), len(c.worker.replicas()), len(c.worker), during.passed(), flying)
}

// goesOn returns when each namespace has a run that was begun, and has ended, since.
func (c *change) goesOn() {
	c.t.Helper()
	until := map[*work]int{}
	for _, w := range c.work {
		until[w] = w.ended() + 2 // one of them may be in flight
	}
	within(c.t, patience, "a run in each namespace to begin and to end", func() bool {
		for _, w := range c.work {
			must(c.t, w.failed())
			if w.ended() < until[w] {
				return false
			}
		}
		return true
	})
}

// leasesTell: the page's list names each replica beside what it works on.
func (c *change) leasesTell(command string) {
	c.t.Helper()
	sayf("$ %s", strings.Join(strings.Fields(strings.ReplaceAll(command, "\\\n", "")), " "))
	list := sh(c.t, c.new.dir, command)
	for _, pod := range c.c.replicas(c.t) {
		row := slices.ContainsFunc(strings.Split(list, "\n"), func(line string) bool {
			return strings.HasPrefix(line, "millrace-shard-") && strings.Contains(line, pod.Name+" ") && strings.Contains(line, " 0x")
		})
		if !row {
			c.t.Errorf("the Leases do not tell what %s works on:\n%s", pod.Name, list)
		}
	}
}

// whyAsksWhoseItIs: millrace why finds the one replica that works on a namespace.
func (c *change) whyAsksWhoseItIs() {
	c.t.Helper()
	for _, w := range c.work {
		var run string
		within(c.t, patience, "a run that has ended, and is there still", func() bool { run = w.last(); return run != "" })
		from := time.Now()
		story := sh(c.t, c.new.dir, ".build/bin/millrace why "+run)
		if !strings.Contains(story, " "+run+",") || !strings.Contains(story, "success in ") {
			c.t.Errorf("millrace why %s does not tell its story:\n%s", run, story)
		}
		var asked []string
		within(c.t, 10*time.Second, "the audit log to tell who was asked", func() bool {
			asked = slices.Compact(c.made.askedSince(from)) // about a TaskRun, and then about a PipelineRun
			return len(asked) > 0
		})
		if want := []string{"http:" + c.worker[w.ns][0] + ":6060"}; !slices.Equal(asked, want) {
			c.t.Errorf("millrace why %s asked %q, and the work is done by %q", run, asked, want)
		}
	}
	sayf("millrace why asked whose each of %d namespaces is, and nobody else", len(c.work))
}

// sixAreValid: a server takes the page's kustomization for more replicas, and has nothing
// to warn of. (What it comes to is a test's of internal/tools/manifests.)
func (p *play) sixAreValid() {
	p.t.Helper()
	p.writes(p.new, p.new.take(operating, sharing, "apiVersion:"))
	sh(p.t, p.new.dir, "kubectl apply -k ../mine --dry-run=server --validate=strict --warnings-as-errors")
}

// last is the run that has ended last, with its namespace; "" if none is there any more.
func (w *work) last() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.landed) == 0 {
		return ""
	}
	return w.ns + "/" + w.landed[len(w.landed)-1].name
}

// replicas are the controller's pods, those too that are on their way out.
func (c *cluster) replicas(t *testing.T) []corev1.Pod {
	t.Helper()
	pods, err := c.core.Pods(system).List(t.Context(), metav1.ListOptions{LabelSelector: "app.kubernetes.io/component=controller"})
	must(t, err)
	return pods.Items
}

// share tells whether so many replicas work on a part each, and together on everything.
func (c *cluster) share(t *testing.T, replicas int) bool {
	t.Helper()
	pods, all := c.replicas(t), 0.0
	for _, pod := range pods {
		part := c.metric(t, pod.Name, "sharding_share_ratio")
		if part == 0 || c.metric(t, pod.Name, "sharding_members") != float64(replicas) {
			return false
		}
		all += part
	}
	return len(pods) == replicas && all > 0.999 && all < 1.001
}

// metric is what a replica shows for a metric, over all of its labels; 0 where it shows none.
func (c *cluster) metric(t *testing.T, pod, name string) (sum float64) {
	t.Helper()
	text, err := c.core.RESTClient().Get().Namespace(system).Resource("pods").Name("http:" + pod + ":9090").SubResource("proxy").Suffix("metrics").DoRaw(t.Context())
	must(t, err)
	for line := range strings.Lines(string(text)) {
		if rest, is := strings.CutPrefix(line, name); is && (rest[0] == ' ' || rest[0] == '{') {
			n, err := strconv.ParseFloat(strings.TrimSpace(line[strings.LastIndex(line, " "):]), 64)
			must(t, err)
			sum += n
		}
	}
	return sum
}
