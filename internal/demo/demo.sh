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

on_their_cluster() {
  [ -n "${IMAGE:-}" ] || die "KUBECONFIG is set: IMAGE= must name an image of Millrace that this cluster can pull.
To push ours:  make image && go -C internal/image run . push $PWD/.build/image REGISTRY/millrace:TAG
Then:          make demo IMAGE=REGISTRY/millrace:TAG"
  command -v kubectl >/dev/null || die "kubectl is not on the PATH"
  kubectl version -o json >/dev/null || die "the cluster of KUBECONFIG=$theirs does not answer"
  image=$IMAGE
}

on_our_cluster() {
  title "A Kubernetes cluster on this machine"
  found_running=no
  ! devcluster/status.sh >/dev/null || found_running=yes # exit 2, partly running, is mended and taken down
  devcluster/up.sh
  eval "$(devcluster/env.sh)"
  title "The image: controller and entrypoint, from scratch"
  make image PLATFORM="linux/$(go env GOARCH)"
  image=$(devcluster/load-image.sh .build/image)
  settings=(REGISTRY_MIRROR=http://10.99.0.1:5000) # the cluster's image server stands in for every registry
}

clean_up() {
  local status=$?
  trap - EXIT
  if [ "${KEEP:-}" = 1 ]; then
    title "Left running (KEEP=1)"
    [ -n "$theirs" ] || echo "eval \"\$(devcluster/env.sh)\"   # then kubectl; make cluster-down ends it"
    exit "$status"
  fi
  title "Cleaning up"
  if [ -n "$theirs" ] || [ "${found_running:-no}" = yes ]; then
    kubectl delete namespace "$namespace" --ignore-not-found --timeout=60s >/dev/null || true
    [ "${installed_before:-yes}" = yes ] || uninstall_millrace || true
    say "removed what the demo made"
  else
    devcluster/down.sh
  fi
  exit "$status"
}

run_example() {
  title "An example: examples/hello.yaml"
  kubectl create namespace "$namespace" --dry-run=client -o yaml | kubectl apply -f - >/dev/null
  kubectl -n "$namespace" delete task hello --ignore-not-found >/dev/null
  run=$(kubectl -n "$namespace" create -f examples/hello.yaml -o name | grep '^taskrun')
  say "created $run"
  local state='' now
  for _ in $(seq 600); do
    now=$(kubectl -n "$namespace" get "$run" -o jsonpath='{.status.conditions[0].reason}: {.status.conditions[0].message}')
    [ "$now" = "$state" ] || [ "$now" = ": " ] || say "${now%: }"
    state=$now
    case $state in Succeeded*) return 0 ;; Failed* | TaskRun*) die "the example failed" ;; esac
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
    kubectl -n "$namespace" logs "$pod" -c "$c" | sed "s/^/$c: /"
    echo
  done
  title "Its result"
  kubectl -n "$namespace" get "$run" -o jsonpath='{range .status.results[*]}{.name} = {.value}{"\n"}{end}'
  title "What the controller says of itself (/metrics): queue depth and cache size"
  kubectl get --raw /api/v1/namespaces/tekton-pipelines/services/millrace-controller:metrics/proxy/metrics |
    grep -E '^(workqueue_depth|informer_store_objects|informer_store_bytes)\{'
}

trap clean_up EXIT
if [ -n "$theirs" ]; then on_their_cluster; else on_our_cluster; fi
title "Installing CRDs and the controller from manifests/"
installed_before=no
! kubectl -n tekton-pipelines get deployment millrace-controller >/dev/null 2>&1 || installed_before=yes
install_millrace "$image" "${settings[@]}"
say "the controller is ready"
run_example
show
