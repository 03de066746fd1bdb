//go:build e2e

package e2efaults

import (
	"bytes"
	"os"
	"path/filepath"
	"time"

	"sigs.k8s.io/yaml"

	"millrace/internal/faultproxy"
)

// certificates: those of the API server, as the process sees it.
func certificates() []scenario {
	return []scenario{
		{name: "api-servers-certificate-has-expired", numbers: []int{21}, try: serverExpired},
		{name: "api-servers-authority-is-rotated", numbers: []int{21}, try: authorityRotated, long: true},
	}
}

// serverExpired: nobody who connects anew believes the server, until it has another
// certificate. The Lease may be lost over it.
func serverExpired(s *stage) {
	s.exits = 1000
	s.start()
	s.create("a", midway)
	s.steps("a")
	s.must(s.proxy.Present(s.proxy.Authority(), time.Now().Add(-time.Minute)))
	s.proxy.Reset()
	s.create("b", quick)
	s.pass(20 * time.Second)
	if run := s.mustGet("b"); len(run.Status.Conditions) > 0 {
		s.fatalf("the server's certificate has expired, and it was written to: %+v", run.Status.Conditions)
	}
	s.must(s.proxy.Present(s.proxy.Authority(), time.Now().Add(time.Hour)))
	s.succeeds("a")
	s.succeeds("b")
	s.recovered()
}

// authorityRotated: the file of those that are believed has the old authority and the
// new one for as long as it takes that everybody has read it; then the server presents what the new one
// has signed. Nobody may notice.
func authorityRotated(s *stage) {
	bundle := s.bundled()
	s.start()
	s.create("a", slow(400))
	s.steps("a")
	next, err := faultproxy.NewAuthority()
	s.must(err)
	both := bytes.Join([][]byte{s.proxy.CA(), next.PEM()}, nil)
	s.must(os.WriteFile(bundle, both, 0o600))
	s.pass(5*time.Minute + 10*time.Second) // client-go looks at the file every five minutes
	s.must(s.proxy.Present(next, time.Now().Add(time.Hour)))
	s.proxy.Reset()
	from := time.Now()
	s.create("b", quick)
	s.succeeds("a")
	s.succeeds("b")
	s.again(from, patience, faultproxy.On{Verb: "watch", Resource: "taskruns"})
	s.recovered()
}

// bundled has the kubeconfig name a file of authorities, as that of a pod does.
func (s *stage) bundled() (file string) {
	s.t.Helper()
	file = filepath.Join(s.dir, "ca.crt")
	s.must(os.WriteFile(file, s.proxy.CA(), 0o600))
	raw, err := os.ReadFile(s.kubecfg)
	s.must(err)
	var config struct {
		APIVersion     string           `json:"apiVersion"`
		Kind           string           `json:"kind"`
		Clusters       []map[string]any `json:"clusters"`
		Users          []map[string]any `json:"users"`
		Contexts       []map[string]any `json:"contexts"`
		CurrentContext string           `json:"current-context"`
	}
	s.must(yaml.Unmarshal(raw, &config))
	config.Clusters[0]["cluster"] = map[string]any{"server": s.proxy.URL(), "certificate-authority": file}
	raw, err = yaml.Marshal(config)
	s.must(err)
	s.must(os.WriteFile(s.kubecfg, raw, 0o600))
	return file
}
