// Package e2e tries the installed program on a real cluster: what only a real
// API server, kubelet and process can show. gate.sh brings the cluster up, so
// that `make test` is all that one has to know; with a cluster that has
// Millrace already,
//
//	KUBECONFIG=… AUDIT_LOG=… go test -tags e2e ./internal/e2e
//
// runs the tests alone. What a YAML file can say stands in testdata, tried by
// internal/acceptance.
package e2e
