// Package audit counts who asked an API server for what, from the server's own
// audit log: the only count that a client cannot get wrong about itself.
package audit

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
)

// An event is what we read of one line of the log (audit.k8s.io/v1, JSON).
type event struct {
	Stage string `json:"stage"`
	Verb  string `json:"verb"`
	User  struct {
		Username string `json:"username"`
	} `json:"user"`
	ObjectRef struct {
		Resource    string `json:"resource"`
		Subresource string `json:"subresource"`
		Namespace   string `json:"namespace"`
	} `json:"objectRef"`
}

// Calls returns how often user asked for each "verb resource" about objects in
// namespace. Events are left out: they are news, sent when there is time.
// Watches and lists of a whole cluster have no namespace, so they are not here.
func Calls(log, user, namespace string) (map[string]int, error) {
	f, err := os.Open(log)
	if err != nil {
		return nil, fmt.Errorf("audit log: %w", err)
	}
	defer f.Close()
	calls := map[string]int{}
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 4<<20)
	for lines.Scan() {
		var e event
		if json.Unmarshal(lines.Bytes(), &e) != nil {
			continue // the server is writing this line just now
		}
		what := e.ObjectRef
		if e.Stage != "ResponseComplete" || e.User.Username != user || what.Namespace != namespace || what.Resource == "events" {
			continue
		}
		name := what.Resource
		if what.Subresource != "" {
			name += "/" + what.Subresource
		}
		calls[e.Verb+" "+name]++
	}
	return calls, lines.Err()
}
