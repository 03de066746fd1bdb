#!/bin/bash
# Tells whether the cluster NAME runs: exit status 0 when all of it does and the
# API server answers, 1 when none of it does, 2 when only a part does (up.sh
# starts the rest).
set -euo pipefail
source "$(dirname "$0")/lib.sh"

# tell is say without the time.
tell() { printf 'devcluster %s: %s\n' "$NAME" "$*"; }

alive=() dead=()
for part in "${parts[@]}"; do
  if pid_of "$part" >/dev/null; then alive+=("$part"); else dead+=("$part"); fi
done
if [ ${#alive[@]} = 0 ]; then
  tell "not running"
  exit 1
fi
if [ ${#dead[@]} -gt 0 ]; then
  tell "not running: ${dead[*]}; running: ${alive[*]}"
  exit 2
fi
server=$(sed -n 's/.*server: "\([^"]*\)".*/\1/p' "$state/kubeconfig")
if ! curl -sf --max-time 5 --cacert "$state/pki/ca.crt" "$server/readyz" >/dev/null; then
  tell "the API server at $server does not answer"
  exit 2
fi
tell "running, at $server"
