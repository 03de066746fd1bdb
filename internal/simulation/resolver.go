package simulation

import (
	"encoding/base64"
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"millrace/crds"
	"millrace/internal/simulation/apiserver"
)

// resolverName is that of the resolver which every cluster here has: of a repository
// with one Pipeline and one Task in it, which it refers to.
const resolverName = "git"

// resolves has the resolver answer each request some time after it was made.
func (w *World) resolves(wait time.Duration) {
	w.listen(func(e apiserver.Exchange) {
		if e.Resource == "resolutionrequests" && e.Committed() && e.Before == nil {
			w.Agenda.After(wait, func() { w.answer(e) })
		}
	})
}

func (w *World) answer(e apiserver.Exchange) {
	status := `{"status":{"data":%q,"conditions":[{"type":"Succeeded","status":"True"}],"refSource":{"uri":"git+https://example.com/repository"}}}`
	found := text(inRepository(apiserver.As[crds.ResolutionRequest](e.After).Spec.Params))
	_, _ = w.Server.Actor("resolver").Patch("resolutionrequests", "status", e.Key, fmt.Sprintf(status, base64.StdEncoding.EncodeToString([]byte(found))))
}

// inRepository is the object that a request asks for.
func inRepository(params crds.Params) any {
	if slices.ContainsFunc(params, func(p crds.Param) bool { return p.Value.StringVal == "task.yaml" }) {
		return crds.Task{
			TypeMeta:   metav1.TypeMeta{APIVersion: crds.APIVersion, Kind: crds.KindTask},
			ObjectMeta: metav1.ObjectMeta{Name: "fetched"},
			Spec:       pipelineTask("", "sleep=1s", "result=r=fetched").TaskSpec.TaskSpec,
		}
	}
	return crds.Pipeline{
		TypeMeta:   metav1.TypeMeta{APIVersion: crds.APIVersion, Kind: crds.KindPipeline},
		ObjectMeta: metav1.ObjectMeta{Name: "fetched"},
		Spec: crds.PipelineSpec{
			Tasks:   []crds.PipelineTask{{Name: "by-git", TaskRef: &crds.TaskRef{ResolverRef: fromRepository("task.yaml")}}},
			Results: []crds.PipelineResult{{Name: "r", Value: crds.NewString("$(tasks.by-git.results.r)")}},
		},
	}
}

func fromRepository(path string) crds.ResolverRef {
	return crds.ResolverRef{Resolver: resolverName, Params: crds.Params{{Name: "path", Value: crds.NewString(path)}}}
}
