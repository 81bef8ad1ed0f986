# The MongoDB-compatible server: FerretDB on top of PostgreSQL with the DocumentDB extension. Both run with chroot in a
# folder that contains Debian sid, because the libc of Debian stable is too old for the extension. They run as the user
# postgres and communicate over a Unix socket: PostgreSQL has no TCP port. Nothing is mounted into the folder.

ferretdb_module=github.com/FerretDB/FerretDB/v2/cmd/ferretdb
ferretdb_version=v2.7.0
postgres_packages=postgresql-18,postgresql-18-documentdb
postgres_bin=/usr/lib/postgresql/18/bin
postgres_home=/var/lib/postgresql
postgres_data=$postgres_home/multihub
sid_stamp=multihub-packages

mongodb_uri() { printf 'mongodb://127.0.0.1:%s/?directConnection=true' "$(recorded_port ferretdb)"; }

install_ferretdb() { install_go_program ferretdb "$ferretdb_module" "$ferretdb_version"; }

install_postgres() {
  [ "$(cat "$sid_dir/$sid_stamp" 2>/dev/null)" = "$postgres_packages" ] && return
  install_debian_package mmdebstrap
  # The servers in the folder that is about to be replaced may be running.
  stop_mongodb
  run_step 'PostgreSQL with DocumentDB in a folder of Debian sid' "$network_hint" "$log_dir/install-sid.log" \
    with_retry build_debian_folder "$sid_dir" sid "$postgres_packages" "$sid_stamp"
}

as_postgres() { chroot --userspec=postgres:postgres "$sid_dir" "$@"; }

sql() { as_postgres "$postgres_bin/psql" -h "$postgres_home" -d postgres -qAt -v ON_ERROR_STOP=1 -c "$1"; }

# fsync stays on, so that a benchmark on this server includes the cost of durability. Concurrent writers of the same
# unique value deadlock in DocumentDB, and one of them is canceled per deadlock_timeout: with the default of one second,
# 16 writers take 15 s.
postgres_settings() {
  cat <<END
listen_addresses = ''
unix_socket_directories = '$postgres_home'
unix_socket_permissions = 0700
max_connections = 120
shared_buffers = 256MB
max_wal_size = 2GB
jit = off
deadlock_timeout = 10ms
dynamic_shared_memory_type = sysv
log_min_messages = log
log_min_error_statement = panic
log_error_verbosity = terse
shared_preload_libraries = 'pg_cron,pg_documentdb_core,pg_documentdb'
cron.database_name = 'postgres'
cron.host = '$postgres_home'
cron.log_run = off
cron.log_statement = off
documentdb.localhost_connection_string = 'host=$postgres_home'
END
}

# The data folder is renamed when it is complete: after a killed initdb, the next start runs it again.
create_database() {
  [ ! -e "$sid_dir$postgres_data" ] || return 0
  rm -rf "$sid_dir$postgres_data.new"
  as_postgres "$postgres_bin/initdb" -D "$postgres_data.new" --auth=trust --encoding=UTF8 --locale=C.UTF-8 &&
    mv "$sid_dir$postgres_data.new" "$sid_dir$postgres_data"
}

postgres_responds() { as_postgres "$postgres_bin/pg_isready" -q -t 2 -h "$postgres_home"; }

launch_postgres() {
  create_database || return
  postgres_settings >"$sid_dir$postgres_data/postgresql.conf"
  # stop_postgres has stopped all processes of this folder, so locks left by a kill -9 are stale. PostgreSQL would respect
  # them if another program or a zombie had the same process id.
  rm -f "$sid_dir$postgres_data/postmaster.pid" "$sid_dir$postgres_home"/.s.PGSQL.5432*
  launch postgres chroot --userspec=postgres:postgres "$sid_dir" "$postgres_bin/postgres" -D "$postgres_data"
  wait_until 60 ready_or_exited "$launched_pid" postgres_responds && ! has_exited "$launched_pid" &&
    sql 'create extension if not exists documentdb cascade' || print_start_failure postgres
}

# The ping ignores TERM while it waits for FerretDB, so KILL ends it. The braces keep bash from reporting the kill.
ferretdb_responds() {
  { timeout -s KILL 5 "$bin_dir/ferretdb" ping --no-auth --listen-addr="127.0.0.1:$1"; } >/dev/null 2>&1
}

launch_ferretdb() {
  local port tries
  mkdir -p "$sid_dir/var/lib/ferretdb" && chroot "$sid_dir" chown postgres:postgres /var/lib/ferretdb || return
  ln -f "$bin_dir/ferretdb" "$sid_dir/usr/local/bin/ferretdb" || return
  for tries in 1 2 3; do
    port=$(choose_port ferretdb) || return
    launch ferretdb chroot --userspec=postgres:postgres "$sid_dir" /usr/local/bin/ferretdb \
      --postgresql-url="postgres://postgres@/postgres?host=$postgres_home&pool_max_conns=64" \
      --listen-addr="127.0.0.1:$port" --debug-addr=- --state-dir=/var/lib/ferretdb --no-auth --telemetry=disable \
      --log-level=WARN
    wait_until 30 ready_or_exited "$launched_pid" ferretdb_responds "$port" && ! has_exited "$launched_pid" && return
    stop_ferretdb
    rm -f "$run_dir/ferretdb.port"
  done
  print_start_failure ferretdb
}

# FerretDB forwards a ping to PostgreSQL, so a response proves that both work.
mongodb_is_healthy() {
  recorded_pid postgres >/dev/null && recorded_pid ferretdb >/dev/null && ferretdb_responds "$(recorded_port ferretdb)"
}

stop_ferretdb() {
  local pid
  if pid=$(recorded_pid ferretdb); then end_process "$pid" 10 TERM; fi
  for pid in $(pids_of_program "$sid_dir/usr/local/bin/ferretdb*"); do end_process "$pid" 5; done
  rm -f "$run_dir/ferretdb.pid"
}

# INT is the fast shutdown of PostgreSQL, QUIT the one without a checkpoint. Children that survive a killed server keep
# its shared memory, and PostgreSQL would then refuse to start: they are killed too.
stop_postgres() {
  local pid
  if pid=$(recorded_pid postgres); then end_process "$pid" 30 INT QUIT; fi
  wait_until 3 no_postgres_left || for pid in $(postgres_pids); do end_process "$pid" 5; done
  rm -f "$run_dir/postgres.pid"
}

postgres_pids() { pids_of_program "$sid_dir$postgres_bin/postgres*"; }

no_postgres_left() { [ -z "$(postgres_pids)" ]; }

stop_mongodb() { stop_ferretdb && stop_postgres; }
