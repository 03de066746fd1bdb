#!/usr/bin/env bash
# make test: what gates a change. Lint, unit tests under the race detector, then
# a real cluster of its own (beside one that may be running), Millrace in it,
# and the end-to-end tests. Ends the cluster that it started; KEEP=1 leaves it.
#   ACCEPTANCE_DIR, ACCEPTANCE_LIST   more YAML to try, as make acceptance does
#   ACCEPTANCE_CASES                  more verdicts to compare, as make acceptance-validation does
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
. internal/e2e/lib.sh
unset KUBECONFIG # never somebody's own cluster
export NAME=test PORT=${PORT:-16443} AUDIT=1
mkdir -p .build
exec 9>.build/gate.lock
flock -n 9 || die "make test is running in this checkout already, and two would end each other's cluster"

# Said now, and not after minutes of linting.
[ "$(id -u)" = 0 ] || die "make test starts a cluster, and that needs root (make lint and make unit do not)"
command -v go >/dev/null || die "go is not on the PATH"

report=() name=packages
# step NAME COMMAND…: runs it, and keeps how long it took for the end.
step() {
  local from=$SECONDS
  name=$1
  shift
  title "$name"
  "$@" 9>&- # what outlives the gate must not keep its lock
  report+=("$(printf '%-28s %4ds' "$name" $((SECONDS - from)))")
}

started=no
clean_up() {
  local status=$?
  trap - EXIT
  trap '' INT TERM HUP # impatience would leave half of it behind
  if [ "$started" = yes ] && [ "${KEEP:-}" != 1 ]; then devcluster/down.sh; fi
  title "Took"
  printf '%s\n' "${report[@]:-nothing}"
  case $status in
    0) title "All of it passed." ;;
    129 | 130 | 143) title "Interrupted, at: $name" ;;
    *) title "${red}Failed (exit $status), at: $name. See above.${plain}" ;;
  esac
  exit $status
}
trap clean_up EXIT

cluster() {
  KEEP='' devcluster/down.sh # what an earlier run left, wanted or not
  started=yes
  devcluster/up.sh
  eval "$(devcluster/env.sh)"
}

install() {
  make image PLATFORM="linux/$(go env GOARCH)"
  # The image server of the cluster stands in for every registry.
  install_millrace "$(devcluster/load-image.sh .build/image)" REGISTRY_MIRROR=http://10.99.0.1:5000
}

# alpha tells whether a pipeline in a pipeline is let in.
alpha() { kubectl create --dry-run=server -f internal/e2e/testdata/pipeline-in-pipeline.yaml >/dev/null 2>&1; }

examples() {
  local tries=300
  local try=(.build/bin/acceptance -timeout 10m) # against what hangs; a slow machine needs its time
  go build -o .build/bin/acceptance ./internal/acceptance
  kubectl -n tekton-pipelines create configmap feature-flags --from-literal=enable-api-fields=alpha
  until alpha; do # it takes effect when the controller hears of it
    [ $((tries -= 1)) -gt 0 ] || die "enable-api-fields=alpha has no effect"
    sleep 1
  done
  "${try[@]}" -dir internal/e2e/testdata
  kubectl -n tekton-pipelines delete configmap feature-flags
  "${try[@]}" -dir examples
  [ -z "${ACCEPTANCE_DIR:-}" ] || "${try[@]}" -dir "$ACCEPTANCE_DIR" ${ACCEPTANCE_LIST:+-list "$ACCEPTANCE_LIST"}
}

verdicts() {
  .build/bin/acceptance -cases internal/acceptance/testdata/validation.json
  [ -z "${ACCEPTANCE_CASES:-}" ] || .build/bin/acceptance -cases "$ACCEPTANCE_CASES"
}

devcluster/install.sh gcc libc6-dev ca-certificates # the race detector links with gcc
step "lint" make lint
step "unit tests, -race" make unit
step "cluster (built once)" cluster
# Before Millrace is there: its admission would have a say in the answers.
step "the server beside its model" go test -count=1 -timeout 1h -tags e2e -run '^TestTheServerAnswersAsRecorded$' -v ./internal/simulation/dialogue
step "image and install" install
step "examples and bad input" examples
step "verdicts of admission" verdicts
step "end-to-end tests" go test -count=1 -timeout 1h -tags e2e -v ./internal/e2e
