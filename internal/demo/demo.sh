#!/usr/bin/env bash
# make demo: the main job, from nothing. A cluster (ours, or the one KUBECONFIG
# names), the controller in it, one example through kubectl, and what came of it.
#   KEEP=1      leave all of it running
#   IMAGE=NAME  the image to install; needed with KUBECONFIG
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
. internal/e2e/lib.sh

theirs=${KUBECONFIG:-}
namespace=millrace-demo
settings=()
undo=() # what takes away what was made here, the last first

# made FUNCTION: what it takes away is about to be made.
made() {
  [[ " ${undo[*]} " == *" end_cluster "* ]] || undo=("$1" "${undo[@]}") # with the cluster goes all that is in it
}
end_cluster() { devcluster/down.sh; }
remove_namespace() { kubectl delete namespace "$namespace" --ignore-not-found --timeout=60s >/dev/null; }
remove_example() {
  kubectl -n "$namespace" delete task/hello --ignore-not-found >/dev/null
  [ -z "${run:-}" ] || kubectl -n "$namespace" delete "$run" --ignore-not-found --timeout=60s >/dev/null
}

on_their_cluster() {
  [ -n "${IMAGE:-}" ] || die "KUBECONFIG is set: IMAGE= must name an image of Millrace that this cluster can pull.
To push ours:  make image && go -C internal/image run . push $PWD/.build/image REGISTRY/millrace:TAG
Then:          make demo IMAGE=REGISTRY/millrace:TAG"
  command -v kubectl >/dev/null ||
    die "kubectl is not on the PATH (make -C devcluster build makes one: devcluster/.build/bin/kubectl)"
  kubectl version --request-timeout=10s >/dev/null || die "the cluster of KUBECONFIG=$theirs does not answer"
  image=$IMAGE
}

on_our_cluster() {
  title "A Kubernetes cluster on this machine"
  devcluster/status.sh >/dev/null || made end_cluster # one that runs only partly too
  devcluster/up.sh
  eval "$(devcluster/env.sh)"
  title "The image: controller and entrypoint (compiled; the first time a minute or two)"
  make image PLATFORM="linux/$(go env GOARCH)"
  image=$(devcluster/load-image.sh .build/image)
  settings=(REGISTRY_MIRROR=http://10.99.0.1:5000) # the cluster's image server stands in for every registry
}

clean_up() {
  local status=$? each
  trap - EXIT
  trap '' INT TERM HUP # impatience would leave half of it behind
  case $status in
    0) ;;
    129 | 130 | 143) title "Interrupted" ;;
    *) title "${red}The demo failed (exit $status): see above.${plain}" ;;
  esac
  if [ ${#undo[@]} = 0 ]; then exit "$status"; fi
  if [ "${KEEP:-}" = 1 ]; then
    title "Left running (KEEP=1)"
    [ -n "$theirs" ] || echo "eval \"\$(${NAME:+NAME=$NAME }devcluster/env.sh)\"   # then kubectl; ${NAME:+NAME=$NAME }make cluster-down ends it"
    exit "$status"
  fi
  title "Cleaning up"
  for each in "${undo[@]}"; do "$each" || say "this did not work: ${each//_/ }"; done
  say "done"
  exit "$status"
}

installed() { kubectl -n tekton-pipelines get deployment millrace-controller >/dev/null 2>&1; }

# nothing_in_the_way: to install over Tekton would be to take its Tasks and runs
# along when cleaning up.
nothing_in_the_way() {
  local there
  there=$(kubectl get --ignore-not-found -o name namespace/tekton-pipelines crd/tasks.tekton.dev crd/taskruns.tekton.dev)
  [ -z "$there" ] || die "this cluster has no Millrace, but it has
$there
which the demo would install over, and remove in the end. It stops here. If they are nobody's, remove them, with all
Tasks and TaskRuns:  kubectl delete -k manifests/overlays/single --ignore-not-found"
}

install() {
  title "Installing CRDs and the controller from manifests/"
  if [ -n "$theirs" ] && installed; then
    say "found installed, and used as it is"
    return
  fi
  installed || { nothing_in_the_way && made uninstall_millrace; }
  install_millrace "$image" "${settings[@]}"
  say "the controller is ready"
}

run_example() {
  title "An example: examples/hello.yaml"
  if kubectl get namespace "$namespace" >/dev/null 2>&1; then
    made remove_example
    kubectl -n "$namespace" delete task/hello --ignore-not-found >/dev/null
  else
    made remove_namespace
    kubectl create namespace "$namespace" >/dev/null
  fi
  run=$(kubectl -n "$namespace" create -f examples/hello.yaml -o name | grep '^taskrun')
  say "created $run"
  local state='' now
  for _ in $(seq 600); do
    now=$(kubectl -n "$namespace" get "$run" -o jsonpath='{range .status.conditions[0]}{.status} {.reason}: {.message}{end}')
    if [ "$now" != "$state" ]; then
      state=$now now=${now#* }
      say "${now%: }"
    fi
    case $state in True*) return 0 ;; False*) die "the example failed" ;; esac
    sleep 0.2
  done
  die "the example did not end in two minutes"
}

show() {
  local pod
  title "kubectl get tr"
  kubectl -n "$namespace" get tr
  pod=$(kubectl -n "$namespace" get "$run" -o jsonpath='{.status.podName}')
  title "What the steps printed"
  for c in $(kubectl -n "$namespace" get pod "$pod" -o jsonpath='{.spec.containers[*].name}'); do
    kubectl -n "$namespace" logs "$pod" -c "$c" | awk -v step="$c" '{ print step ": " $0 }'
  done
  title "Its result"
  kubectl -n "$namespace" get "$run" -o jsonpath='{range .status.results[*]}{.name} = {.value}{"\n"}{end}'
  title "What the controller says of itself (/metrics): queue depth and cache size"
  kubectl get --raw /api/v1/namespaces/tekton-pipelines/services/millrace-controller:metrics/proxy/metrics |
    awk '/^workqueue_depth\{/ || /^informer_store_(objects|bytes)\{/ && $2 != 0'
}

trap clean_up EXIT
if [ -n "$theirs" ]; then on_their_cluster; else on_our_cluster; fi
install
run_example
show
