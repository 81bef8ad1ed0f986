# Shared by all commands of this folder: paths, progress and error messages, the lock.

export LC_ALL=C
PATH="$PATH:/usr/sbin:/sbin:/usr/local/go/bin"

project_dir=$(cd "$(dirname "${BASH_SOURCE[0]}")/../../.." && pwd -P)
servers_dir=$(realpath -m "${MULTIHUB_SERVERS_DIR:-$project_dir/.servers}")
bin_dir=$servers_dir/bin
run_dir=$servers_dir/run
log_dir=$servers_dir/log
sid_dir=$servers_dir/sid

log() { printf 'servers: %s\n' "$*" >&2; }

# fail WHAT HINT [LOG]: prints what failed and what to do, and the end of the log, and exits.
fail() {
  log "FAILED: $1"
  if [ -n "${3:-}" ] && [ -s "$3" ]; then
    log "the last lines of $3:"
    tail -n 20 "$3" | cut -c 1-300 | sed 's/^/  | /' >&2
  fi
  log "what to do: $2"
  exit 1
}

# seconds_since MICROSECONDS: seconds with one decimal.
seconds_since() {
  local tenths=$(((${EPOCHREALTIME/./} - $1) / 100000))
  printf '%d.%d' $((tenths / 10)) $((tenths % 10))
}

# run_step TITLE HINT LOG COMMAND...: runs a command, writes its output to the log and prints the time that it took.
run_step() {
  local title=$1 hint=$2 log=$3 began=${EPOCHREALTIME/./}
  shift 3
  "$@" >>"$log" 2>&1 || fail "$title (after $(seconds_since "$began") s)" "$hint" "$log"
  log "$title: $(seconds_since "$began") s"
}

# wait_until SECONDS COMMAND...: tries the command ten times per second. Returns 1 when the time is over.
wait_until() {
  local deadline=$((${EPOCHREALTIME/./} + $1 * 1000000))
  shift
  until "$@"; do
    [ "${EPOCHREALTIME/./}" -lt "$deadline" ] || return 1
    sleep 0.1
  done
}

need_root() {
  [ "$(uname -s)" = Linux ] || fail 'this system is not Linux' 'set MONGODB_URI and NATS_URL to your own servers'
  [ "$(id -u)" = 0 ] || fail 'root is needed (for chroot)' \
    'run it as root, or set MONGODB_URI and NATS_URL to your own servers'
}

# Two starts in parallel would start two servers on one data folder. File descriptor 9 holds the lock until this shell
# exits; servers do not inherit it.
take_lock() {
  mkdir -p "$bin_dir" "$run_dir" "$log_dir" || fail "cannot write to $servers_dir" 'set MULTIHUB_SERVERS_DIR'
  exec 9>"$servers_dir/lock"
  flock --nonblock 9 && return
  log 'another install, start or stop is running in this folder: waiting for it'
  flock --wait 900 9 || fail 'another install, start or stop still holds the lock after 900 s' \
    "find the process with: fuser $servers_dir/lock"
}
