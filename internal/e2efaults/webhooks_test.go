//go:build e2e

package e2efaults

import (
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"

	"millrace/crds"
	"millrace/internal/faultproxy"
)

// webhooks: somebody else's has a say in what the program writes, and refuses it for
// a while, or does not answer as it should.
func webhooks() []scenario {
	return []scenario{
		{name: "another-webhook-refuses-pods", numbers: []int{17}, try: webhookRefusesPods},
		{name: "another-webhook-refuses-statuses", numbers: []int{17}, try: webhookRefusesStatuses},
		{name: "another-webhook-refuses-the-taskruns-of-a-pipeline", numbers: []int{17}, try: webhookRefusesChildren},
		{name: "another-webhook-is-away", numbers: []int{21}, try: webhookAway},
		{name: "another-webhook-does-not-answer", numbers: []int{21}, try: webhookSilent},
		{name: "another-webhooks-certificate-has-expired", numbers: []int{21}, try: webhookExpired},
		{name: "another-webhooks-ca-bundle-is-stale", numbers: []int{21}, try: webhookOfAnotherAuthority},
	}
}

func createsPods() admissionregistrationv1.RuleWithOperations {
	return on("", "pods", admissionregistrationv1.Create)
}

func webhookRefusesPods(s *stage) {
	f := s.foreign("not on a Friday", createsPods())
	s.start()
	s.refusedPod(403, "not on a Friday", func() { f.answers("", 0) })
}

// webhookRefusesStatuses: of a run that is at work. It works on, and is told of when
// that may be.
func webhookRefusesStatuses(s *stage) {
	f := s.foreign("", on(crds.Group, "taskruns/status", admissionregistrationv1.Update))
	s.start()
	s.create("a", midway)
	s.steps("a")
	from := time.Now()
	f.answers("the books are closed", 0)
	s.create("b", quick)
	s.forbidden(from)
	s.pass(20 * time.Second) // the step of a is over
	s.backsOff(from)
	if run := s.mustGet("b"); len(run.Status.Conditions) > 0 {
		s.fatalf("nothing could be written of run b, and it says %+v", run.Status.Conditions)
	}
	f.answers("", 0)
	s.succeeds("a")
	s.succeeds("b")
	s.recovered()
}

func webhookRefusesChildren(s *stage) {
	f := s.foreign("no more today", on(crds.Group, crds.ResourceTaskRuns, admissionregistrationv1.Create))
	s.start()
	from := time.Now()
	s.createPipeline()
	s.forbidden(from)
	s.pass(10 * time.Second)
	s.backsOff(from)
	f.answers("", 0)
	s.pipelineSucceeds()
	s.recovered()
}

func webhookAway(s *stage) {
	f := s.foreign("", createsPods())
	away, err := s.cluster.listen("127.0.0.1:0")
	s.must(err)
	f.moves(away.Addr().String())
	s.must(away.Close()) // nobody is there
	s.start()
	s.refusedPod(500, "failed calling webhook", func() {
		l, err := s.cluster.listen(away.Addr().String())
		s.must(err)
		f.serve(l)
	})
}

// webhookSilent: the API server waits two seconds for it.
func webhookSilent(s *stage) {
	f := s.foreign("", createsPods())
	f.answers("", 5*time.Second)
	s.start()
	s.refusedPod(500, "failed calling webhook", func() { f.answers("", 0) })
}

func webhookExpired(s *stage) {
	f := s.foreign("", createsPods())
	f.certify(time.Now().Add(-time.Minute))
	s.start()
	s.refusedPod(500, "certificate has expired", func() { f.certify(time.Now().Add(time.Hour)) })
}

// webhookOfAnotherAuthority: its authority was changed, and the caBundle not yet.
func webhookOfAnotherAuthority(s *stage) {
	f := s.foreign("", createsPods())
	another, err := faultproxy.NewAuthority()
	s.must(err)
	f.believes(another)
	s.start()
	s.refusedPod(500, "unknown authority", func() { f.believes(f.authority) })
}
