#!/bin/bash
# Prints what a shell needs to talk to the cluster NAME:  eval "$(devcluster/env.sh)"
set -euo pipefail
source "$(dirname "$0")/lib.sh"

printf 'export KUBECONFIG=%q\n' "$state/kubeconfig"
printf 'export PATH=%q:"$PATH"\n' "$bin"
