#!/bin/bash
# install.sh [PACKAGE...] installs what a cluster needs from Debian, and the
# packages named, as far as they are not there yet. Quiet when nothing is
# missing; the errors of apt are shown when it fails.
set -euo pipefail
source "$(dirname "$0")/lib.sh"

packages=(
  bash-static busybox-static  # the base image is made of them
  containernetworking-plugins # bridge, host-local, loopback: the pods' network
  ca-certificates curl        # waiting for the API server
  iproute2                    # the node's addresses
  openssl                     # the cluster's keys
  runc                        # the one thing here that Go alone cannot build
  "$@"
)

missing=()
for package in "${packages[@]}"; do
  dpkg-query -W -f '${Status}' "$package" 2>/dev/null | grep -q 'ok installed' || missing+=("$package")
done
[ ${#missing[@]} -gt 0 ] || exit 0

need_root
command -v apt-get >/dev/null || die "please install: ${missing[*]}"
say "installing ${missing[*]}"
mkdir -p "$build"
export DEBIAN_FRONTEND=noninteractive
quietly() {
  ! "$@" >"$build/apt.log" 2>&1 || return 0
  sed -n '/^E:/p' "$build/apt.log" | tail -n 3 >&2
  die "$1 could not install them; is there a network? All that it said is in $build/apt.log"
}
quietly apt-get -q update
quietly apt-get -q install -y --no-install-recommends "${missing[@]}"
say "installed"
