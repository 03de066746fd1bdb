#!/bin/bash
# Stops the cluster NAME and removes all that it made: processes, mounts,
# cgroups, network, folder. KEEP=1 keeps the folder (the objects, logs and
# images), and up.sh goes on from there.
set -euo pipefail
source "$(dirname "$0")/lib.sh"
source "$here/machine.sh"

cgroups_left() { find /sys/fs/cgroup -depth -type d -path "*/$cgroup*" 2>/dev/null; }

# remove_cgroups: a cgroup goes only when its last process is reaped.
remove_cgroups() {
  local dir
  cgroups_left | while read -r dir; do rmdir "$dir" 2>/dev/null || true; done
  [ -z "$(cgroups_left)" ]
}

main() {
  [ -d "$state" ] || {
    say "not there"
    return 0
  }
  need_root
  lock "$state/lock"
  local part
  for part in "${parts[@]}"; do
    case $part in
    node) stop node KILL ;; # its pid namespace dies with it, and all in there
    *) stop "$part" TERM ;;
    esac
  done
  wait_for 20 "the kernel to let go of the cgroups $cgroup" remove_cgroups
  machine_leave
  [ -n "${KEEP:-}" ] || rm -rf "$state"
  say "down"
}

main
