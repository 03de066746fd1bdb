#!/usr/bin/env bash
# make e2e-faults: a cluster of its own, the program beside it, and everything that
# can go wrong between the two. Ends the cluster that it started; KEEP=1 leaves it,
# and a later call goes on with it.
#   SCENARIO=NAME   only the scenarios whose names match
#   PLAN=TEXT       only this plan of the simulation
#   AT_ONCE=12      how many at once, of those that do not disturb others
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
. internal/e2e/lib.sh
unset KUBECONFIG # never somebody's own cluster
export NAME=faults PORT=${PORT:-7543} AUDIT=0
program=$PWD/.build/bin/millrace tests=$PWD/.build/bin/e2efaults.test

build() {
  make build
  go test -c -tags e2e -o "$tests" ./internal/e2efaults
}

started=no
clean_up() {
  local status=$?
  trap - EXIT
  trap '' INT TERM HUP # impatience would leave half of it behind
  if [ "$started" = yes ] && [ "${KEEP:-}" != 1 ]; then devcluster/down.sh >&2; fi
  [ -z "${last:-}" ] || echo "$last" # the one line that is read by others
  exit $status
}

cluster() {
  [ "${KEEP:-}" = 1 ] || devcluster/down.sh # what an earlier run left
  started=yes
  devcluster/up.sh
  eval "$(devcluster/env.sh)"
  kubectl apply -k crds | sed 's/^/       /'
  make image PLATFORM="linux/$(go env GOARCH)"
  image=$(devcluster/load-image.sh .build/image)
}

title "The program, and the tests"
build
if [ "${LIST:-}" = 1 ]; then
  "$tests" -list
  exit
fi
[ "$(id -u)" = 0 ] || die "make e2e-faults starts a cluster, and that needs root"
trap clean_up EXIT
title "A cluster"
cluster
title "Scenarios"
run=.
[ -z "${SCENARIO:-}" ] || run="TestFaults/($SCENARIO)"
[ -z "${PLAN:-}" ] || run=TestAPlan
log=.build/e2e-faults.log
status=0
(cd internal/e2efaults && CLUSTER=$PWD/../../devcluster/.state/faults PROGRAM=$program IMAGE=$image PLAN=${PLAN:-} \
  "$tests" -test.timeout 0 -test.parallel 1000 -at-once "${AT_ONCE:-12}" -test.run "$run") | tee "$log" || status=$?
last=$(tail -n 1 "$log")
exit $status
