# The MongoDB-compatible server: FerretDB in front of PostgreSQL with the DocumentDB extension. Both run by chroot in
# a folder that holds Debian sid (stable's libc is too old for the extension), as its user postgres, and talk by a
# Unix socket in it: PostgreSQL has no TCP port, and nothing of the machine is mounted into the folder.

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
  # The folder that is about to be replaced may be running.
  stop_mongodb
  step 'PostgreSQL with DocumentDB in a folder of Debian sid' "$network_hint" "$log_dir/install-sid.log" \
    twice build_debian_folder "$sid_dir" sid "$postgres_packages" "$sid_stamp"
}

as_postgres() { chroot --userspec=postgres:postgres "$sid_dir" "$@"; }

sql() { as_postgres "$postgres_bin/psql" -h "$postgres_home" -d postgres -qAt -v ON_ERROR_STOP=1 -c "$1"; }

# fsync stays on: a benchmark on this server pays for durability as on a real one. Writers that race for one unique
# value deadlock here, and one of them is given up each deadlock_timeout: with the usual second, 16 take 15 s.
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

# The data folder gets its name when it is whole: a killed initdb is done again.
create_database() {
  [ ! -e "$sid_dir$postgres_data" ] || return 0
  rm -rf "$sid_dir$postgres_data.new"
  as_postgres "$postgres_bin/initdb" -D "$postgres_data.new" --auth=trust --encoding=UTF8 --locale=C.UTF-8 &&
    mv "$sid_dir$postgres_data.new" "$sid_dir$postgres_data"
}

postgres_answers() { as_postgres "$postgres_bin/pg_isready" -q -t 2 -h "$postgres_home"; }

launch_postgres() {
  create_database || return
  postgres_settings >"$sid_dir$postgres_data/postgresql.conf"
  # No process of this folder runs now (stop_postgres saw to it), so locks left by a kill -9 are stale. PostgreSQL
  # itself would keep them while their process id is that of a zombie or of another program.
  rm -f "$sid_dir$postgres_data/postmaster.pid" "$sid_dir$postgres_home"/.s.PGSQL.5432*
  launch postgres chroot --userspec=postgres:postgres "$sid_dir" "$postgres_bin/postgres" -D "$postgres_data"
  wait_until 60 ready_or_gone "$launched_pid" postgres_answers && ! is_gone "$launched_pid" &&
    sql 'create extension if not exists documentdb cascade' || failed_start postgres
}

# The ping holds out against TERM when FerretDB is silent. The braces keep bash from reporting the kill.
ferretdb_answers() {
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
    wait_until 30 ready_or_gone "$launched_pid" ferretdb_answers "$port" && ! is_gone "$launched_pid" && return
    stop_ferretdb
    rm -f "$run_dir/ferretdb.port"
  done
  failed_start ferretdb
}

# A ping goes through FerretDB to PostgreSQL and back: an answer proves both.
mongodb_is_well() {
  recorded_pid postgres >/dev/null && recorded_pid ferretdb >/dev/null && ferretdb_answers "$(recorded_port ferretdb)"
}

stop_ferretdb() {
  local pid
  if pid=$(recorded_pid ferretdb); then end_process "$pid" 10 TERM; fi
  for pid in $(pids_of_program "$sid_dir/usr/local/bin/ferretdb*"); do end_process "$pid" 5; done
  rm -f "$run_dir/ferretdb.pid"
}

# INT is PostgreSQL's fast shutdown, QUIT the one without a checkpoint. Children that outlive a killed server would
# hold its shared memory, and the next start would be refused: they are ended too.
stop_postgres() {
  local pid
  if pid=$(recorded_pid postgres); then end_process "$pid" 30 INT QUIT; fi
  wait_until 3 no_postgres_left || for pid in $(postgres_pids); do end_process "$pid" 5; done
  rm -f "$run_dir/postgres.pid"
}

postgres_pids() { pids_of_program "$sid_dir$postgres_bin/postgres*"; }

no_postgres_left() { [ -z "$(postgres_pids)" ]; }

stop_mongodb() { stop_ferretdb && stop_postgres; }
