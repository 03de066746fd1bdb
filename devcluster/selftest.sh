#!/bin/bash
# Tries what README.md says of a cluster, on two clusters of its own, and leaves
# nothing behind. Each line is a claim and the seconds it took; the exit status
# is 1 when one of them does not hold. PORT (17443) and the port after it are
# used.
set -euo pipefail
export NAME=selftest
source "$(dirname "$0")/lib.sh"

PORT=${PORT:-17443}
work=$(mktemp -d)
failures=0

# claim TEXT COMMAND... runs the command and prints whether it held, and how long it took.
claim() {
  local text=$1 from=$EPOCHREALTIME us verdict=ok
  shift
  "$@" >"$work/output" 2>&1 || verdict=FAIL
  us=$((${EPOCHREALTIME/./} - ${from/./}))
  printf '%-4s %6d ms  %s\n' "$verdict" $((us / 1000)) "$text"
  [ "$verdict" = ok ] || {
    sed 's/^/     | /' "$work/output"
    failures=$((failures + 1))
  }
}

clean_up() {
  NAME=selftest "$here/down.sh" >/dev/null 2>&1 || true
  NAME=selftest-b "$here/down.sh" >/dev/null 2>&1 || true
  rm -rf "$work"
}

k() { KUBECACHEDIR=$work/kubectl "$bin/kubectl" --kubeconfig "$state/kubeconfig" "$@"; }

# until_true COMMAND... tries for 30 s.
until_true() { wait_for 30 "$*" "$@"; }

# --- the cluster comes, is found, goes on

comes_up() { PORT=$PORT "$here/up.sh"; }
is_found() { comes_up | grep -q 'found running'; }
says_status() { "$here/status.sh" && ! NAME=selftest-none "$here/status.sh"; }
refuses_other_settings() { ! MAX_PODS=5 "$here/up.sh" && "$here/status.sh"; }
versions() { k version | grep 'Server Version: v1.37' && k get nodes -o wide | grep 'containerd://2\.4'; }

# --- pods

pod() { # NAME COMMAND [VOLUME] [MOUNT]
  k apply -f - <<Y
apiVersion: v1
kind: Pod
metadata: {name: $1}
spec:
  restartPolicy: Never
  containers:
  - {name: main, image: busybox, command: [sh, -c, "$2"], volumeMounts: [${4:-}]}
  volumes: [${3:-}]
Y
}
succeeded() { k wait --for=jsonpath='{.status.phase}'=Succeeded "pod/$1" --timeout=30s; }
says() { [ "$(k logs "$1")" = "$2" ] || { k logs "$1" && return 1; }; }

pod_ends() { pod one 'echo hello' && succeeded one && says one hello; }
bash_is_there() { pod bash "bash -c '[[ x == x ]] && echo yes'" && succeeded bash && says bash yes; }

claim_binds() {
  k apply -f - <<'Y'
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: data}
spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Mi}}}
Y
  local volume='{name: data, persistentVolumeClaim: {claimName: data}}' mount='{name: data, mountPath: /data}'
  pod writes 'echo kept >/data/file' "$volume" "$mount" && succeeded writes &&
    pod reads 'cat /data/file' "$volume" "$mount" && succeeded reads && says reads kept
}

no_such_image() {
  k run missing --image=example.com/no-such:1 --restart=Never
  until_true waits_for_image
}
waits_for_image() { k get pod missing -o jsonpath='{.status.containerStatuses[0].state.waiting.reason}' | grep -E 'ErrImagePull|ImagePullBackOff'; }

restarts_fast() {
  k run crashes --image=busybox -- sh -c 'exit 1'
  wait_for 15 'three restarts' restarted_thrice
}
restarted_thrice() { [ "$(k get pod crashes -o jsonpath='{.status.containerStatuses[0].restartCount}')" -ge 3 ]; }

exec_works() {
  k run stays --image=busybox --restart=Never -- sleep 600
  k wait --for=condition=Ready pod/stays --timeout=30s
  k exec stays -- cat /etc/os-release | grep devcluster
}
pod_reaches_api() { # by the address and the ServiceAccount that every pod is given
  pod asks '/tools/kubectl version' "{name: tools, hostPath: {path: '$bin'}}" '{name: tools, mountPath: /tools}'
  succeeded asks && k logs asks | grep 'Server Version'
}
pod_reaches_registry() { k exec stays -- wget -qO- http://10.99.0.1:5000/v2/any/name/manifests/1 | grep sha256; }

# --- images of our own

# write_layout DIR TEXT makes an OCI layout: an index of two platforms, each
# with an image whose one file, /text, says TEXT.
write_layout() {
  rm -rf "$1"
  mkdir -p "$1/blobs/sha256" "$1/root"
  echo "$2" >"$1/root/text"
  tar -C "$1/root" -cf "$1/layer" text
  local layer arch manifests=()
  layer=$(blob "$1" application/vnd.oci.image.layer.v1.tar <"$1/layer")
  for arch in amd64 arm64; do
    local config manifest
    config=$(printf '{"os":"linux","architecture":"%s","config":{},"rootfs":{"type":"layers","diff_ids":["sha256:%s"]}}' \
      "$arch" "$(sha256sum <"$1/layer" | cut -d' ' -f1)" | blob "$1" application/vnd.oci.image.config.v1+json)
    manifest=$(printf '{"schemaVersion":2,"mediaType":"application/vnd.oci.image.manifest.v1+json","config":%s,"layers":[%s]}' \
      "$config" "$layer" | blob "$1" application/vnd.oci.image.manifest.v1+json)
    manifests+=("${manifest%\}},\"platform\":{\"os\":\"linux\",\"architecture\":\"$arch\"}}")
  done
  printf '{"schemaVersion":2,"mediaType":"application/vnd.oci.image.index.v1+json","manifests":[%s,%s]}' "${manifests[@]}" |
    blob "$1" application/vnd.oci.image.index.v1+json >"$1/index"
  printf '{"schemaVersion":2,"manifests":[%s]}' "$(cat "$1/index")" >"$1/index.json"
  echo '{"imageLayoutVersion":"1.0.0"}' >"$1/oci-layout"
  rm -r "$1/root" "$1/layer" "$1/index"
}
# blob DIR TYPE stores standard input and prints its descriptor.
blob() {
  local digest
  cat >"$1/next"
  digest=$(sha256sum <"$1/next" | cut -d' ' -f1)
  printf '{"mediaType":"%s","digest":"sha256:%s","size":%d}' "$2" "$digest" "$(stat -c %s "$1/next")"
  mv "$1/next" "$1/blobs/sha256/$digest"
}

# reads_image POD REFERENCE TEXT: a pod with the image as a volume finds the text in it.
reads_image() {
  pod "$1" 'cat /image/text' "{name: image, image: {reference: '$2', pullPolicy: Always}}" '{name: image, mountPath: /image}'
  succeeded "$1" && says "$1" "$3"
}
loaded_image() {
  write_layout "$work/layout" first
  first=$("$here/load-image.sh" "$work/layout" localhost/own:1)
  reads_image own-first localhost/own:1 first
}
changed_image() {
  write_layout "$work/layout" second
  "$here/load-image.sh" "$work/layout" localhost/own:1
  reads_image own-second localhost/own:1 second
}
image_by_digest() { [[ $first == localhost/own@sha256:* ]] && reads_image own-digest "$first" first; }

# --- what was asked of the API server

audited() {
  k get configmaps -n default
  wait_for 5 'the audit log' grep -q '"verb":"list".*"username":"admin".*"resource":"configmaps"' "$state/log/audit.log"
}
own_parts_are_left_out() { ! grep -q '"username":"system:\(apiserver\|node:\|kube-\|serviceaccount:kube-system:\)' "$state/log/audit.log"; }

# --- accidents

mends_api_server() {
  kill -KILL "$(pid_of kube-apiserver)"
  until_true gone kube-apiserver
  expect_status 2 && comes_up && k get pod stays | grep Running
}
mends_node() {
  kill -KILL "$(pid_of node)"
  until_true gone node
  expect_status 2 && comes_up && pod after-node 'echo back' && succeeded after-node && says after-node back
}
expect_status() {
  local status=0
  "$here/status.sh" || status=$?
  [ "$status" = "$1" ]
}
keeps_objects() { KEEP=1 "$here/down.sh" && expect_status 1 && comes_up && k get pvc data | grep Bound; }

# --- two at once

second_comes_up() { NAME=selftest-b PORT=$((PORT + 1)) FEATURE_GATES=InPlacePodVerticalScalingExclusiveCPUs=true AUDIT=0 "$here/up.sh"; }
# shellcheck disable=SC2030,SC2031 # that it stays in there is what is wanted
in_second() { (export NAME=selftest-b && state=$STATE/selftest-b && "$@"); }
second_has_gates() { in_second k get --raw /metrics | grep 'kubernetes_feature_enabled{name="InPlacePodVerticalScalingExclusiveCPUs".* 1$'; }
second_has_no_audit() { [ ! -e "$STATE/selftest-b/log/audit.log" ]; }
second_knows_nothing() { ! in_second k get pod stays && k get pod stays; }
second_goes() { in_second "$here/down.sh" && "$here/status.sh" && [ ! -e "$STATE/selftest-b" ]; }
port_is_taken() { ! NAME=selftest-b PORT=$PORT "$here/up.sh"; }

# --- nothing is left

only_loopback() { ! ss -ltnH | grep -v '127\.0\.0\.1:' | grep -E ":($PORT|5000|2379|2380|10250|6443) "; }
switches() { (cd /proc/sys && head -n1 vm/overcommit_memory vm/panic_on_oom kernel/panic kernel/panic_on_oops); }
# directories: those that one of the programs would make on the machine if it were let.
directories() {
  ls -d /opt/containerd /run/containerd /tmp/hostpath_pv /usr/libexec/kubernetes /var/lib/cni /var/lib/containerd \
    /var/lib/etcd /var/lib/kubelet /var/log/containers /var/log/pods /var/run/kubernetes 2>/dev/null || true
}
processes() { readlink /proc/[0-9]*/ns/net | grep -cxF "$1" || true; }
no_process() { [ "$(processes "$network")" = 0 ] || { readlink /proc/[0-9]*/ns/net && return 1; }; }
no_mount() { ! grep "$STATE/selftest" /proc/[0-9]*/mountinfo; }
no_cgroup() { ! find /sys/fs/cgroup -name "$cgroup*" | grep .; }
# shellcheck disable=SC2031
no_folder() { [ ! -e "$state" ]; }
no_port() { ! (exec 3<>"/dev/tcp/127.0.0.1/$PORT"); }
same_switches() { switches | diff "$work/switches" -; }
same_directories() { directories | diff "$work/directories" -; }

need_root
"$here/install.sh"
"$here/build.sh"
clean_up && mkdir -p "$work"
trap clean_up EXIT
switches >"$work/switches"
directories >"$work/directories"

claim 'a cluster comes up' comes_up
[ "$failures" = 0 ] || exit 1 # the rest would only say so again
claim 'up finds it running' is_found
claim 'status tells a cluster that runs from one that does not' says_status
claim 'up refuses other settings for a cluster that exists' refuses_other_settings
claim 'it is Kubernetes 1.37 with containerd 2.4' versions
claim 'it listens on loopback alone' only_loopback
claim 'a pod runs to Succeeded (its first pull included)' pod_ends
claim 'a pod has bash' bash_is_there
claim 'a claim is bound, and keeps what a pod wrote' claim_binds
claim 'an image that does not exist gives ErrImagePull' no_such_image
claim 'a container that fails is started three times again within 15 s' restarts_fast
claim 'exec reaches a pod' exec_works
claim 'a pod reaches the API server' pod_reaches_api
claim 'a pod reaches the registry' pod_reaches_registry
claim 'a multi-arch image of an OCI layout is a volume' loaded_image
claim 'the image that replaced it is picked up' changed_image
claim 'the one before is there by digest' image_by_digest
claim 'the audit log has what admin asked' audited
claim 'the audit log has nothing of the parts of the cluster' own_parts_are_left_out
claim 'a second cluster does not take a port in use' port_is_taken
claim 'a second cluster comes up beside it' second_comes_up
claim 'feature gates are passed on' second_has_gates
claim 'AUDIT=0 writes no audit log' second_has_no_audit
claim 'a pod of the second runs to Succeeded' in_second pod_ends
claim 'the two know nothing of each other' second_knows_nothing
claim 'the second goes and the first stays' second_goes
claim 'up mends a killed API server' mends_api_server
claim 'up mends a killed node' mends_node
claim 'KEEP=1 keeps the objects' keeps_objects
network=$(readlink "/proc/$(pid_of node)/ns/net")
[ "$(processes "$network")" -gt 0 ] || die "this test cannot see the processes of the node"
claim 'the cluster goes down' "$here/down.sh"
claim 'no process is left' no_process
claim 'no mount is left' no_mount
claim 'no cgroup is left' no_cgroup
claim 'no folder is left' no_folder
claim 'nothing listens' no_port
claim 'no directory is left elsewhere' same_directories
claim "the kernel's switches are as they were" same_switches

if [ "$failures" -gt 0 ]; then
  say "$failures claims do not hold"
  exit 1
fi
say "all claims hold"
