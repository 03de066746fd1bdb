# shellcheck shell=bash
# What the clusters of one machine share; sourced after lib.sh. A kubelet sets
# some of the kernel's switches machine-wide, and three mount points have fixed
# names. The first cluster notes how things were, the last one puts them back.

run=/run/millrace-devcluster
switches=(vm/overcommit_memory vm/panic_on_oom kernel/panic kernel/panic_on_oops)
mount_points=(/tmp/hostpath_pv /var/lib/cni /var/lib/kubelet)

# machine_join enters this cluster in the register: its node's process.
machine_join() {
  mkdir -p "$run/clusters"
  exec 8>"$run/lock"
  flock 8
  if [ -z "$(others)" ] && ! [ -e "$run/clusters/$id" ]; then
    local switch
    for switch in "${switches[@]}"; do
      echo "$switch $(cat "/proc/sys/$switch")"
    done >"$run/switches"
    : >"$run/mount_points"
  fi
  local dir
  for dir in "${mount_points[@]}"; do
    [ -d "$dir" ] || { mkdir -p "$dir" && echo "$dir" >>"$run/mount_points"; }
  done
  : >"$run/clusters/$id"
  exec 8>&-
}

# machine_note writes down the process that shows this cluster to be alive.
machine_note() { cp "$state/pid/node" "$run/clusters/$id"; }

# machine_leave takes this cluster out of the register and, when it was the
# last, puts the machine back as it was.
machine_leave() {
  [ -e "$run/clusters/$id" ] || return 0
  exec 8>"$run/lock"
  flock 8
  rm -f "$run/clusters/$id"
  if [ -z "$(others)" ]; then
    local switch value dir
    while read -r switch value; do echo "$value" >"/proc/sys/$switch"; done <"$run/switches"
    while read -r dir; do rmdir "$dir" 2>/dev/null || true; done <"$run/mount_points"
    rm -rf "$run"
  fi
  exec 8>&-
}

# others prints the other clusters whose node is alive, or is being started.
others() {
  local file pid start
  for file in "$run"/clusters/*; do
    [ -e "$file" ] && [ "${file##*/}" != "$id" ] || continue
    read -r pid start <"$file" || { echo "$file" && continue; }
    [ "$(started_at "$pid")" != "$start" ] || echo "$file"
  done
}
