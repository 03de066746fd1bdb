#!/bin/bash
# The node: PID 1 of a pid namespace that up.sh made, with a network and mounts
# of its own. It runs containerd, kubelet and what they need; when it dies, all
# of them die, and mounts and network go with them.
#
#	this machine             the node
#	.state/NAME       ────▶  /run/node       short, whatever the folder is called: sockets have 107 bytes
#	.state/NAME/tmp   ────▶  /tmp/hostpath_pv, where the provisioner puts volumes
#	(nothing)                /run, /var/log, /var/lib/cni, /var/lib/kubelet in memory
set -euo pipefail
source "$(dirname "$0")/lib.sh"
export PATH=$bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
node=/run/node
config=$node/etc

own_mounts() {
  case $state in /run/* | /var/log/* | /var/run/*) die "the folder of a cluster cannot be under /run or /var/log" ;; esac
  mkdir -p "$state"/{tmp,kubelet,podlogs,containerd,cni}
  # unshare has cut these mounts off from the machine's; volumes still pass between the node and its pods
  mount --make-rshared /
  mount --bind "$state/tmp" /tmp/hostpath_pv
  mount -t tmpfs -o mode=755 tmpfs /var/lib/cni
  mount -t tmpfs -o mode=755 tmpfs /var/lib/kubelet # the device plugins' socket, wherever kubelet's folder is
  mount -t tmpfs -o mode=755 tmpfs /var/log
  mount -t tmpfs -o mode=755 tmpfs /run
  mkdir -p "$node" /run/containerd /run/netns /run/lock
  mount --bind "$state" "$node"
}

# own_cgroup gives the node a root of its own in each hierarchy, so that
# another kubelet on the machine, and down.sh, know whose pods are whose.
own_cgroup() {
  if [ -e /sys/fs/cgroup/cgroup.controllers ]; then
    own_cgroup_v2
    return
  fi
  local hierarchy file
  for hierarchy in /sys/fs/cgroup/*/; do
    mkdir -p "$hierarchy$cgroup" || continue
    # a new cpuset is empty, and nothing can run in it
    for file in cpuset.cpus cpuset.mems; do
      [ ! -e "$hierarchy$file" ] || cat "$hierarchy$file" >"$hierarchy$cgroup/$file"
    done
  done
}

# On cgroup v2 the controllers of a child are those that its parent hands down;
# kubelet does the same below our root.
own_cgroup_v2() {
  local controller
  for controller in cpuset cpu io memory pids hugetlb; do
    grep -qw "$controller" /sys/fs/cgroup/cgroup.controllers || continue
    grep -qw "$controller" /sys/fs/cgroup/cgroup.subtree_control ||
      echo "+$controller" >/sys/fs/cgroup/cgroup.subtree_control ||
      die "cgroup v2: cannot hand down $controller; in a container, move its processes out of the root cgroup first"
  done
  mkdir -p "/sys/fs/cgroup/$cgroup"
}

own_network() {
  ip link set lo up
  # no dummy device: not every kernel has one. The node, and the ClusterIP of the service kubernetes.
  ip addr add 10.99.0.1/32 dev lo
  ip addr add 10.96.0.1/32 dev lo
  echo 1 >/proc/sys/net/ipv4/ip_forward
}

write_cni_config() {
  mkdir -p "$config/cni"
  cat >"$config/cni/10-bridge.conflist" <<Y
{"cniVersion": "0.4.0", "name": "pods", "plugins": [
  {"type": "bridge", "bridge": "cni0", "isGateway": true, "ipMasq": false, "hairpinMode": true,
   "ipam": {"type": "host-local", "dataDir": "$node/cni",
            "ranges": [[{"subnet": "10.244.0.0/16"}]], "routes": [{"dst": "0.0.0.0/0"}]}}]}
Y
}

write_containerd_config() {
  mkdir -p "$config/certs.d/_default"
  cat >"$config/certs.d/_default/hosts.toml" <<'Y'
server = "http://127.0.0.1:5000"
[host."http://127.0.0.1:5000"]
  capabilities = ["pull", "resolve"]
Y
  # what the node does not use is off: it would leave directories on the machine, or warn of a missing kernel module
  cat >"$config/containerd.toml" <<Y
version = 3
root = "$node/containerd"
state = "/run/containerd/state"
disabled_plugins = [
  "io.containerd.internal.v1.opt", "io.containerd.internal.v1.tracing", "io.containerd.tracing.processor.v1.otlp",
  "io.containerd.nri.v1.nri",
  "io.containerd.snapshotter.v1.blockfile", "io.containerd.snapshotter.v1.btrfs", "io.containerd.snapshotter.v1.devmapper",
  "io.containerd.snapshotter.v1.erofs", "io.containerd.snapshotter.v1.zfs",
]
[grpc]
  address = "/run/containerd/containerd.sock"
[plugins."io.containerd.cri.v1.images"]
  snapshotter = "overlayfs"
  [plugins."io.containerd.cri.v1.images".pinned_images]
    sandbox = "localhost/pause:1"
  [plugins."io.containerd.cri.v1.images".registry]
    config_path = "$config/certs.d"
[plugins."io.containerd.cri.v1.runtime"]
  restrict_oom_score_adj = true # the machine may not let us lower it
  disable_apparmor = true
  [plugins."io.containerd.cri.v1.runtime".cni]
    bin_dirs = ["/usr/lib/cni"]
    conf_dir = "$config/cni"
  [plugins."io.containerd.cri.v1.runtime".containerd]
    default_runtime_name = "runc"
    [plugins."io.containerd.cri.v1.runtime".containerd.runtimes.runc]
      runtime_type = "io.containerd.runc.v2"
      [plugins."io.containerd.cri.v1.runtime".containerd.runtimes.runc.options]
        BinaryName = "$(command -v runc)"
        SystemdCgroup = false
Y
}

# gates writes A=true,B=false as the lines of a YAML map.
gates() { tr ',' '\n' <<<"$1" | sed -n 's/^\([^=]*\)=\(.*\)/  \1: \2/p'; }

# EventedPLEG: the runtime tells when a container ends, rather than being asked
# each second. maxContainerRestartPeriod: a test that kills a container need not
# wait minutes for the next one. The eviction thresholds are off, since a full
# disk of a developer's machine is not the cluster's to clean.
write_kubelet_config() {
  echo "nameserver 10.96.0.10" >"$config/resolv.conf"
  cat >"$config/kubelet.yaml" <<Y
apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
address: 127.0.0.1
healthzBindAddress: 127.0.0.1
containerRuntimeEndpoint: unix:///run/containerd/containerd.sock
cgroupDriver: cgroupfs
cgroupRoot: /$cgroup
failCgroupV1: false
failSwapOn: false
authentication: {anonymous: {enabled: false}, webhook: {enabled: true}, x509: {clientCAFile: $node/pki/ca.crt}}
authorization: {mode: Webhook}
tlsCertFile: $node/pki/kubelet.crt
tlsPrivateKeyFile: $node/pki/kubelet.key
resolvConf: $config/resolv.conf
clusterDNS: [10.96.0.10] # nothing answers there; without it kubelet warns at every pod
clusterDomain: cluster.local
podLogsDir: $node/podlogs
volumePluginDir: $node/kubelet/volumeplugins
maxPods: $MAX_PODS
oomScoreAdj: 0
makeIPTablesUtilChains: false
serializeImagePulls: false
registryPullQPS: 0
eventRecordQPS: 0
kubeAPIQPS: 500
kubeAPIBurst: 1000
crashLoopBackOff: {maxContainerRestartPeriod: 1s}
imageGCHighThresholdPercent: 100
imageGCLowThresholdPercent: 99
evictionHard: {memory.available: "0%", nodefs.available: "0%", imagefs.available: "0%", nodefs.inodesFree: "0%"}
enforceNodeAllocatable: [pods]
featureGates:
  EventedPLEG: true
$(gates "$FEATURE_GATES")
Y
}

# run NAME COMMAND... leaves it in the background, its output in a log of its own.
run() {
  local name=$1
  shift
  "$@" >>"$state/log/$name.log" 2>&1 </dev/null &
}

containerd_ready() { ctr --address /run/containerd/containerd.sock version; }

own_mounts
own_cgroup
own_network
write_cni_config
write_containerd_config
write_kubelet_config
run imgserver "$bin/imgserver" serve -images "$node/images" -listen 0.0.0.0:5000 -pause "$bin/pause"
run relay-node "$bin/relay" -listen 10.99.0.1:6443 -to 127.0.0.1:6443
run relay-node "$bin/relay" -listen 10.96.0.1:443 -to 127.0.0.1:6443
run containerd "$bin/containerd" --config "$config/containerd.toml" --log-level warn
wait_for 300 containerd containerd_ready
run kubelet "$bin/kubelet" --config="$config/kubelet.yaml" --kubeconfig="$node/pki/kubelet.kubeconfig" \
  --root-dir="$node/kubelet" --cert-dir="$node/kubelet/pki" --hostname-override=localhost --node-ip=10.99.0.1
wait
