#!/usr/bin/env bash
# make dialogue: plays every script against a real API server, in a cluster of its
# own that goes afterwards. -update records its answers. The last line counts
# exchanges, and those that are as recorded.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../../.."
unset KUBECONFIG # never somebody's own cluster
export NAME=dialogue PORT=${PORT:-7443} AUDIT=0
said=$(mktemp) failed=0
trap 'rm -f "$said"; KEEP="" devcluster/down.sh' EXIT
devcluster/up.sh
eval "$(devcluster/env.sh)"
go test -count=1 -tags e2e -run '^TestTheServerAnswersAsRecorded$' -v ./internal/simulation/dialogue "$@" >"$said" || failed=1
KEEP="" devcluster/down.sh
trap 'rm -f "$said"' EXIT
grep -v -E '^(=== RUN|PASS$|ok  |--- PASS)' "$said" # its last line is the count
exit "$failed"
