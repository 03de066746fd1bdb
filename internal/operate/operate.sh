#!/usr/bin/env bash
# make e2e-install, make e2e-kill: what docs/operating.md says, on a cluster of its own.
# Ends the cluster that it started; KEEP=1 leaves it.
#   operate.sh install   FROM=COMMIT   the version to upgrade from
#   operate.sh kill      MINUTES=10 EVERY=20s RUNS=50
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
. internal/e2e/lib.sh
unset KUBECONFIG # never somebody's own cluster
export NAME=${NAME:-operate} PORT=${PORT:-7643} AUDIT=1
work=$PWD/.build/operate tests=$PWD/.build/operate/operate.test
[ "$(id -u)" = 0 ] || die "this starts a cluster, and that needs root"

started=no
clean_up() {
  local status=$?
  trap - EXIT
  trap '' INT TERM HUP # impatience would leave half of it behind
  if [ "$started" = yes ] && [ "${KEEP:-}" != 1 ]; then devcluster/down.sh; fi
  exit $status
}
trap clean_up EXIT

cluster() {
  title "A cluster"
  KEEP='' devcluster/down.sh # what an earlier run left, wanted or not
  started=yes
  devcluster/up.sh
  eval "$(devcluster/env.sh)"
  export DISK=$PWD/devcluster/.state/$NAME/tmp
}

# play TEST: one of the package's, from its folder, as go test does.
play() { (cd internal/operate && "$tests" -test.timeout 0 -test.run "^$1\$"); }

kill_leaders() {
  cluster
  make image PLATFORM="linux/$(go env GOARCH)"
  OVERLAY=ha install_millrace "$(devcluster/load-image.sh .build/image)"
  title "Leaders end under work"
  play TestLeadersEndAndEveryRunIsDoneOnce
}

mkdir -p "$work"
go test -c -tags e2e -o "$tests" ./internal/operate
case ${1:-} in
  kill) kill_leaders ;;
  *) die "usage: operate.sh install|kill" ;;
esac
