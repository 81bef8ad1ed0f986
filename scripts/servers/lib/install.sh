# Installs Go programs with the Go tool, and Debian packages from the mirror that apt is configured with. This file
# contains no addresses.

network_hint='check the network and run the same command again; it continues where it stopped'

# with_retry COMMAND...: runs the command a second time if it fails, because of short network failures.
with_retry() { "$@" || { sleep 3 && "$@"; }; }

# install_go_program NAME MODULE-PATH VERSION: installs into bin/, unless that version is there already.
install_go_program() {
  local stamp=$bin_dir/$1.version
  [ "$(cat "$stamp" 2>/dev/null)" = "$3" ] && return
  command -v go >/dev/null || fail "go was not found; it is needed to build $1" 'install Go 1.26 or later'
  run_step "$1 $3 built" "$network_hint" "$log_dir/install-$1.log" with_retry build_go_program "$1" "$2" "$3"
  printf '%s\n' "$3" >"$stamp"
}

# The file of a running program cannot be overwritten but can be replaced by a rename: build first, then rename.
build_go_program() {
  mkdir -p "$bin_dir/new" || return
  HOME=${HOME:-$servers_dir/home} CGO_ENABLED=0 GOBIN=$bin_dir/new go install "$2@$3" || return
  mv -f "$bin_dir/new/$1" "$bin_dir/$1"
}

# install_debian_package PROGRAM [PACKAGE]: installs a package of this machine's Debian release, unless the program is there.
install_debian_package() {
  local log=$log_dir/install-apt.log package=${2:-$1}
  command -v "$1" >/dev/null && return
  command -v apt-get >/dev/null || fail 'apt-get was not found' 'use Debian, or set MONGODB_URI to your own server'
  export DEBIAN_FRONTEND=noninteractive
  apt_get install "$package" >>"$log" 2>&1 || {
    run_step 'package lists refreshed' "$network_hint" "$log" with_retry apt_get update
    run_step "$package installed" "$network_hint" "$log" with_retry apt_get install "$package"
  }
}

apt_get() { apt-get --yes --no-install-recommends -o DPkg::Lock::Timeout=120 "$@"; }

# debian_mirror: prints the address of this machine's Debian mirror; nothing when apt has no package lists.
debian_mirror() {
  apt-get indextargets --format '$(REPO_URI)' 'Origin: Debian' 'Label: Debian' 'Created-By: Packages' | head -n 1
}

# build_debian_folder FOLDER SUITE PACKAGES STAMP: builds a Debian system in a folder, for chroot. It is built as
# FOLDER.new in a separate mount namespace (a killed build leaves no mounts) and renamed when it is complete.
build_debian_folder() {
  local folder=$1 suite=$2 packages=$3 stamp=$4 mirror name value
  local options=(--aptopt='Acquire::Check-Valid-Until "false"' --aptopt='Acquire::Retries "3"')
  mirror=${MULTIHUB_DEBIAN_MIRROR:-$(debian_mirror)}
  # On an image without package lists, apt does not know yet which of its addresses is the Debian mirror.
  [ -n "$mirror" ] || { apt_get update && mirror=$(debian_mirror); }
  [ -n "$mirror" ] || { echo 'apt has no Debian mirror configured; set MULTIHUB_DEBIAN_MIRROR'; return 1; }
  while IFS=' ' read -r name value; do
    options+=("--aptopt=$name $value")
  done < <(apt-config dump --no-empty Acquire::http::Proxy Acquire::https::Proxy)
  rm -rf --one-file-system "$folder.new" || return
  unshare --mount mmdebstrap --mode=root --variant=minbase "${options[@]}" \
    --dpkgopt='path-exclude=/usr/share/man/*' --dpkgopt='path-exclude=/usr/share/locale/*' \
    --essential-hook='mkdir -p "$1/etc/postgresql-common"' \
    --essential-hook='echo "create_main_cluster = false" >"$1/etc/postgresql-common/createcluster.conf"' \
    --include="$packages" "$suite" "$folder.new" "$mirror" || return
  printf '%s\n' "$packages" >"$folder.new/$stamp"
  rm -rf --one-file-system "$folder" && mv "$folder.new" "$folder"
}
