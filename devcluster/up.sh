#!/bin/bash
# Starts a single-node Kubernetes on this machine's loopback, or finds it
# running. What runs already is left alone, so it also mends a cluster of which
# a part has died.
#
#   NAME=dev            which cluster; two names are two clusters, side by side
#   PORT=6443           its API server's port on 127.0.0.1
#   FEATURE_GATES=      A=true,B=false for every component
#   APISERVER_ARGS=     further arguments of kube-apiserver, separated by spaces
#   MAX_PODS=110        what the node takes
#   AUDIT=1             0 writes no log/audit.log
set -euo pipefail
source "$(dirname "$0")/lib.sh"
source "$here/pki.sh"
source "$here/machine.sh"

trap 'exit 130' INT # also when the command that runs just then shrugs it off
settings=(PORT FEATURE_GATES APISERVER_ARGS MAX_PODS AUDIT)
PORT=${PORT:-} FEATURE_GATES=${FEATURE_GATES:-} APISERVER_ARGS=${APISERVER_ARGS:-} MAX_PODS=${MAX_PODS:-} AUDIT=${AUDIT:-}

# settle takes the settings of a cluster that exists already, since its parts
# were started with them, and else those given or the defaults.
settle() {
  local setting value asked
  if ! [ -e "$state/settings" ]; then
    PORT=${PORT:-6443} MAX_PODS=${MAX_PODS:-110} AUDIT=${AUDIT:-1}
    return 0
  fi
  while IFS='=' read -r setting value; do
    asked=${!setting:-}
    [ -z "$asked" ] || [ "$asked" = "$value" ] ||
      die "it was made with $setting=$value, not $asked: run down.sh first, or choose another NAME"
    printf -v "$setting" %s "$value"
  done <"$state/settings"
}

keep_settings() {
  local setting
  for setting in "${settings[@]}"; do echo "$setting=${!setting}"; done >"$state/settings"
}

running() { "$here/status.sh" >/dev/null 2>&1; }

free_port() {
  pid_of relay >/dev/null || ! (exec 3<>"/dev/tcp/127.0.0.1/$PORT") 2>/dev/null ||
    die "port $PORT of 127.0.0.1 belongs to another program; choose another with PORT="
}

# in_node COMMAND... runs it in the node's network.
in_node() { nsenter --net="/proc/$(pid_of node)/ns/net" "$@"; }

# start_in_node NAME COMMAND... starts a part of the control plane there, so
# that the API server reaches pods and Services.
start_in_node() {
  local name=$1
  shift
  start "$name" nsenter --net="/proc/$(pid_of node)/ns/net" "$@"
}

in_own_network() { [ "$(readlink "/proc/$(pid_of node)/ns/net")" != "$(readlink /proc/self/ns/net)" ]; }

start_node() {
  # the parts hold on to the namespaces of the node that they were started with
  pid_of node >/dev/null || stop_all
  machine_join
  export FEATURE_GATES MAX_PODS
  start node unshare --net --mount --pid --fork --kill-child --mount-proc /bin/bash "$here/node.sh"
  machine_note
  wait_for 60 "the node's namespaces" in_own_network
  start relay "$bin/relay" -listen "127.0.0.1:$PORT" -to 127.0.0.1:6443 -netns "/proc/$(pid_of node)/ns/net"
}

start_etcd() {
  # a cluster is thrown away with its machine: no write waits for the disk
  start_in_node etcd "$bin/etcd" --name=e --data-dir="$state/etcd" --unsafe-no-fsync --log-level=warn \
    --quota-backend-bytes=4294967296 \
    --listen-client-urls=http://127.0.0.1:2379 --advertise-client-urls=http://127.0.0.1:2379 \
    --listen-peer-urls=http://127.0.0.1:2380 --initial-advertise-peer-urls=http://127.0.0.1:2380 \
    --initial-cluster=e=http://127.0.0.1:2380
}

# write_audit_policy: what people, controllers and pods ask; not what the
# cluster's own parts ask, which is most of it and tells nothing here.
write_audit_policy() {
  cat >"$state/etc/audit.yaml" <<'Y'
apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
- level: None
  users: ["system:apiserver", "system:kube-controller-manager", "system:kube-scheduler"]
- level: None
  userGroups: ["system:nodes", "system:serviceaccounts:kube-system"]
- level: None
  nonResourceURLs: ["/readyz*", "/livez*", "/healthz*", "/version", "/openapi*"]
- level: Metadata
Y
}

start_apiserver() {
  local optional=()
  if [ "$AUDIT" != 0 ]; then
    write_audit_policy
    optional+=(--audit-policy-file="$state/etc/audit.yaml" --audit-log-path="$state/log/audit.log"
      --audit-log-maxsize=256 --audit-log-maxbackup=1)
  fi
  [ -z "$FEATURE_GATES" ] || optional+=(--feature-gates="$FEATURE_GATES")
  # shellcheck disable=SC2206 # these are separated by spaces
  optional+=($APISERVER_ARGS)
  start_in_node kube-apiserver "$bin/kube-apiserver" --etcd-servers=http://127.0.0.1:2379 \
    --bind-address=127.0.0.1 --secure-port=6443 --advertise-address=10.99.0.1 \
    --tls-cert-file="$pki/apiserver.crt" --tls-private-key-file="$pki/apiserver.key" --client-ca-file="$pki/ca.crt" \
    --token-auth-file="$pki/tokens.csv" --authorization-mode=Node,RBAC --enable-admission-plugins=NodeRestriction \
    --service-account-issuer=https://kubernetes.default.svc \
    --service-account-key-file="$pki/service-account.pub" --service-account-signing-key-file="$pki/service-account.key" \
    --service-cluster-ip-range=10.96.0.0/16 --allow-privileged=true --event-ttl=30m \
    --kubelet-client-certificate="$pki/kubelet-client.crt" --kubelet-client-key="$pki/kubelet-client.key" \
    --kubelet-certificate-authority="$pki/ca.crt" --kubelet-preferred-address-types=Hostname \
    --enable-aggregator-routing=true --max-requests-inflight=1000 --max-mutating-requests-inflight=500 \
    "${optional[@]}"
}

# The controller manager lives in the node's mounts too: its provisioner makes
# the directories of volumes, and the node's kubelet mounts them.
start_controller_manager() {
  start_in_node kube-controller-manager nsenter --mount="/proc/$(pid_of node)/ns/mnt" "$bin/kube-controller-manager" \
    --kubeconfig="$pki/kube-controller-manager.kubeconfig" --bind-address=127.0.0.1 --leader-elect=false \
    --service-account-private-key-file="$pki/service-account.key" --root-ca-file="$pki/ca.crt" \
    --use-service-account-credentials=true --enable-hostpath-provisioner=true \
    --kube-api-qps=300 --kube-api-burst=600 --concurrent-job-syncs=10 \
    --terminated-pod-gc-threshold=0 --node-monitor-grace-period=120s --flex-volume-plugin-dir="$state/etc/flexvolume" \
    ${FEATURE_GATES:+--feature-gates="$FEATURE_GATES"}
}

start_scheduler() {
  cat >"$state/etc/scheduler.yaml" <<Y
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
clientConnection: {kubeconfig: "$pki/kube-scheduler.kubeconfig", qps: 500, burst: 1000}
leaderElection: {leaderElect: false}
Y
  start_in_node kube-scheduler "$bin/kube-scheduler" --config="$state/etc/scheduler.yaml" --bind-address=127.0.0.1 \
    ${FEATURE_GATES:+--feature-gates="$FEATURE_GATES"}
}

kubectl() { KUBECACHEDIR="$state/kubectl-cache" "$bin/kubectl" --kubeconfig "$state/kubeconfig" "$@"; }

api_ready() { pid_of kube-apiserver && curl -sf --cacert "$pki/ca.crt" "https://127.0.0.1:$PORT/readyz"; }

# node_ready: the kubelet that we started says so, not the one before it.
node_ready() {
  local ready
  ready=$(kubectl get node localhost -o jsonpath='{.status.conditions[?(@.type=="Ready")]}')
  [[ $ready == *'"status":"True"'* ]] && [[ $ready =~ \"lastHeartbeatTime\":\"([^\"]*)\" ]] &&
    ! [[ ${BASH_REMATCH[1]} < $(date -u -r "$state/pid/node" +%FT%TZ) ]]
}

# explain shows the last words of the parts that have died.
explain() {
  local part
  for part in "${parts[@]}"; do
    pid_of "$part" >/dev/null || { echo "--- $part has died:" && tail -n 5 "$state/log/$part.log"; } >&2
  done
}

wait_until_ready() {
  wait_for 300 "the API server" api_ready
  say "API server ready"
  start_controller_manager
  start_scheduler
  wait_for 300 "the default service account" kubectl -n default get serviceaccount default
  wait_for 300 "the node" node_ready
  wait_for 300 "the scheduler" in_node curl -sfk https://127.0.0.1:10259/readyz
  make_storage_class
  say "node ready"
}

# Claims get a directory of the node.
make_storage_class() {
  kubectl apply -f - >/dev/null <<'Y'
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata:
  name: hostpath
  annotations: {storageclass.kubernetes.io/is-default-class: "true"}
provisioner: kubernetes.io/host-path
Y
}

main() {
  need_root
  "$here/install.sh"
  "$here/build.sh"
  mkdir -p "$state"/{etc,log,pid}
  lock "$state/lock"
  settle
  if running; then
    say "found running, at https://127.0.0.1:$PORT"
    return 0
  fi
  free_port
  keep_settings
  make_keys "$PORT"
  trap explain EXIT
  start_node
  start_etcd
  start_apiserver
  wait_until_ready
  trap - EXIT
  say "up, at https://127.0.0.1:$PORT; to use it:  eval \"\$(${here}/env.sh)\""
}

main
