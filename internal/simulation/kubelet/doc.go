// Package kubelet is a model of the scheduler and the kubelets of a cluster, for
// simulations: it walks pods through their states, and does to them what happens
// to pods.
//
//	server ──Saw(exchange)──▶ Kubelet ──agenda──▶ claims ▶ bind ▶ pull ▶ init ▶ sidecars ▶ steps ▶ end
//	                             ▲                  ▲                                │
//	         Mishap(pod) ────────┘     provisioner ─┘                                └──▶ status of the pod, in its own time
//
// What happens in a pod (its containers' truth) and what the API server is told
// of it are two things, as they are in a cluster: a report comes some
// milliseconds after the change, stands for all that happened by then, and never
// comes from a node that is lost.
//
// A container of a step is run as the entrypoint runs it (see step.go): it waits
// for the step before, runs the program, leaves a termination message, tells the
// next step. The program is a list of words, in the arguments or the script:
//
//	sleep=5s exit=3 oom hang result=name=value step-result=name=value
//
// attempt=1 until=2 has the step do badly (exit, oom, hang) in attempts before that.
// A sidecar (an init container that goes on, KEP-753) runs until it is stopped,
// unless exit or oom tells that it ends by itself; until counts its restarts, and
//
//	ready=2s ready=never stubborn
//
// say when its startup probe succeeds, and that it does not listen to SIGTERM.
//
// A pod waits in Pending for its claims. A claim gets its volume after a while; of
// the storage class FirstConsumer, when a pod wants it.
//
// # How to add a mishap
//
// A line in mishap.go.
//
// # What it promises
//
//  1. The same pods, of the same names, in the same order, live the same lives at
//     the same times: all waits are drawn from the seed and the pod's name.
//  2. A pod's containers end once, and a pod that has ended is never reported to
//     be anything else.
//  3. A pod that is deleted gets SIGTERM, is reported ended, and then goes. What had
//     not started is reported lost (ContainerStatusUnknown), unless an init
//     container was in the way.
//  4. A pod is Pending while any container of a step waits, and Running while any
//     sidecar runs, whatever its steps do.
package kubelet
