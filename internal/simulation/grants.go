package simulation

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/util/yaml"

	"millrace/internal/simulation/apiserver"
)

// A Grant is one verb on one resource that the program may use. What is empty is
// any.
type Grant struct {
	Verb, Group, Resource string // of a subresource "taskruns/status"
	Name                  string
	Namespace             string
}

// String is the grant as people say it.
func (g Grant) String() string {
	s := g.Verb + " " + g.Resource
	if g.Group != "" {
		s += "." + g.Group
	}
	if g.Name != "" {
		s += " " + g.Name
	}
	return s
}

// ReadGrants takes the ClusterRoles and Roles out of manifests, each rule in as
// many grants as it makes.
func ReadGrants(manifests []byte) ([]Grant, error) {
	var grants []Grant
	documents := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(manifests), 4096)
	for {
		var role rbacv1.Role // a ClusterRole has the same fields, and no namespace
		err := documents.Decode(&role)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("read roles: %w", err)
		}
		if role.Kind != "Role" && role.Kind != "ClusterRole" {
			continue
		}
		for _, rule := range role.Rules {
			grants = append(grants, grantsOf(rule, role.Namespace)...)
		}
	}
	slices.SortFunc(grants, func(a, b Grant) int {
		return cmp.Or(cmp.Compare(a.Resource, b.Resource), cmp.Compare(a.String(), b.String()))
	})
	return grants, nil
}

func grantsOf(rule rbacv1.PolicyRule, namespace string) (grants []Grant) {
	names := rule.ResourceNames
	if len(names) == 0 {
		names = []string{""}
	}
	for _, group := range rule.APIGroups {
		for _, resource := range rule.Resources {
			for _, verb := range rule.Verbs {
				for _, name := range names {
					grants = append(grants, Grant{Verb: verb, Group: group, Resource: resource, Name: name, Namespace: namespace})
				}
			}
		}
	}
	return grants
}

// Allows tells whether a request needs no more than the grant.
func (g Grant) Allows(r apiserver.Request) bool {
	resource := r.Resource
	if r.Subresource != "" {
		resource += "/" + r.Subresource
	}
	return g.Verb == r.Verb && g.Group == r.Group && g.Resource == resource &&
		(g.Namespace == "" || g.Namespace == r.Key.Namespace) &&
		(g.Name == "" || g.Name == cmp.Or(r.Key.Name, r.Only))
}

// onlyWhatIsGranted is the first half of I13: the program asks for nothing that it
// may not have. The other half, that it may have nothing that it does not ask for,
// is a matter of many plans: see Facts.Used.
func onlyWhatIsGranted(f *Facts, report report) Check {
	told := map[Grant]bool{}
	return Check{See: func(e apiserver.Exchange) {
		if !program(e.Actor) || f.Grants == nil {
			return
		}
		granted := false
		for _, g := range f.Grants {
			if g.Allows(e.Request) {
				granted = true
				f.Used[g]++
			}
		}
		if this := (Grant{Verb: e.Verb, Group: e.Group, Resource: e.Resource + e.Subresource}); !granted && !told[this] {
			told[this] = true
			report("%s: the manifests grant nobody that", e.Request)
		}
	}}
}
