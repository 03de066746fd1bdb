//go:build e2e

package operate

import (
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/registry"
)

const (
	readme    = "README.md"
	operating = "docs/operating.md"
)

// A play is an install's life, from nothing to nothing, by the words of the pages.
type play struct {
	t   *testing.T
	c   *cluster
	new reader // types in a copy of this checkout
	old reader // in one of an older version
	// before is what was in the cluster when nobody had installed anything.
	before []string
}

// Somebody with a cluster, this checkout and its pages installs Millrace, runs something,
// upgrades it under work, has several replicas share that and one do it again, and removes
// it: the controller alone, then all of it. Every command of the chapters is typed, no apply
// draws a warning, no pod is one that the namespace's pod security would refuse, no run is
// lost or done twice, and in the end the cluster is as it was.
func TestAnInstallsLifeByTheWordsOfThePages(t *testing.T) {
	p := newPlay(t)
	p.tried()
	p.installedAndRemoved()
	p.upgraded()
	p.shared()
	p.replicated()
	p.everyOverlayIsStrictlyValid()
	p.controllerRemoved()
	p.allRemoved()
	p.nothingViolatesPodSecurity()
	for _, b := range *p.new.left {
		t.Errorf("%s, under %q: nobody has typed this:\n%s", b.page, b.heading, b.text)
	}
	sayf("every command of %d chapters was typed; kubectl apply %d times, without a warning", len(chapters[readme])+len(chapters[operating]), *p.new.applies)
}

func newPlay(t *testing.T) *play {
	t.Helper()
	trees := os.Getenv("TREES")
	if trees == "" {
		t.Fatal("TREES has the checkouts of this version and of an older one: make e2e-install makes them")
	}
	p := &play{t: t, c: newCluster(t)}
	left, applies := commands(t), 0
	r := reader{t: t, left: &left, applies: &applies, replace: []string{"REGISTRY", p.registry(), "KUBECONFIG=…", "KUBECONFIG=" + os.Getenv("KUBECONFIG")}}
	p.new, p.old = r.in(filepath.Join(trees, "new", "millrace"), "new"), r.in(filepath.Join(trees, "old", "millrace"), "old")
	p.image(p.old)
	p.before = p.everything()
	return p
}

// registry is one that images can be pushed to. (The node pulls from the devcluster's own,
// which stands in for every registry.)
func (p *play) registry() string {
	server := httptest.NewServer(registry.New(registry.Logger(log.New(io.Discard, "", 0))))
	p.t.Cleanup(server.Close)
	return strings.TrimPrefix(server.URL, "http://")
}

// image builds the one of a checkout and gives it to the node.
func (p *play) image(r reader) {
	p.t.Helper()
	sayf("building the image of %s", r.dir)
	sh(p.t, r.dir, "make image")
	p.load(r)
}

// load gives the node the image that was built in a checkout.
func (p *play) load(r reader) {
	p.t.Helper()
	sh(p.t, r.dir, r.words(os.Getenv("LOAD_IMAGE")+" .build/image REGISTRY/millrace:TAG"))
}

// tried: "On a cluster of yours".
func (p *play) tried() {
	p.t.Helper()
	sayf("the README: try it")
	p.new.take(readme, "Try it", "make demo") // on a cluster that it makes itself
	push, demo, _ := strings.Cut(p.new.take(readme, "Try it", "make image"), "\n")
	p.new.play(push)
	p.pushed()
	p.load(p.new)
	p.new.play(demo)
	p.asBefore("make demo has removed what it made")
}

// pushed: the registry has the image.
func (p *play) pushed() {
	p.t.Helper()
	request, err := http.NewRequestWithContext(p.t.Context(), http.MethodHead, p.new.words("http://REGISTRY/v2/millrace/manifests/TAG"), nil)
	must(p.t, err)
	answer, err := http.DefaultClient.Do(request)
	must(p.t, err)
	must(p.t, answer.Body.Close())
	if answer.StatusCode != http.StatusOK {
		p.t.Fatalf("the image was pushed, and the registry answers with %s", answer.Status)
	}
}

// installedAndRemoved: the README's install, from a rendered file.
func (p *play) installedAndRemoved() {
	p.t.Helper()
	sayf("the README: install it")
	p.new.play(p.new.take(readme, "Install it", "make manifests"))
	p.stands("-f .build/manifests/single.yaml", 1)
	p.runs()
	sh(p.t, p.new.dir, "kubectl delete -f .build/manifests/single.yaml --ignore-not-found")
	p.asBefore("the install from a file is removed by that file")
}

// stands: the install is ready, and to apply it again changes nothing.
func (p *play) stands(what string, replicas int) {
	p.t.Helper()
	sh(p.t, p.new.dir, "kubectl -n tekton-pipelines rollout status deployment/millrace-controller --timeout=180s")
	// A controller that has just begun may be writing its caBundle still.
	within(p.t, time.Minute, "replicas that are ready, and all caBundles to be there", func() bool {
		ready := shell(p.t, p.new.dir, "kubectl -n tekton-pipelines get deployment/millrace-controller -o jsonpath='{.status.readyReplicas}'").out
		bundles := shell(p.t, p.new.dir, `kubectl get mutatingwebhookconfigurations,validatingwebhookconfigurations,crds -o json | grep -c '"caBundle": "[^"]'`).out
		return ready == strconv.Itoa(replicas) && bundles == "6"
	})
	if s := shell(p.t, p.new.dir, "kubectl diff "+what); s.err != nil || s.out != "" {
		p.t.Errorf("kubectl diff %s, of what is installed: %v\n%s\n%s", what, s.err, s.out, s.complaints)
	}
	before := p.versions(what)
	s := shell(p.t, p.new.dir, "kubectl apply "+what)
	if s.err != nil || len(s.warnings()) > 0 {
		p.t.Errorf("apply %s once more: %v\n%s\n%s", what, s.err, s.out, s.complaints)
	}
	changed, n := 0, 0
	for line := range strings.Lines(s.out) {
		n++
		// kubectl sends the selector of a budget always; the server takes it for no change.
		if line = strings.TrimSpace(line); !strings.HasSuffix(line, " unchanged") && line != "poddisruptionbudget.policy/millrace-controller configured" {
			changed++
			p.t.Errorf("apply %s once more: %s", what, line)
		}
	}
	if after := p.versions(what); !slices.Equal(before, after) {
		p.t.Errorf("apply %s once more: objects have another generation:\n%v\n%v", what, before, after)
	}
	sayf("installed: %d replicas ready, kubectl diff shows nothing, a second apply changes %d of %d objects", replicas, changed, n)
}

// versions are the objects of an install with their generations.
func (p *play) versions(what string) []string {
	p.t.Helper()
	out := sh(p.t, p.new.dir, "kubectl get "+what+` -o jsonpath='{range .items[*]}{.kind}/{.metadata.name} {.metadata.generation}{"\n"}{end}'`)
	return strings.Split(out, "\n")
}

// writes puts the page's kustomization in place, once for each version, with another
// overlay or further lines where the page says that.
func (p *play) writes(r reader, text string) {
	p.t.Helper()
	dir := filepath.Join(r.dir, "..", "mine")
	must(p.t, os.MkdirAll(dir, 0o755))
	must(p.t, os.WriteFile(filepath.Join(dir, "kustomization.yaml"), []byte(r.words(text)+"\n"), 0o644))
}

// upgraded: an older version is installed, and has work; the new one is applied. Then back,
// and forth again.
func (p *play) upgraded() {
	p.t.Helper()
	kustomization := p.new.take(operating, "Install", "apiVersion:")
	install := p.new.take(operating, "Install", "kubectl apply")
	upgrade := p.new.take(operating, "Upgrade", "kubectl diff")
	p.writes(p.old, kustomization)
	p.writes(p.new, kustomization)

	sayf("an older version is installed, and has work")
	p.old.play(install)
	made := newWitness(p.t, p.c, "upgrade")
	w := newWork(p.t, p.c, "upgrade", 8)
	enough := begin(p.t, w)
	more := func() {
		p.t.Helper()
		n := w.ended() + 8
		within(p.t, patience, "runs to end", func() bool { must(p.t, w.failed()); return w.ended() >= n })
	}
	more()
	sayf("upgrade, with %d runs in flight", w.inFlight())
	p.new.play(upgrade)
	more()
	sayf("and back, with %d runs in flight", w.inFlight())
	p.old.play(upgrade)
	more()
	sayf("and upgrade again, with %d runs in flight", w.inFlight())
	p.new.play(upgrade)
	more()
	enough()
	w.wereDoneOnce(p.t, made)
	made.oneAtATime(p.t)
	p.stands("-k ../mine", 1)

	sayf("the rendered file is the same")
	p.new.play(p.new.take(operating, "Install", "make manifests"))
	sh(p.t, p.new.dir, "kubectl apply -f .build/manifests/single.yaml --dry-run=server --warnings-as-errors")
}

// replicated: the overlay for two, with what is for Prometheus.
func (p *play) replicated() {
	p.t.Helper()
	sayf("overlays/ha, and components/monitoring where the Prometheus operator is")
	sh(p.t, p.new.dir, "kubectl apply --server-side -f "+os.Getenv("OPERATOR_CRDS"))
	p.t.Cleanup(func() { shell(p.t, p.new.dir, "kubectl delete -f "+os.Getenv("OPERATOR_CRDS")) })
	p.writes(p.new, strings.ReplaceAll(p.kustomization(), "overlays/single]", "overlays/ha]\ncomponents: [../millrace/manifests/components/monitoring]"))
	p.new.play("kubectl apply -k ../mine")
	p.stands("-k ../mine", 2)
}

// kustomization is the one that is in place.
func (p *play) kustomization() string {
	p.t.Helper()
	text, err := os.ReadFile(filepath.Join(p.new.dir, "..", "mine", "kustomization.yaml"))
	must(p.t, err)
	return strings.TrimSpace(string(text))
}

// everyOverlayIsStrictlyValid: a server takes each as it is, knows every field, and has
// nothing to warn of.
func (p *play) everyOverlayIsStrictlyValid() {
	p.t.Helper()
	overlays, err := os.ReadDir(filepath.Join(p.new.dir, "manifests", "overlays"))
	must(p.t, err)
	for _, each := range overlays {
		out := sh(p.t, p.new.dir, "kubectl apply -k manifests/overlays/"+each.Name()+" --dry-run=server --validate=strict --warnings-as-errors")
		sayf("overlays/%s: %d objects, strictly valid, no warning", each.Name(), strings.Count(out, "\n")+1)
	}
}

// controllerRemoved: runs stay, and whoever has begun ends; a controller that comes later
// takes up the others.
func (p *play) controllerRemoved() {
	p.t.Helper()
	sayf("the controller is removed, with 4 runs in flight")
	made := newWitness(p.t, p.c, "remove")
	w := newWork(p.t, p.c, "remove", 4)
	enough := begin(p.t, w)
	within(p.t, patience, "the first runs to end", func() bool { must(p.t, w.failed()); return w.ended() >= 2 })
	p.new.play(p.new.take(operating, "Remove", "kubectl -n tekton-pipelines delete deployment"))
	p.new.play(p.new.take(operating, "Remove", "kubectl -n tekton-pipelines delete podmonitor"))
	for _, left := range p.ours() {
		if !strings.HasPrefix(left, "v1 Namespace ") && !strings.HasPrefix(left, "apiextensions.k8s.io/v1 CustomResourceDefinition ") {
			p.t.Errorf("the controller is removed, and this is left: %s", left)
		}
	}
	pods := sh(p.t, p.new.dir, "kubectl -n tekton-pipelines get pods,secrets,leases -o name")
	if pods != "" {
		p.t.Errorf("the controller is removed, and its namespace has %s", pods)
	}
	// Without anybody who could be asked, runs are made and read.
	sh(p.t, p.new.dir, "kubectl create namespace try && kubectl -n try create -f examples/hello.yaml && kubectl -n try get tasks,taskruns")
	sayf("and is installed again, with %d runs in flight", w.inFlight())
	p.new.play("kubectl apply -k ../mine")
	sh(p.t, p.new.dir, "kubectl -n try wait --for=condition=Succeeded taskrun --all --timeout=300s")
	sh(p.t, p.new.dir, "kubectl delete namespace try")
	enough()
	w.wereDoneOnce(p.t, made)
}

// allRemoved: with runs in flight, too.
func (p *play) allRemoved() {
	p.t.Helper()
	sayf("all of it is removed, with a run in flight")
	sh(p.t, p.new.dir, `kubectl create namespace try && kubectl -n try create -f - <<'Y'
apiVersion: tekton.dev/v1
kind: TaskRun
metadata: {name: long}
spec: {taskSpec: {steps: [{name: s, image: busybox, script: sleep 600}]}}
Y`)
	within(p.t, 3*time.Minute, "its pod to run", func() bool {
		return shell(p.t, p.new.dir, "kubectl -n try get pod long-pod -o jsonpath={.status.phase}").out == "Running"
	})
	p.new.play(p.new.take(operating, "Remove", "kubectl delete -k"))
	within(p.t, 2*time.Minute, "the pod of a run that is gone to go", func() bool {
		return shell(p.t, p.new.dir, "kubectl -n try get pods -o name").out == ""
	})
	sh(p.t, p.new.dir, "kubectl delete namespace try upgrade remove && kubectl delete -f "+os.Getenv("OPERATOR_CRDS"))
	p.asBefore("all of it is removed")
}

// ours are the objects that have our label.
func (p *play) ours() []string {
	p.t.Helper()
	return p.list("-l app.kubernetes.io/part-of=millrace")
}

// everything are all objects of the cluster by name, but for what comes and goes by itself.
func (p *play) everything() []string {
	p.t.Helper()
	return p.list("")
}

func (p *play) list(which string) (found []string) {
	p.t.Helper()
	kinds := sh(p.t, p.new.dir, `kubectl api-resources --verbs=list,get -o name | grep -v -E '^(events|events.events.k8s.io|componentstatuses|endpoints|metrics.*|leases.*)$' | paste -sd,`)
	out := sh(p.t, p.new.dir, `kubectl get `+kinds+` -A --ignore-not-found `+which+` -o jsonpath='{range .items[*]}{.apiVersion} {.kind} {.metadata.namespace} {.metadata.name}{"\n"}{end}'`)
	for line := range strings.Lines(out) {
		found = append(found, strings.TrimSpace(line))
	}
	slices.Sort(found)
	return found
}

// asBefore: all is gone that has come.
func (p *play) asBefore(when string) {
	p.t.Helper()
	var more []string
	within(p.t, 3*time.Minute, "the cluster to be as it was: "+when, func() bool {
		more = nil
		for _, each := range p.everything() {
			if _, known := slices.BinarySearch(p.before, each); !known {
				more = append(more, each)
			}
		}
		return len(more) == 0
	})
	sayf("the cluster is as it was: %s", when)
}

// nothingViolatesPodSecurity: the API server has put each pod, and each template of some,
// beside what its namespace says, for all three: enforce, audit and warn.
func (p *play) nothingViolatesPodSecurity() {
	p.t.Helper()
	text := sh(p.t, p.new.dir, `kubectl get --raw /metrics | grep '^pod_security_evaluations_total'`)
	restricted := 0
	for line := range strings.Lines(text) {
		if strings.Contains(line, `decision="deny"`) {
			p.t.Errorf("refused, audited or warned of: %s", line)
		}
		if strings.Contains(line, `policy_level="restricted"`) {
			n, err := strconv.Atoi(strings.TrimSpace(line[strings.LastIndex(line, " "):]))
			must(p.t, err)
			restricted += n
		}
	}
	if restricted == 0 {
		p.t.Errorf("nothing was held against the level restricted:\n%s", text)
	}
	written, err := os.ReadFile(p.c.audit)
	must(p.t, err)
	if n := strings.Count(string(written), "pod-security.kubernetes.io/audit-violations"); n > 0 {
		p.t.Errorf("the audit log has %d violations", n)
	}
	fmt.Printf("\n%d evaluations at the level restricted (enforce, audit and warn), none denied; no violation in the audit log\n", restricted)
}
