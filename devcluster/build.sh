#!/bin/bash
# Builds the programs of a cluster into .build/bin, each from its Go module:
#
#   kube/        etcd, kube-apiserver, kube-controller-manager, kube-scheduler, kubelet, kubectl (one binary)
#   containerd/  containerd, containerd-shim-runc-v2, ctr
#   .            imgserver, relay, pause
#
# A program is built again only when its inputs changed: their hash is kept
# beside the program. The first build compiles about 4,000 packages.
set -euo pipefail
source "$(dirname "$0")/lib.sh"
export CGO_ENABLED=0
command -v go >/dev/null || die "go is not on the PATH"

kube_version=$(sed -n 's|^\tk8s.io/kubernetes ||p' "$here/kube/go.mod")
containerd_version=$(sed -n 's|^\tgithub.com/containerd/containerd/v2 \(v[^ ]*\).*|\1|p' "$here/containerd/go.mod")

# version_flags makes every component say its version: without them it is v0.0.0.
version_flags() {
  local package minor=${kube_version#v1.}
  for package in k8s.io/component-base/version k8s.io/client-go/pkg/version; do
    printf -- '-X %s=%s ' "$package.gitVersion" "$kube_version" "$package.gitMajor" 1 \
      "$package.gitMinor" "${minor%%.*}" "$package.gitTreeState" clean
  done
}

# inputs MODULE PATH... prints the hash of all that the build of a module depends on.
inputs() (
  cd "$here/$1"
  shift
  { go version && cat "$here/build.sh" && find "$@" -type f -not -path '*/.*' -print0 | sort -z | xargs -0 cat; } | sha256sum
)

# compile MODULE OUTPUT LINKER-FLAGS PACKAGE... runs go build, and tells every
# 20 s how it goes. Packages that the machine has compiled before are not counted.
compile() {
  local log=$build/${1/#./tools}.log output=$2 flags=$3 next=$((SECONDS + 20)) pid all='' compiled
  cd "$here/$1"
  shift 3
  go build -v -buildvcs=false -trimpath -ldflags "$flags" -o "$output" "$@" >"$log" 2>&1 &
  pid=$!
  while kill -0 "$pid" 2>/dev/null; do
    sleep 0.2
    if [ "$SECONDS" -ge "$next" ]; then
      # first all modules are fetched, then all packages are compiled
      if compiled=$(grep -vc 'downloading' "$log"); then
        all=${all:-$(go list -deps "$@" | wc -l)}
        say "  $compiled of $all packages compiled"
      else
        say "  $(wc -l <"$log") modules fetched"
      fi
      next=$((SECONDS + 20))
    fi
  done
  wait "$pid" || { sed '/downloading/d' "$log" | tail -n 5 >&2; die "building failed; the whole output is in $log"; }
}

# up_to_date WHAT HASH PROGRAM
up_to_date() { [ -x "$bin/$3" ] && [ "$(cat "$build/$1.inputs" 2>/dev/null)" = "$2" ]; }

build_kube() {
  local hash
  hash=$(inputs kube .)
  ! up_to_date kube "$hash" kube || return 0
  say "building Kubernetes $kube_version (the first time on a machine: 5 to 10 minutes on two cores)"
  compile kube "$bin/kube" "-s -w $(version_flags)" .
  local name
  for name in etcd kube-apiserver kube-controller-manager kube-scheduler kubelet kubectl; do
    ln -sf kube "$bin/$name"
  done
  echo "$hash" >"$build/kube.inputs"
  say "built Kubernetes"
}

build_containerd() {
  local hash
  hash=$(inputs containerd .)
  ! up_to_date containerd "$hash" containerd || return 0
  say "building containerd $containerd_version (the first time on a machine: a minute or two)"
  compile containerd "$bin/" "-s -w -X github.com/containerd/containerd/v2/version.Version=$containerd_version" tool
  echo "$hash" >"$build/containerd.inputs"
  say "built containerd"
}

build_tools() {
  local hash
  hash=$(inputs . go.mod go.sum imgserver relay pause)
  ! up_to_date tools "$hash" imgserver || return 0
  compile . "$bin/" "-s -w" ./imgserver ./relay ./pause
  echo "$hash" >"$build/tools.inputs"
  say "built imgserver, relay and pause"
}

mkdir -p "$bin"
lock "$build/lock"
build_kube
build_containerd
build_tools
