#!/usr/bin/env bash
# make bench-scale: a cluster of its own, nodes of kwok's in it, and the program beside
# it, measured. Ends the cluster that it started; KEEP=1 leaves it, and a later call goes
# on with it.
#   ONLY=PATTERN   only the parts whose names match: taskruns-few, taskruns-many,
#                  pipelineruns, completed
#   RUNS=200       so many runs in each part, to try it
#   SHARDS=1       nothing but one, two and four replicas that share 200 namespaces, on a
#                  cluster whose API server selects by shard (make bench-shards);
#                  FEATURE_GATES=ShardedListAndWatch=false for one that does not
#   WRITE=1        the numbers go into internal/scale/results.json and docs/performance.md
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
. internal/e2e/lib.sh
unset KUBECONFIG # never somebody's own cluster
export NAME=scale AUDIT=0
if [ -n "${SHARDS:-}" ]; then
  export NAME=shards PORT=${PORT:-7743} AUDIT=1 FEATURE_GATES=${FEATURE_GATES:-ShardedListAndWatch=true}
fi
export PORT=${PORT:-7643}

[ "$(id -u)" = 0 ] || die "make bench-scale starts a cluster, and that needs root"

build() {
  make build
  go build -o .build/bin/scale ./internal/scale
  if ! [ .build/bin/kwok -nt internal/tools/kwok/go.sum ]; then
    say "kwok (a minute or two, once)"
    go -C internal/tools/kwok build -o "$PWD/.build/bin/kwok" sigs.k8s.io/kwok/cmd/kwok
  fi
}

started=no kwok=
clean_up() {
  local status=$?
  trap - EXIT
  trap '' INT TERM HUP # impatience would leave half of it behind
  if [ -n "$kwok" ]; then kill "$kwok" && wait "$kwok" || true; fi
  if [ "$started" = yes ] && [ "${KEEP:-}" != 1 ]; then devcluster/down.sh >&2; fi
  exit $status
}

# The node of the cluster takes no pods, so that all of them are kwok's.
cluster() {
  [ "${KEEP:-}" = 1 ] || devcluster/down.sh # what an earlier run left
  started=yes
  devcluster/up.sh
  eval "$(devcluster/env.sh)"
  kubectl apply -k crds >/dev/null
  # No Service leads to a webhook here. Left as they are, the API server would ask one for
  # the version that is served and not stored, and list everything anew each second: that
  # takes ten gigabytes and most of the cores. Nor is that version asked for here, and
  # the server would hold all runs twice for it.
  for crd in $(kubectl get -k crds -o name); do
    kubectl patch "$crd" --type=json -p '[{"op":"replace","path":"/spec/conversion","value":{"strategy":"None"}}]' >/dev/null
  done
  kubectl patch crd taskruns.tekton.dev --type=json -p '[
    {"op":"test","path":"/spec/versions/1/name","value":"v1beta1"},{"op":"replace","path":"/spec/versions/1/served","value":false}]' >/dev/null
  kubectl create namespace tekton-pipelines --dry-run=client -o yaml | kubectl apply -f - >/dev/null
  kubectl cordon localhost >/dev/null
  kubectl apply -f internal/scale/nodes.yaml >/dev/null
  local nodes
  nodes=$(kubectl get node -l type=kwok -o jsonpath='{.items[*].metadata.name}')
  # A kwok leaves the nodes of another alone until its Leases have run out, and gives up
  # none when it ends: pods would wait 40 seconds for the first one after KEEP=1, and the
  # controller would be measured at telling why.
  # shellcheck disable=SC2086 # these are separated by spaces
  kubectl -n kube-node-lease delete lease $nodes --ignore-not-found >/dev/null
  mkdir -p .build/scale
  .build/bin/kwok --kubeconfig "$KUBECONFIG" --config internal/scale/kwok.yaml -v WARN >>.build/scale/kwok.log 2>&1 &
  kwok=$!
  # shellcheck disable=SC2086
  kubectl -n kube-node-lease wait --for=create lease $nodes --timeout=60s >/dev/null
  kubectl wait --for=condition=Ready node -l type=kwok --timeout=60s >/dev/null
}

build
trap clean_up EXIT
cluster
.build/bin/scale ${SHARDS:+-shards} ${ONLY:+-only "$ONLY"} ${RUNS:+-runs "$RUNS"} \
  ${WRITE:+-results internal/scale/results.json -write-docs docs/performance.md}
