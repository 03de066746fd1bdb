package chaintest

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"millrace/crds"
	"millrace/indexer"
	"millrace/internal/simulation/apiserver"
)

func (c *chain) owners() map[string]*indexer.Index[types.UID] {
	return map[string]*indexer.Index[types.UID]{"owner": c.byOwner, "first-owner": c.byFirst}
}

func (w *World) doServer(_ context.Context, c Command) (string, error) {
	switch c.word(0) {
	case "set", "delete":
		kind, name, _ := strings.Cut(c.word(1), "/")
		r, err := byKind(kind)
		if err != nil {
			return "", err
		}
		if c.word(0) == "delete" {
			return "", w.remove(r, name)
		}
		_, err = w.set(r, name, c)
		return "", err
	case "has":
		return w.present(c.word(1))
	}
	disturb := map[string]func(){
		"drop":   func() { w.server.EndWatches(apiserver.Close) },
		"tear":   func() { w.server.EndWatches(apiserver.Tear) },
		"expire": w.server.Compact,
		"down":   func() { w.away = true; w.server.Down() },
		"up":     func() { w.away = false; w.server.Up() },
	}[c.word(0)]
	if disturb == nil {
		return "", fmt.Errorf("no %q: want set, delete, has, drop, tear, expire, down or up", c.word(0))
	}
	disturb()
	return "", nil
}

// object is one that the server has, by kind/name.
func (w *World) object(kindAndName string) (*apiserver.Object, error) {
	kind, name, _ := strings.Cut(kindAndName, "/")
	r, err := byKind(kind)
	if err != nil {
		return nil, err
	}
	o, ok := w.server.Object(r.name, nameOf(name))
	if !ok {
		return nil, fmt.Errorf("the server has no %s", kindAndName)
	}
	return o, nil
}

// present is what the server has of a resource.
func (w *World) present(resource string) (string, error) {
	r, err := byKind(resource)
	if err != nil {
		return "", err
	}
	var text strings.Builder
	for _, o := range w.server.Objects(r.name) {
		fmt.Fprintf(&text, "%s/%s %s @%s\n", o.GetNamespace(), o.GetName(), w.uid(o.GetUID()), o.GetResourceVersion())
	}
	return text.String(), nil
}

func (w *World) remove(r resource, name string) error {
	_, err := w.user.Delete(r.name, nameOf(name), metav1.DeleteOptions{GracePeriodSeconds: new(int64)})
	if err == nil {
		w.newest[r.name] = strconv.FormatUint(w.server.Version(), 10)
		w.sayf("server", "DELETED %s/%s", namespace, name)
	}
	return err
}

// set makes an object, or changes it: spec=… its spec, status=… its status, app=…
// a label, app= none, owners=(taskrun/a, taskrun/b) who owns it. A status is a write of its own.
func (w *World) set(r resource, name string, c Command) (o *apiserver.Object, err error) {
	change, status, err := w.changes(r, c)
	if err != nil {
		return nil, err
	}
	o, there := w.server.Object(r.name, nameOf(name))
	switch {
	case !there:
		o, err = w.user.Create(r.name, merged(blank(r, name), change))
	case len(change) > 0:
		o, err = w.patch(r, "", name, change)
	}
	if err == nil && len(status) > 0 {
		o, err = w.patch(r, "status", name, status)
	}
	if err != nil {
		return nil, err
	}
	w.newest[r.name] = o.GetResourceVersion()
	what := "MODIFIED"
	if !there {
		what = "ADDED"
	}
	w.sayf("server", "%s %s/%s %s @%s", what, namespace, name, w.uid(o.GetUID()), o.GetResourceVersion())
	return o, nil
}

func (w *World) patch(r resource, subresource, name string, change tree) (*apiserver.Object, error) {
	raw, err := json.Marshal(change)
	if err != nil {
		return nil, err
	}
	return w.user.Patch(r.name, subresource, nameOf(name), string(raw))
}

// changes are what a command says of an object, and of its status.
func (w *World) changes(r resource, c Command) (change, status tree, err error) {
	change, status = tree{}, tree{}
	for _, a := range c.Args {
		switch {
		case a.Key == "spec" && r.kind == crds.KindTaskRun:
			merged(change, tree{"spec": tree{"serviceAccountName": a.Value}})
		case a.Key == "spec":
			merged(change, tree{"spec": tree{"nodeName": a.Value}})
		case a.Key == "status" && r.kind == crds.KindTaskRun:
			merged(status, tree{"status": tree{"podName": a.Value}})
		case a.Key == "status":
			merged(status, tree{"status": tree{"phase": a.Value}})
		case a.Key == "app" && a.Value == "":
			merged(change, tree{"metadata": tree{"labels": nil}})
		case a.Key == "app":
			merged(change, tree{"metadata": tree{"labels": tree{"app": a.Value}}})
		case a.Key == "owners":
			owners, err := w.references(a.Value)
			if err != nil {
				return nil, nil, err
			}
			merged(change, tree{"metadata": tree{"ownerReferences": owners}})
		}
	}
	return change, status, nil
}

// merged puts the branches of one tree into another.
func merged(into, from tree) tree {
	for key, branch := range from {
		if more, ok := branch.(tree); ok {
			if has, ok := into[key].(tree); ok {
				merged(has, more)
				continue
			}
		}
		into[key] = branch
	}
	return into
}

// tree is JSON.
type tree = map[string]any

// references are owner references to objects that the server has.
func (w *World) references(names string) ([]metav1.OwnerReference, error) {
	var refs []metav1.OwnerReference
	for name := range strings.SplitSeq(names, ",") {
		o, err := w.object(strings.TrimSpace(name))
		if err != nil {
			return nil, err
		}
		refs = append(refs, metav1.OwnerReference{APIVersion: o.GetAPIVersion(), Kind: o.GetKind(), Name: o.GetName(), UID: o.GetUID()})
	}
	return refs, nil
}

// blank is a new object with nothing in it but what the server asks for.
func blank(r resource, name string) tree {
	spec := tree{"taskRef": tree{"name": "build"}}
	if r.kind != crds.KindTaskRun {
		spec = tree{"containers": []tree{{"name": "step", "image": "busybox"}}}
	}
	return tree{"apiVersion": r.version.String(), "kind": r.kind, "metadata": tree{"namespace": namespace, "name": name}, "spec": spec}
}
