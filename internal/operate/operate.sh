#!/usr/bin/env bash
# make e2e-install, make e2e-kill: what docs/operating.md says, on a cluster of its own.
# Ends the cluster that it started; KEEP=1 leaves it.
#   operate.sh install   FROM=COMMIT   the version to upgrade from
#   operate.sh kill      MINUTES=10 EVERY=20s RUNS=50
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
. internal/e2e/lib.sh
unset KUBECONFIG # never somebody's own cluster
keep=${KEEP:-}
unset KEEP # which would be meant for make demo, too
export NAME=${NAME:-operate} PORT=${PORT:-7643} AUDIT=1
work=$PWD/.build/operate tests=$PWD/.build/operate/operate.test
[ "$(id -u)" = 0 ] || die "this starts a cluster, and that needs root"

started=no
clean_up() {
  local status=$?
  trap - EXIT
  trap '' INT TERM HUP # impatience would leave half of it behind
  if [ "$started" = yes ] && [ "$keep" != 1 ]; then devcluster/down.sh; fi
  exit $status
}
trap clean_up EXIT

cluster() {
  title "A cluster"
  devcluster/down.sh # what an earlier run left, wanted or not
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

# trees are two folders as somebody has them who has read the pages: a checkout of this
# version in one, of an older one in the other, each beside what they write themselves.
trees() {
  title "Checkouts of this version, and of $FROM"
  rm -rf "$work/trees"
  mkdir -p "$work"/trees/{new,old}/millrace
  git ls-files -z --cached --others --exclude-standard | xargs -0 cp --parents -t "$work/trees/new/millrace"
  git archive "$FROM" | tar -x -C "$work/trees/old/millrace" || die "this checkout has no $FROM: FROM= names a version to upgrade from"
  export TREES=$work/trees
}

# operator_crds are the types of the Prometheus operator, made from the Go types that the
# manifests are held to by their own tests.
operator_crds() {
  title "The Prometheus operator's CRDs"
  local generator types=github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1
  generator=$(go -C internal/tools/crdgen list -m -f '{{.Path}}/cmd/controller-gen@{{.Version}}' sigs.k8s.io/controller-tools)
  rm -rf "$work/operator" "$work/types"
  go -C internal/tools/manifests run "$generator" crd:maxDescLen=0 paths="$types" output:crd:dir="$work/types"
  mkdir "$work/operator"
  mv "$work"/types/monitoring.coreos.com_{podmonitors,prometheusrules}.yaml "$work/operator"
  export OPERATOR_CRDS=$work/operator
}

install_and_remove() {
  FROM=${FROM:-$(git describe --tags --abbrev=0 HEAD^ 2>/dev/null || echo 3f85ed7)}
  trees
  operator_crds
  cluster
  export LOAD_IMAGE=$PWD/devcluster/load-image.sh
  PLATFORM=linux/$(go env GOARCH) # make image, as the README has it, makes one for others too: minutes, the first time
  export PLATFORM
  title "By the words of the pages"
  play TestAnInstallsLifeByTheWordsOfThePages
}

mkdir -p "$work"
go test -c -tags e2e -o "$tests" ./internal/operate
case ${1:-} in
  install) install_and_remove ;;
  kill) kill_leaders ;;
  *) die "usage: operate.sh install|kill" ;;
esac
