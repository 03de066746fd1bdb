#!/bin/bash
# load-image.sh LAYOUT [NAME] gives the cluster the image of an OCI layout (a
# folder, one image or a multi-arch index) under NAME, localhost/millrace:dev by
# default, and prints the reference to pull it by: the digest, so that a pod
# which names it runs this image and no earlier one. The name works as well; a
# pod that has it needs imagePullPolicy Always to get an image loaded later.
set -euo pipefail
source "$(dirname "$0")/lib.sh"

[ $# = 1 ] || [ $# = 2 ] || die "usage: load-image.sh LAYOUT [NAME]"
[ -d "$state" ] || die "there is no such cluster; run up.sh first"
lock "$state/images.lock"
"$bin/imgserver" load -images "$state/images" "$1" "${2:-localhost/millrace:dev}"
