# clamd, the virus scanner of uploaded files. Its Debian packages are unpacked into a folder and not installed, so that no
# daemon starts and nothing else changes on this machine. Tests start it themselves, with a database of test signatures.

clamd_dir=$servers_dir/clamd

install_clamd() {
  [ -x "$bin_dir/clamd" ] && return
  command -v apt-get >/dev/null || fail 'apt-get was not found' 'use Debian, or put clamd on PATH'
  run_step 'clamd' "$network_hint" "$log_dir/install-clamd.log" with_retry unpack_clamd
}

# Only the packages that this machine does not have are downloaded: clamd and those of its libraries that are missing.
unpack_clamd() {
  local installed package
  installed=$(command -v clamd) && { write_clamd_command "$installed"; return; }
  rm -rf "$clamd_dir" && mkdir -p "$clamd_dir/archives/partial" || return
  download_clamd || { apt_get update && download_clamd; } || return
  for package in "$clamd_dir"/archives/*.deb; do
    dpkg-deb --extract "$package" "$clamd_dir" || return
  done
  rm -rf "$clamd_dir/archives"
  write_clamd_command "$clamd_dir/usr/sbin/clamd"
}

download_clamd() {
  apt_get --download-only -o "Dir::Cache::archives=$clamd_dir/archives" install clamav-daemon
}

# The command is written last: an install that was interrupted is repeated.
write_clamd_command() {
  local libraries
  # Some packages of Debian have their libraries in /lib.
  libraries=$(find "$clamd_dir/usr/lib" "$clamd_dir/lib" -maxdepth 1 -name '*-linux-gnu*' 2>/dev/null | paste -sd :)
  mkdir -p "$bin_dir" &&
    printf '#!/bin/sh\nLD_LIBRARY_PATH=%s exec %s "$@"\n' "$libraries" "$1" >"$bin_dir/clamd.new" &&
    chmod +x "$bin_dir/clamd.new" && mv "$bin_dir/clamd.new" "$bin_dir/clamd"
}
