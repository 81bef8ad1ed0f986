# Processes and ports. A process is known by its id AND its start time, so that a stale file never points at a
# stranger that got the same id later. Nothing here ever looks for a process by its name.

# started_at PID: the start time in clock ticks; nothing for a dead process or a zombie.
started_at() {
  local stat
  read -r stat 2>/dev/null <"/proc/$1/stat" || return 0
  set -- ${stat##*) }
  [ "$1" = Z ] || printf '%s' "${20}"
}

# recorded_pid NAME: the id of the server if it is still the process that was started under that name.
recorded_pid() {
  local pid started
  read -r pid started 2>/dev/null <"$run_dir/$1.pid" || return 1
  [ -n "$started" ] && [ "$(started_at "$pid")" = "$started" ] && printf '%s' "$pid"
}

is_gone() { [ -z "$(started_at "$1")" ]; }

# launch NAME COMMAND...: starts a server in a session of its own. The new process writes its record before it
# becomes the server: no kill -9 of this script can leave one that is not recorded.
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

# ready_or_gone PID COMMAND...: ends the wait early when the process died; the caller then asks which it was.
ready_or_gone() {
  local pid=$1
  shift
  "$@" || is_gone "$pid"
}

# failed_start NAME: copies the end of a server's log to where its step writes; answers false.
failed_start() {
  echo "$1 did not start; the end of $log_dir/$1.log:"
  tail -n 20 "$log_dir/$1.log"
  return 1
}

# end_process PID SECONDS SIGNAL...: sends each signal in turn and gives it that time; last comes KILL. CONT follows
# each, for a process that a test has stopped with STOP.
end_process() {
  local pid=$1 seconds=$2 signal started
  started=$(started_at "$1")
  shift 2
  for signal in "$@" KILL; do
    [ -n "$started" ] && [ "$(started_at "$pid")" = "$started" ] || return 0
    kill -s "$signal" "$pid" 2>/dev/null
    kill -s CONT "$pid" 2>/dev/null
    wait_until "$seconds" is_gone "$pid" && return 0
  done
  say "process $pid does not end; it may hang in the kernel (state D in ps)"
  return 1
}

# pids_of_program FILE-PATTERN: ids of all processes that execute exactly this file of the servers folder.
pids_of_program() {
  find /proc -maxdepth 2 -name exe -lname "$1" -printf '%h\n' 2>/dev/null | sed 's#/proc/##' | grep -x '[0-9]*'
}

accepts() { (exec 3<>"/dev/tcp/127.0.0.1/$1") 2>/dev/null; }

# choose_port NAME: the port of the last time if it is free, so that addresses stay; else a random free one below
# the range that the kernel gives to outgoing connections.
choose_port() {
  local port='' tries
  read -r port 2>/dev/null <"$run_dir/$1.port"
  for tries in {1..50}; do
    if [ -n "$port" ] && ! accepts "$port"; then
      printf '%s\n' "$port" >"$run_dir/$1.port"
      printf '%s' "$port"
      return 0
    fi
    port=$((21000 + (RANDOM * 32768 + RANDOM) % 11000))
  done
  return 1
}

recorded_port() { cat "$run_dir/$1.port" 2>/dev/null; }
