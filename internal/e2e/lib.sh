# Functions that demo.sh and gate.sh share. Source it from the project's root.

# A signal ends the script through its trap on EXIT, and with a status that says so.
trap 'exit 130' INT
trap 'exit 143' TERM
trap 'exit 129' HUP

t0=$SECONDS
if [ -t 1 ]; then bold=$'\e[1m' dim=$'\e[2m' red=$'\e[31m' plain=$'\e[0m'; else bold='' dim='' red='' plain=''; fi

# say TEXT: a line of progress, with the minutes and seconds since the start.
say() { printf '%s%2d:%02d%s  %s\n' "$dim" $(((SECONDS - t0) / 60)) $(((SECONDS - t0) % 60)) "$plain" "$*"; }
title() { printf '\n%s%s%s\n' "$bold" "$*" "$plain"; }
die() { printf '%s%s%s\n' "$red" "$*" "$plain" >&2; exit 1; }

# kustomize_image IMAGE: how a kustomization names it. A tag is what follows the
# last colon, unless that is the port of a registry.
kustomize_image() {
  local name=${1%@*} which='newTag: latest'
  if [[ ${name##*/} == *:* ]]; then which="newTag: '${name##*:}'" name=${name%:*}; fi
  if [[ $1 == *@* ]]; then which="digest: '${1#*@}'"; fi # which a tag beside it adds nothing to
  echo "{name: millrace, newName: '$name', $which}"
}

kustomize_env() {
  local each
  for each in "$@"; do
    cat <<Y
{target: {kind: Deployment, name: millrace-controller}, patch: '[{"op": "add",
  "path": "/spec/template/spec/containers/0/env/-", "value": {"name": "${each%%=*}", "value": "${each#*=}"}}]'},
Y
  done
}

# install_millrace IMAGE [VARIABLE=VALUE]...: CRDs and controller from manifests/,
# with that image and those variables in the controller's environment; of OVERLAY, or
# the one for one replica. Waits
# until the controller is ready (it has listed the CRDs' objects then), or shows why it is not.
install_millrace() {
  local dir=.build/install
  mkdir -p "$dir"
  cat >"$dir/kustomization.yaml" <<Y
apiVersion: kustomize.config.k8s.io/v1beta1
kind: Kustomization
resources: [../../manifests/overlays/${OVERLAY:-single}]
images: [$(kustomize_image "$1")]
patches: [$(kustomize_env "${@:2}")]
Y
  kubectl apply -k "$dir" | sed 's/^/       /'
  say "waiting for the controller to be ready (for five minutes at most)"
  if ! kubectl -n tekton-pipelines rollout status deployment/millrace-controller --timeout=300s >/dev/null; then
    kubectl -n tekton-pipelines get pods -o wide
    kubectl -n tekton-pipelines get events --sort-by=.lastTimestamp | tail -n 20
    kubectl -n tekton-pipelines logs deployment/millrace-controller --tail=50 || true
    die "the controller did not become ready"
  fi
}

uninstall_millrace() { kubectl delete --ignore-not-found -k .build/install --timeout=60s >/dev/null; }
