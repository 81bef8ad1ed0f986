# Processes and ports. A process is identified by its id AND its start time, because another process can get the same id
# later. No function finds a process by its name.

# started_at PID: prints the start time in clock ticks; nothing for an exited process or a zombie.
started_at() {
  local stat
  read -r stat 2>/dev/null <"/proc/$1/stat" || return 0
  set -- ${stat##*) }
  [ "$1" = Z ] || printf '%s' "${20}"
}

# recorded_pid NAME: prints the process id of the server; fails when that process is not running any more.
recorded_pid() {
  local pid started
  read -r pid started 2>/dev/null <"$run_dir/$1.pid" || return 1
  [ -n "$started" ] && [ "$(started_at "$pid")" = "$started" ] && printf '%s' "$pid"
}

has_exited() { [ -z "$(started_at "$1")" ]; }

# launch NAME COMMAND...: starts a server in its own session. The new process records its id before it executes the
# server, so that a kill -9 of this script cannot leave an unrecorded server.
launch() {
  local name=$1
  shift
  [ ! -e "$log_dir/$name.log" ] || mv -f "$log_dir/$name.log" "$log_dir/$name.log.old"
  (
    own_pid=$BASHPID
    printf '%s %s\n' "$own_pid" "$(started_at "$own_pid")" >"$run_dir/$name.pid"
    cd / || exit 1
    exec setsid env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin LANG=C.UTF-8 "$@"
  ) </dev/null >"$log_dir/$name.log" 2>&1 9>&- &
  launched_pid=$!
}

# ready_or_exited PID COMMAND...: succeeds when the command succeeds or the process has exited, to end a wait early. The
# caller then checks which of the two happened.
ready_or_exited() {
  local pid=$1
  shift
  "$@" || has_exited "$pid"
}

# print_start_failure NAME: prints the end of the log of a server. Returns 1.
print_start_failure() {
  echo "$1 did not start; the end of $log_dir/$1.log:"
  tail -n 20 "$log_dir/$1.log"
  return 1
}

# end_process PID SECONDS SIGNAL...: sends the signals one after the other, then KILL, and waits up to SECONDS after each.
# Each is followed by CONT, because a test may have stopped the process with STOP.
end_process() {
  local pid=$1 seconds=$2 signal started
  started=$(started_at "$1")
  shift 2
  for signal in "$@" KILL; do
    [ -n "$started" ] && [ "$(started_at "$pid")" = "$started" ] || return 0
    kill -s "$signal" "$pid" 2>/dev/null
    kill -s CONT "$pid" 2>/dev/null
    wait_until "$seconds" has_exited "$pid" && return 0
  done
  log "process $pid does not exit; it may hang in the kernel (state D in ps)"
  return 1
}

# pids_of_program FILE-PATTERN: prints the ids of all processes that execute this file of the servers folder.
pids_of_program() {
  find /proc -maxdepth 2 -name exe -lname "$1" -printf '%h\n' 2>/dev/null | sed 's#/proc/##' | grep -x '[0-9]*'
}

port_is_open() { (exec 3<>"/dev/tcp/127.0.0.1/$1") 2>/dev/null; }

# choose_port NAME: prints the previous port if it is free, so that the address stays the same; otherwise a random free
# port below the range that the kernel uses for outgoing connections.
choose_port() {
  local port='' tries
  read -r port 2>/dev/null <"$run_dir/$1.port"
  for tries in {1..50}; do
    if [ -n "$port" ] && ! port_is_open "$port"; then
      printf '%s\n' "$port" >"$run_dir/$1.port"
      printf '%s' "$port"
      return 0
    fi
    port=$((21000 + (RANDOM * 32768 + RANDOM) % 11000))
  done
  return 1
}

recorded_port() { cat "$run_dir/$1.port" 2>/dev/null; }
