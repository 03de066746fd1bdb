// Package e2efaults has things go wrong between the real program and a real
// cluster, and asks each time whether all came right again.
//
//	devcluster ◀──TLS── faultproxy ◀──TLS, HTTP/2── .build/bin/millrace
//	     ▲                  ▲  plan, exchanges          ▲ kill, stop, start again
//	     └──users, breakage─┴──────── scenario ─────────┘
//
// A scenario is a stage, a fault and a question. The stage has a namespace, rights
// (those that are shipped, under names of its own), a proxy and a process of the
// program, which takes the runs of this stage alone (spec.managedBy). So scenarios
// are tried side by side, but for those that break the cluster itself.
//
//	make e2e-faults                        all of them, in a cluster of their own
//	make e2e-faults SCENARIO=node-lost     one, or a pattern of their names
//	make e2e-faults LIST=1                 their names, and the numbers of their faults
//	make e2e-faults PLAN='seed=1 workload="one step" crash=3:unanswered'
//
// The last is a plan of the simulation: see [millrace/internal/simulation.ParsePlan].
// What the users of its workload do is done here, at the same times, and has to come
// to the same; what a step does is read by a shell (testdata/words.sh). Workloads of
// several namespaces or replicas, and those with mishaps of pods, are left to the
// simulation.
//
// A process is one of the machine, not of a pod, so that it can be killed and
// stopped; its keeper starts it again as a kubelet would. What all scenarios ask
// in the end is in checks_test.go: a new run is done, all runs have ended as they
// should, the pods that were made are those that were to be made (I1, I2, I3),
// nothing was written after a run's end (I5), nor without a version or a UID, nor
// without a Lease (I8), and no process has ended that nobody had ended. What was
// asked for, and when, is in timeline.txt beside the process's log.
//
// # What cannot be tried here
//
// A full disk: the program writes to none. The clock on the wall is not the
// machine's, which is everybody's: the program is built a second time with one of its
// own, that jumps (testdata/clock). The clocks of nodes and of the API server are
// left to the simulation.
package e2efaults
