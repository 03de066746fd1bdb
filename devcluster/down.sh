#!/bin/bash
# Stops the cluster NAME and removes all that it made: processes, mounts,
# cgroups, network, folder. KEEP=1 keeps the folder (the objects, logs and
# images), and up.sh goes on from there.
set -euo pipefail
source "$(dirname "$0")/lib.sh"
source "$here/machine.sh"

main() {
  [ -d "$state" ] || {
    say "not there"
    return 0
  }
  need_root
  lock "$state/lock"
  stop_all
  machine_leave
  [ -n "${KEEP:-}" ] || rm -rf "$state"
  say "down"
}

main
