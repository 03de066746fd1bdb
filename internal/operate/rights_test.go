//go:build e2e

package operate

import "strings"

// runs: an example of the README's is run by somebody who has nothing but the ClusterRole
// edit in one namespace, while somebody who has view there looks on. Neither may do more.
func (p *play) runs() {
	p.t.Helper()
	sh(p.t, p.new.dir, `kubectl create namespace try
		kubectl -n try create rolebinding edits --clusterrole=edit --user=ed
		kubectl -n try create rolebinding views --clusterrole=view --user=vi`)
	p.refused("kubectl --as=vi -n try create -f examples/hello.yaml")
	p.refused("kubectl --as=ed -n default create -f examples/hello.yaml")
	sh(p.t, p.new.dir, "kubectl --as=ed -n try create -f examples/hello.yaml")
	// It takes a second or two, so both have to watch it.
	const ended = " -n try wait --for=condition=Succeeded taskrun --all --timeout=180s"
	sh(p.t, p.new.dir, "kubectl --as=vi"+ended+" & kubectl --as=ed"+ended+" && wait $!")
	if out := sh(p.t, p.new.dir, "kubectl --as=vi -n try get tasks,taskruns -o name"); strings.Count(out, "hello") != 2 {
		p.t.Errorf("who may view sees of a Task and its run: %q", out)
	}
	p.refused("kubectl --as=vi -n try annotate task hello seen-by=vi")
	p.refused("kubectl --as=vi -n try delete taskrun --all")
	p.refused(`kubectl --as=ed -n try patch "$(kubectl -n try get taskrun -o name)" --subresource=status --type=merge -p '{"status":{"podName":"mine"}}'`)
	sh(p.t, p.new.dir, "kubectl --as=ed -n try annotate task hello seen-by=ed && kubectl --as=ed -n try delete task,taskrun --all")
	sayf("who may edit in a namespace has run the example there, who may view has watched it, and neither may do more")
	sh(p.t, p.new.dir, "kubectl delete namespace try")
}

// refused: this may not be done by who does it.
func (p *play) refused(line string) {
	p.t.Helper()
	if s := shell(p.t, p.new.dir, line); s.err == nil || !strings.Contains(s.complaints, "(Forbidden)") {
		p.t.Errorf("%s is not forbidden: %v\n%s\n%s", line, s.err, s.out, s.complaints)
	}
}
