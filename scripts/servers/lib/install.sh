# Fetching: Go programs by the Go tool, Debian packages by apt's own configured mirror. No address is written here.

network_hint='is the network there? Run the same command again: what is done is not done twice'

# twice COMMAND...: a second try for what a hiccup of the network breaks.
twice() { "$@" || { sleep 3 && "$@"; }; }

# install_go_program NAME MODULE-PATH VERSION: into bin/, unless that version is there.
install_go_program() {
  local stamp=$bin_dir/$1.version
  [ "$(cat "$stamp" 2>/dev/null)" = "$3" ] && return
  command -v go >/dev/null || fail "go was not found, $1 is built with it" 'install Go 1.26 or later'
  step "$1 $3 built" "$network_hint" "$log_dir/install-$1.log" twice build_go_program "$1" "$2" "$3"
  printf '%s\n' "$3" >"$stamp"
}

# A running program cannot be written over, but its name can be given to another file: hence build, then rename.
build_go_program() {
  mkdir -p "$bin_dir/new" || return
  HOME=${HOME:-$servers_dir/home} CGO_ENABLED=0 GOBIN=$bin_dir/new go install "$2@$3" || return
  mv -f "$bin_dir/new/$1" "$bin_dir/$1"
}

# install_debian_package NAME: one that this machine's own Debian has.
install_debian_package() {
  local log=$log_dir/install-apt.log
  command -v "$1" >/dev/null && return
  command -v apt-get >/dev/null || fail 'apt-get was not found' 'use Debian, or set MONGODB_URI to a server of your own'
  export DEBIAN_FRONTEND=noninteractive
  apt_get install "$1" >>"$log" 2>&1 || {
    step 'package lists refreshed' "$network_hint" "$log" twice apt_get update
    step "$1 installed" "$network_hint" "$log" twice apt_get install "$1"
  }
}

apt_get() { apt-get --yes --no-install-recommends -o DPkg::Lock::Timeout=120 "$@"; }

# debian_mirror: the address from which this machine takes Debian itself; empty when apt knows none.
debian_mirror() {
  apt-get indextargets --format '$(REPO_URI)' 'Origin: Debian' 'Label: Debian' 'Created-By: Packages' | head -n 1
}

# build_debian_folder FOLDER SUITE PACKAGES STAMP: a Debian system in a folder, for chroot. It is built beside its
# place in a mount namespace of its own (a killed build leaves no mount) and renamed when it is whole.
build_debian_folder() {
  local folder=$1 suite=$2 packages=$3 stamp=$4 mirror name value
  local options=(--aptopt='Acquire::Check-Valid-Until "false"' --aptopt='Acquire::Retries "3"')
  mirror=${MULTIHUB_DEBIAN_MIRROR:-$(debian_mirror)}
  # An image without package lists: apt knows the addresses, but not yet which of them is Debian itself.
  [ -n "$mirror" ] || { apt_get update && mirror=$(debian_mirror); }
  [ -n "$mirror" ] || { echo 'apt names no Debian mirror; set MULTIHUB_DEBIAN_MIRROR'; return 1; }
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
