# NATS: one static program, built with Go. It runs without JetStream, so it stores no data.

nats_module=github.com/nats-io/nats-server/v2
nats_version=v2.15.2
nats_name=multihub-shared
nats_url() { printf 'nats://127.0.0.1:%s' "$(recorded_port nats)"; }

install_nats() { install_go_program nats-server "$nats_module" "$nats_version"; }

nats_responds() {
  local greeting
  # The redirection of the whole subshell suppresses the message of bash about a refused connection.
  greeting=$( (exec 3<>"/dev/tcp/127.0.0.1/$1" && read -r -t 2 line <&3 && printf '%s' "$line") 2>/dev/null)
  [[ $greeting == INFO* ]]
}

nats_is_healthy() { recorded_pid nats >/dev/null && nats_responds "$(recorded_port nats)"; }

launch_nats() {
  local port tries
  for tries in 1 2 3; do
    port=$(choose_port nats) || return
    launch nats "$bin_dir/nats-server" --name "$nats_name" --addr 127.0.0.1 --port "$port"
    wait_until 20 ready_or_exited "$launched_pid" nats_responds "$port" && ! has_exited "$launched_pid" && return
    stop_nats
    rm -f "$run_dir/nats.port"
  done
  print_start_failure nats
}

# Tests start other nats-servers from the same file. The server name identifies the shared one if its record is lost.
stop_nats() {
  local pid
  if pid=$(recorded_pid nats); then end_process "$pid" 10 TERM; fi
  for pid in $(pids_of_program "$bin_dir/nats-server*"); do
    ! grep -qzxF "$nats_name" "/proc/$pid/cmdline" || end_process "$pid" 10 TERM
  done
  rm -f "$run_dir/nats.pid"
}
