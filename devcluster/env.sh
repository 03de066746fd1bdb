#!/bin/bash
# Prints what a shell needs to talk to the cluster NAME:  eval "$(devcluster/env.sh)"
set -euo pipefail
source "$(dirname "$0")/lib.sh"

printf 'export KUBECONFIG=%q\n' "$state/kubeconfig"
# a cluster made anew on the same port has other types than the ones kubectl remembers
printf 'export KUBECACHEDIR=%q\n' "$state/kubectl-cache"
printf 'export PATH=%q:"$PATH"\n' "$bin"
# who asked the API server for what; make bench-e2e and the end-to-end tests count calls in it
printf 'export AUDIT_LOG=%q\n' "$state/log/audit.log"
