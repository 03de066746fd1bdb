#!/usr/bin/env bash
# Records objects anew: runs every YAML file of the folders given (the examples
# beside this, those of the project, and its bad input by default) on the
# cluster that KUBECONFIG names, which Millrace must serve, twice, and keeps what
# the API server said of their TaskRuns and pods in objects/testdata.
#   devcluster/up.sh; …install Millrace…; bench/record.sh [DIR...]
# PipelineRuns are those of record/pipelines, whose programs no image here has: they
# are run in a model cluster.
#   make build; bench/record.sh pipelines
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"

# Each file has a namespace of its own, which says where its objects come from.
play() {
  local file ns
  for file in "$@"; do
    ns=ci-$(basename "$file" .yaml | tr '_.' '--')
    if kubectl get namespace "$ns" >/dev/null 2>&1; then ns+=-2; fi
    kubectl create namespace "$ns" >/dev/null
    # What is refused makes no object, and is no failure here.
    sed -E "s/^( *namespace: *)[\"']?default[\"']? *\$/\1$ns/" "$file" | kubectl create -n "$ns" -f - >/dev/null || true
    echo "$ns"
    while [ "$(pending)" -gt 5 ]; do sleep 0.5; done # a small node gets no crowd
  done
  for _ in $(seq 120); do
    [ "$(pending)" -gt 0 ] || return 0
    sleep 1
  done
  echo "some runs have not ended; they are recorded as they are"
}

# pending is the number of runs and pods that have not ended.
pending() {
  {
    kubectl get taskruns -A -o 'jsonpath={range .items[*]}run:{.status.completionTime}{"\n"}{end}'
    kubectl get pods -A -l tekton.dev/taskRun -o 'jsonpath={range .items[*]}{.status.phase}{"\n"}{end}'
  } | grep -cE '^(run:|Pending|Running)$' || true
}

if [ "${1:-}" = play ]; then
  play "${@:2}"
  exit
fi
[ $# -gt 0 ] || set -- record/runs ../examples ../internal/e2e/testdata
mkdir -p objects/testdata
if [ "$1" = pipelines ]; then
  exec go run ./record -out objects/testdata -model ../.build/bin/millrace record/pipelines/*.yaml
fi
mapfile -t files < <(find "$@" -name '*.yaml' | sort)
# Twice: what runs of one Task have in common is learnt from other runs than those
# that are measured.
go run ./record -out objects/testdata "$PWD/record.sh" play "${files[@]}" "${files[@]}"
