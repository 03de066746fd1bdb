# shellcheck shell=bash
# What the scripts of devcluster share; it is sourced, never run. It reads
#
#   NAME   which cluster (default dev); each has a folder of its own
#   STATE  where those folders are (default .state beside this file)
#
# and sets the paths below. Nothing outside of them is written, but for
# /run/millrace-devcluster, which the clusters of one machine share (machine.sh).

export NAME=${NAME:-dev}
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
build=$here/.build
bin=$build/bin
export STATE
STATE=$(realpath -m "${STATE:-$here/.state}")
state=$STATE/$NAME
# Names that a machine has only once (the cgroup, the register) come from the folder.
id=$(printf %s "$state" | sha256sum | cut -c1-8)
cgroup=millrace-$id
# The parts of a cluster, in the order in which they are stopped.
parts=(kube-scheduler kube-controller-manager kube-apiserver etcd relay node)
export LC_ALL=C

started=$EPOCHREALTIME

# elapsed prints the seconds since this script started, as 12.3.
elapsed() {
  local us=$((${EPOCHREALTIME/./} - ${started/./}))
  printf '%d.%d' $((us / 1000000)) $((us / 100000 % 10))
}

say() { printf 'devcluster %s: %5ss  %s\n' "$NAME" "$(elapsed)" "$*"; }

die() {
  printf 'devcluster %s: %s\n' "$NAME" "$*" >&2
  exit 1
}

[[ $NAME =~ ^[a-z0-9][a-z0-9-]*$ ]] || die "NAME must be of lower-case letters, digits and dashes"

need_root() {
  [ "$(id -u)" = 0 ] || die "please run this as root: a node is made of namespaces, mounts and cgroups"
}

# wait_for SECONDS WHAT COMMAND... tries the command ten times a second. The seconds are for
# a slow machine with much else to do: what has not come by then will not.
wait_for() {
  local end=$((SECONDS + $1)) what=$2
  shift 2
  until "$@" >/dev/null 2>&1; do
    [ "$SECONDS" -lt "$end" ] || {
      printf 'devcluster %s: gave up waiting for %s; the logs are in %s\n' "$NAME" "$what" "$state/log" >&2
      return 1
    }
    sleep 0.1
  done
}

# A process is known by its id and its start time (proc(5), stat, field 22), so
# that an id which the kernel gave to another program is never taken for ours.
# started_at prints the start time of a process; nothing for one that is gone
# or a zombie: PID 1 of a container may take seconds to collect those.
started_at() {
  local stat
  stat=$(cat "/proc/$1/stat" 2>/dev/null) || return 0
  # the name, in parentheses, may hold spaces: count the fields after it
  # shellcheck disable=SC2086
  set -- ${stat##*) }
  case $1 in Z | X) ;; *) echo "${20}" ;; esac
}

# pid_of prints the id of a part that runs; it fails when the part does not run.
pid_of() {
  local pid start
  read -r pid start 2>/dev/null <"$state/pid/$1" || return 1
  [ -n "$start" ] && [ "$(started_at "$pid")" = "$start" ] && echo "$pid"
}

# start NAME COMMAND... runs the command apart from this script, its output in
# the log, unless it runs already.
start() {
  local name=$1
  shift
  ! pid_of "$name" >/dev/null || return 0
  # the locks that this script holds are not the child's
  setsid "$@" >>"$state/log/$name.log" 2>&1 </dev/null 8>&- 9>&- &
  echo "$! $(started_at $!)" >"$state/pid/$name"
}

# stop_all ends every part and waits until it and its cgroups are gone. They are killed, not
# asked: each of them is made to survive that, and asking the API server takes
# seconds for as long as someone watches.
stop_all() {
  local part pid
  for part in "${parts[@]}"; do
    if pid=$(pid_of "$part"); then
      # the node: PID 1 of its pid namespace, whose parent ends when the last process in there is gone
      [ "$part" != node ] || read -r pid <"/proc/$pid/task/$pid/children" || true
      kill -KILL "$pid" 2>/dev/null || true
      wait_for 60 "the end of $part" gone "$part"
    fi
    rm -f "$state/pid/$part"
  done
  # kubelet looks at each that it finds for 3 s, so a next node would start slowly
  wait_for 60 "the kernel to let go of the cgroups $cgroup" remove_cgroups
}

# remove_cgroups: one goes only when its last process is reaped.
remove_cgroups() {
  local dir
  cgroups | while read -r dir; do rmdir "$dir" || true; done
  [ -z "$(cgroups)" ]
}

cgroups() { find /sys/fs/cgroup -depth -type d -path "*/$cgroup*"; }

gone() { ! pid_of "$1"; }

# lock FILE waits for its turn; the lock ends with the script. (fd 9)
lock() {
  mkdir -p "$(dirname "$1")"
  exec 9>"$1"
  flock -n 9 || {
    say "waiting for another script that holds $1"
    flock 9
  }
}
