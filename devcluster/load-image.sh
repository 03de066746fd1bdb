#!/bin/bash
# load-image.sh LAYOUT NAME gives the cluster the image of an OCI layout (a
# folder, one image or a multi-arch index) under a name such as
# localhost/millrace:dev, and prints its digest. The node pulls it by name or by
# digest; loaded again under the same name, a pull gets the new one
# (imagePullPolicy: Always, or the digest).
set -euo pipefail
source "$(dirname "$0")/lib.sh"

[ $# = 2 ] || die "usage: load-image.sh LAYOUT NAME"
[ -d "$state" ] || die "there is no such cluster; run up.sh first"
lock "$state/images.lock"
"$bin/imgserver" load -images "$state/images" "$1" "$2"
