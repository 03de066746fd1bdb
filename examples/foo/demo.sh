#!/usr/bin/env bash
# make demo-foo: the Foo controller beside a cluster of its own, a Foo, and what
# becomes of it. KEEP=1 leaves the cluster running.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
. internal/e2e/lib.sh
unset KUBECONFIG # never somebody's own cluster
export NAME=${NAME:-foo} PORT=${PORT:-26443}

controller=
clean_up() {
  local status=$?
  trap - EXIT
  trap '' INT TERM HUP
  [ "$status" = 0 ] || title "${red}Failed (exit $status): see above, and .build/foo.log${plain}"
  [ -z "$controller" ] || { kill "$controller" && wait "$controller" || :; } 2>/dev/null
  [ "${KEEP:-}" = 1 ] || devcluster/down.sh
  exit "$status"
}
trap clean_up EXIT

title "A Kubernetes cluster on this machine"
devcluster/up.sh
eval "$(devcluster/env.sh)"

title "The controller, as a process beside it"
kubectl apply -f examples/foo/config/crd.yaml
kubectl wait --for=condition=Established crd/foos.examples.millrace.dev --timeout=30s >/dev/null
go build -o .build/bin/foo ./examples/foo
.build/bin/foo >.build/foo.log 2>&1 &
controller=$!

title "A Foo"
kubectl apply -f examples/foo/config/foo.yaml
kubectl wait --for=condition=Ready foo/hello --timeout=120s
kubectl get foo,deployment,service -l '!component'
kubectl get foo hello -o jsonpath='{range .status.conditions[*]}{.type} is {.status}: {.reason} ({.message}){"\n"}{end}'

title "Somebody scales its Deployment, and the Foo has it its way again"
kubectl scale deployment hello --replicas=5
kubectl wait --for=jsonpath='{.spec.replicas}'=2 deployment/hello --timeout=30s

title "The Foo goes, and takes the Service and then the Deployment with it"
kubectl delete foo hello --timeout=60s
left=$(kubectl get deployment,service -o name | grep /hello || :)
[ -z "$left" ] || die "left: $left"
say "nothing is left of it"
