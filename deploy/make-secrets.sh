#!/usr/bin/env bash
# Makes the secrets of a new system, with new keys, either as manifests or as files:
#
#   MONGODB_URI=... NATS_URL=... deploy/make-secrets.sh kubernetes    # .local/secrets.yaml
#   deploy/make-secrets.sh compose          # below .local/compose, for docker-compose.yml
#
# Run it once and keep the result: without the master keys nothing that was stored can be decrypted. So it never replaces
# a result, which no other user of this machine can read. Each role,
# migrate, and backup can have its own user of MongoDB: MONGODB_URI_PAYMENTS=... is used by payments instead of MONGODB_URI.
# Only migrate needs to create collections and indexes, and backup only reads. So can each role but the sandbox have its own
# user of NATS (NATS_URL_PAYMENTS=...), with the subjects of deploy/nats.conf.
set -euo pipefail
umask 077

callers=(attachments balances gateway merchants notifier operator payments support)
nats_users=(attachments balances gateway merchants notifier payments support)
database_users=(attachments backup balances gateway merchants migrate notifier payments sandbox support)
key() { openssl rand -hex 32; }
sha256() { printf %s "$1" | openssl dgst -sha256 -r | cut -d' ' -f1; }

fail() { echo "$1" >&2; exit 1; }

# need_url NAME SCHEMES: ends the script when the variable has no URL of these schemes.
need_url() {
  [[ ${!1:-} =~ ^($2)://[^[:space:][:cntrl:]]+$ ]] || fail "$1 is missing or is not a URL that begins with ${2/|/:// or }://"
}

need_urls() {
  local name own
  for name in "${nats_users[@]}"; do
    own=NATS_URL_${name^^}
    [ -n "${!own:-}" ] || own=NATS_URL
    need_url "$own" 'nats|tls'
  done
  for name in "${database_users[@]}"; do
    own=MONGODB_URI_${name^^}
    [ -n "${!own:-}" ] || own=MONGODB_URI
    need_url "$own" 'mongodb|mongodb\+srv'
  done
}

# put SECRET KEY VALUE: one entry. Each format has its own.
put_manifest() {
  [ "$1" = "${current:-}" ] || printf -- '---\napiVersion: v1\nkind: Secret\nmetadata: { name: %s }\nstringData:\n' "$1"
  current=$1
  printf "  %s: '%s'\n" "$2" "${3//\'/\'\'}"
}
put_file() {
  mkdir -p "$folder/$1"
  # The user of the containers reads the file; the folder above keeps everybody else out.
  printf %s "$3" >"$folder/$1/$2" && chmod 644 "$folder/$1/$2"
}

make() {
  local put=$1 name own token hashes=''
  "$put" multihub master-keys "$(date +%Y%m):$(key)"
  "$put" multihub sandbox-key "$(key)"
  "$put" multihub nats-url "${NATS_URL:-}"
  for name in "${nats_users[@]}"; do
    own=NATS_URL_${name^^}
    "$put" multihub-nats "$name" "${!own:-${NATS_URL:-}}"
  done
  for name in "${database_users[@]}"; do
    own=MONGODB_URI_${name^^}
    "$put" multihub-mongodb "$name" "${!own:-${MONGODB_URI:-}}"
  done
  for name in "${callers[@]}"; do
    token=$(key)
    hashes+=${hashes:+,}$name:$(sha256 "$token")
    "$put" multihub-rpc "$name" "$token"
  done
  "$put" multihub-rpc callers "$hashes"
}

case ${1:-} in
  kubernetes)
    file=.local/secrets.yaml
    need_urls
    [ ! -e "$file" ] || fail "$file is there already, with the keys of a system: move it away first"
    mkdir -p .local
    make put_manifest >"$file.part"
    mv "$file.part" "$file"
    ;;
  compose)
    folder=.local/compose
    database_users=(migrate roles) # one user for all roles
    mkdir -p .local
    mkdir "$folder" || fail "$folder is there already, with the keys of a system: move it away first"
    for name in "${nats_users[@]}"; do
      # Of letters alone, because the server reads digits as a number.
      password=$(key | tr 0-9 g-p)
      printf 'NATS_PASSWORD_%s=%s\n' "${name^^}" "$password" >>"$folder/nats-passwords"
      declare "NATS_URL_${name^^}=nats://$name:$password@nats:4222"
    done
    MONGODB_URI='mongodb://mongodb:27017/?replicaSet=rs' make put_file
    # Compose reads this file itself, for the one value that is no secret.
    printf 'MULTIHUB_RPC_CALLERS=%s\n' "$(cat "$folder/multihub-rpc/callers")" >"$folder/settings"
    ;;
  *) fail 'usage: deploy/make-secrets.sh kubernetes | compose' ;;
esac
