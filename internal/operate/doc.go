// Package operate holds what docs/operating.md says against a real cluster of its own.
//
//	README.md, docs/operating.md ──their own commands──▶ devcluster ◀── kill -9, delete
//	                                                      │   ▲              │
//	                         audit log, steps' ledger ◀───┘   └── runs ──────┘
//	                                    │
//	                                    ▼
//	           was each run done once, and by who led, or whose share it was?
//
//	make e2e-install    install, run, upgrade, share the work and remove by the words of the pages
//	make e2e-kill       leaders die under work, and how long it takes the next one
//
// What a run has come to is not believed for its status alone. Each step writes a line of
// its own into a ledger on the node's disk, and the API server's audit log has every pod
// and TaskRun that was made, by which replica.
package operate
