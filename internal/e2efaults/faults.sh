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
  build_jumping
  go test -c -tags e2e -o "$tests" ./internal/e2efaults
}

# build_jumping builds the program with a clock that jumps when it is told to: a
# machine's clock is everybody's, and a process has no other one. So the standard
# library is built anew, which takes some minutes the first time.
build_jumping() {
  local dir=$PWD/.build/clock from=$PWD/internal/e2efaults/testdata/clock std
  std=$(go env GOROOT)/src/time
  mkdir -p "$dir"
  sed 's/^\tsec, nsec, mono := runtimeNow()$/&\n\tsec += Jump.Load()/' "$std/time.go" >"$dir/time.go"
  [ "$(grep -c Jump.Load "$dir/time.go")" = 1 ] || die "time.Now of this Go reads the clock in another way"
  cat >"$dir/overlay.json" <<J
{"Replace": {"$std/time.go": "$dir/time.go", "$std/jump.go": "$from/time.go", "$PWD/jump.go": "$from/main.go"}}
J
  go build -trimpath -overlay "$dir/overlay.json" -o "$program-jumping" .
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
