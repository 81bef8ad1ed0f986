#!/usr/bin/env bash
# Makes the secrets of a new system, with new keys, either as manifests or as files:
#
#   MONGODB_URI=... NATS_URL=... deploy/make-secrets.sh kubernetes    # .local/secrets.yaml
#   deploy/make-secrets.sh compose          # below .local/compose, for docker-compose.yml
#
# Run it once and keep the result: without the master keys nothing that was stored can be decrypted. So it never replaces
# a result, which no other user of this machine can read. Each role gets the keys of its purposes, derived from the master key.
#
# Each role, migrate, and backup has its own user of MongoDB where MONGODB_URI names none: their names and passwords are new, and
# database-users.js in the same folder creates those that are missing. A MONGODB_URI with a user is used as it is; MONGODB_URI_PAYMENTS=... is used by payments
# instead of it. Only migrate needs to create collections and indexes, and backup only reads. The same holds for NATS_URL: each role but the
# sandbox and the back office has its own user of NATS, and nats-passwords in the same folder is the environment of a server with
# deploy/nats.conf. The script prints which role has which user, and warns of a user of several roles.
#
# For Kubernetes it makes an authority, .local/authority.key and .local/authority.crt, and a certificate for each role, for the names in the namespace
# NAMESPACE (multihub). CERTIFICATES=none leaves them out, for cert-manager. They are valid for a year. This prints new ones,
# and those of more callers, such as a team named reports. Processes use them without a restart:
#
#   deploy/make-secrets.sh certificates kubernetes [reports ...]
#
# After a change of the master keys, it derives the keys of the roles again. KEPT_KEYS are former master keys that the ledger and
# the audit trail still verify with:
#
#   MULTIHUB_MASTER_KEYS=... MULTIHUB_ACTIVE_KEY=... KEPT_KEYS=... deploy/make-secrets.sh keys kubernetes   # prints manifests
#   MULTIHUB_MASTER_KEYS=... MULTIHUB_ACTIVE_KEY=... KEPT_KEYS=... deploy/make-secrets.sh keys compose      # replaces the files

# Whatever fails ends the script, also in a substitution that is assigned. Bash sees no failure in an argument, or where && or || follows.
set -euo pipefail
shopt -s inherit_errexit
umask 077

callers=(attachments backoffice balances gateway merchants notifier payments support)
nats_users=(attachments balances gateway merchants notifier payments support)
databases=(attachments backoffice balances gateway merchants notifier payments sandbox support)
database_users=(backup migrate "${databases[@]}")
system=${MULTIHUB_SYSTEM_NAME:-multihub}
namespace=${NAMESPACE:-multihub}
key() { openssl rand -hex 32; }
sha256() { printf %s "$1" | openssl dgst -sha256 -r | cut -d' ' -f1; }

fail() { echo "$1" >&2; exit 1; }

# What the keys of each role, and of the commands that have no master key, are for: KEY_PURPOSES of lib/role/role.ts.
declare -A purposes=(
  [attachments]=link
  [backoffice]='audit cursor session'
  [backup]=journal
  [balances]=journal
  [gateway]='credential webhook link'
  [merchants]='credential endpoint'
  [notifier]='endpoint webhook event_payments event_support receipt person'
  [payments]='event_payments receipt person search'
  [support]='cursor event_support receipt search'
  [verify]='credential journal audit'
)
# Their old keys still verify what they have signed.
kept_purposes=' audit journal '

# hex_digest BYTES: SHA-256 of bytes that are given as hexadecimal digits. No key is ever an argument of another program.
hex_digest() {
  local at bytes='' digest
  for ((at = 0; at < ${#1}; at += 2)); do bytes+="\\x${1:at:2}"; done
  digest=$(printf "$bytes" | openssl dgst -sha256 -r)
  printf %s "${digest:0:64}"
}

# hmac KEY BYTES: HMAC-SHA-256, all as hexadecimal digits.
hmac() {
  local at byte digits inner='' outer=''
  for ((at = 0; at < 128; at += 2)); do
    byte=${1:at:2}
    printf -v digits %02x $((16#${byte:-0} ^ 0x36))
    inner+=$digits
    printf -v digits %02x $((16#${byte:-0} ^ 0x5c))
    outer+=$digits
  done
  inner=$(hex_digest "$inner$2")
  hex_digest "$outer$inner"
}

# HKDF-SHA-256 without a salt, as lib/base/crypto/keys.ts derives, has two steps. extract_keys does the first one for all master keys.
declare -A extracted=()
extract_keys() {
  local one list=$master_keys${KEPT_KEYS:+,$KEPT_KEYS}
  for one in ${list//,/ }; do extracted[$one]=$(hmac '' "${one#*:}"); done
}

# expand KEY PURPOSE: the second step.
expand() {
  local at digits purpose=''
  for ((at = 0; at < ${#2}; at += 1)); do
    printf -v digits %02x "'${2:at:1}"
    purpose+=$digits
  done
  hmac "$1" "${purpose}01"
}

# derived_list PURPOSE: the keys of a purpose from all master keys, purpose.id:key with commas between them.
derived_list() {
  local one key list=$master_keys result=''
  [[ $kept_purposes != *" $1 "* ]] || list+=${KEPT_KEYS:+,$KEPT_KEYS}
  for one in ${list//,/ }; do
    key=$(expand "${extracted[$one]}" "$1")
    result+=${result:+,}$1.${one%%:*}:$key
  done
  printf %s "$result"
}

# check_keys: ends the script for keys that processes do not take. A key that lost a digit would derive others than the whole key.
check_keys() {
  local one id ids=' ' list=$master_keys${KEPT_KEYS:+,$KEPT_KEYS}
  for one in ${list//,/ }; do
    id=${one%%:*}
    [[ $one =~ ^[A-Za-z0-9_-]{1,32}:[0-9a-f]{64}$ ]] ||
      fail 'MULTIHUB_MASTER_KEYS and KEPT_KEYS take keys id:64-hex-digits with commas between them'
    [[ $ids != *" $id "* ]] || fail "two keys have the id $id"
    ids+="$id "
  done
  [[ ,${master_keys// /} == *",$active_key:"* ]] || fail "MULTIHUB_ACTIVE_KEY is $active_key, which is no id of a master key"
}

# put_keys PUT: the master keys and what is derived from them.
put_keys() {
  local put=$1 name names purpose list
  local -A derived=()
  check_keys
  extract_keys
  for name in "${!purposes[@]}"; do
    for purpose in ${purposes[$name]}; do derived[$purpose]=${derived[$purpose]:-$(derived_list "$purpose")}; done
  done
  "$put" multihub-master master-keys "$master_keys"
  names=$(printf '%s\n' "${!purposes[@]}" | sort)
  for name in $names; do
    list=''
    for purpose in ${purposes[$name]}; do list+=${list:+,}${derived[$purpose]}; done
    "$put" multihub-keys "$name" "$list"
  done
  "$put" multihub-keys active "$active_key"
}

create_missing_user="function createMissingUser(user) {
  const admin = db.getSiblingDB('admin')
  if (admin.getUser(user.user) === null) admin.createUser(user)
}
function createMissingRole(role) {
  const admin = db.getSiblingDB('admin')
  if (admin.getRole(role.role) === null) admin.createRole(role)
}"

# A backup writes nothing but the record of its own run.
record_runs_role="createMissingRole({ role: '${system}_record_runs', roles: [], privileges: [
  { resource: { db: '${system}_backoffice', collection: 'operation_runs' }, actions: ['find', 'insert', 'update', 'remove'] },
] })"

# database_uri USER: MONGODB_URI with a user of its own, who is added to the script that creates them.
database_uri() {
  local password database roles=''
  if [[ $MONGODB_URI == *@* ]]; then printf %s "$MONGODB_URI"; return; fi
  password=$(key)
  for database in "${databases[@]}"; do
    case $1 in
      migrate) roles+="{ role: 'readWrite', db: '${system}_$database' }, { role: 'dbAdmin', db: '${system}_$database' }, " ;;
      backup)
        roles+="{ role: 'read', db: '${system}_$database' }, "
        [ "$database" != backoffice ] || roles+="{ role: '${system}_record_runs', db: 'admin' }, "
        ;;
      "$database") roles+="{ role: 'readWrite', db: '${system}_$database' }, " ;;
    esac
  done
  # A sharded cluster says there how the collections are sharded.
  roles+="{ role: 'read', db: 'config' }"
  [ -e "$users_file.part" ] || printf '%s\n' "$create_missing_user" "$record_runs_role" >"$users_file.part"
  echo "createMissingUser({ user: '${system}_$1', pwd: '$password', roles: [$roles] })" >>"$users_file.part"
  printf %s "${MONGODB_URI%%://*}://${system}_$1:$password@${MONGODB_URI#*://}"
}

# nats_url USER: NATS_URL with a user of its own, whose password is added to the environment of the server.
nats_url() {
  local password
  if [[ $NATS_URL == *@* ]]; then printf %s "$NATS_URL"; return; fi
  # Of letters alone, because the server reads digits as a number.
  password=$(key | tr 0-9 g-p)
  printf 'NATS_PASSWORD_%s=%s\n' "${1^^}" "$password" >>"$passwords_file.part"
  printf %s "${NATS_URL//:\/\//://$1:$password@}"
}

# user_of URL: the user that a URL names, without the password. A token of NATS is a secret.
user_of() {
  local user=${1#*://}
  user=${user%%/*}
  if [[ $user != *@* ]]; then echo 'no user'
  elif [[ $1 != mongodb* && ${user%%@*} != *:* ]]; then echo 'a token'
  else user=${user%%@*}; printf '%s\n' "user ${user%%:*}"; fi
}

# report_users SERVER SETTING ROLE=URL...: prints which role has which user.
report_users() {
  local server=$1 setting=$2 one user
  local -A roles=()
  shift 2
  for one in "$@"; do
    user=$(user_of "${one#*=}")
    roles[$user]+=" ${one%%=*}"
  done
  for user in "${!roles[@]}"; do echo "$server, $user:${roles[$user]}"; done | sort
  for user in "${!roles[@]}"; do
    [[ ${roles[$user]# } != *' '* ]] ||
      echo "warning: $server, $user, serves several roles, so one that is taken over may do what all of them may: set ${setting}_ROLE, or $setting without a user"
  done
}

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
  if [ "$1" != "${current:-}" ]; then
    printf -- '---\napiVersion: v1\nkind: Secret\nmetadata: { name: %s }\n' "$1"
    [[ $1 != multihub-tls-* ]] || echo 'type: kubernetes.io/tls'
    echo stringData:
  fi
  current=$1
  if [[ $3 == *$'\n'* ]]; then printf '  %s: "%s"\n' "$2" "${3//$'\n'/\\n}"; else printf "  %s: '%s'\n" "$2" "${3//\'/\'\'}"; fi
}
put_file() {
  mkdir -p "$folder/$1"
  # The user of the containers reads the file; the folder above keeps everybody else out.
  printf %s "$3" >"$folder/$1/$2"
  chmod 644 "$folder/$1/$2"
}

new_key=(-newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes)

# check_namespace: ends the script when the authority was made for another namespace. Pods that loaded certificates for other names
# could not call each other any more.
check_namespace() {
  local made_for
  made_for=$(openssl x509 -in .local/authority.crt -noout -subject -nameopt multiline |
    sed -n 's/^ *commonName *= Multihub authority of //p')
  [ -n "${made_for:-${NAMESPACE:-}}" ] || fail '.local/authority.crt does not say for which namespace it is: give it as NAMESPACE'
  [ "${made_for:-$namespace}" = "$namespace" ] ||
    fail "the authority in .local/authority.crt is for the namespace $made_for, and the names would be in $namespace: give NAMESPACE=$made_for"
}

# make_authority: the authority of the certificates, once.
make_authority() {
  if [ -e .local/authority.key ]; then check_namespace; return; fi
  openssl req -x509 "${new_key[@]}" -keyout .local/authority.key.part -out .local/authority.crt.part -days 3650 \
    -subj "/CN=Multihub authority of $namespace" -addext keyUsage=critical,keyCertSign 2>/dev/null ||
    fail "openssl cannot make the authority of $namespace; it must be OpenSSL 1.1.1 or later"
  mv .local/authority.crt.part .local/authority.crt
  # The key is last: an authority is there once its key is.
  mv .local/authority.key.part .local/authority.key
}

# put_certificate PUT NAME ALTERNATIVE_NAMES: a new key with its certificate, which is valid for a year, and the authority.
put_certificate() {
  local put=$1 name=$2 folder serial key certificate authority
  serial=$(openssl rand -hex 16)
  folder=$(mktemp -d)
  openssl req "${new_key[@]}" -keyout "$folder/key" -out "$folder/request" -subj "/CN=$name" 2>/dev/null ||
    { rm -r "$folder"; fail "openssl cannot make the key of $name"; }
  printf 'subjectAltName=%s\nauthorityKeyIdentifier=keyid\nbasicConstraints=critical,CA:FALSE\nkeyUsage=critical,digitalSignature\nextendedKeyUsage=serverAuth,clientAuth\n' "$3" >"$folder/extensions"
  openssl x509 -req -in "$folder/request" -days 365 -extfile "$folder/extensions" -set_serial "0x$serial" \
    -CA .local/authority.crt -CAkey .local/authority.key -out "$folder/certificate" 2>/dev/null ||
    { rm -r "$folder"; fail "the authority in .local/authority.crt cannot sign the certificate of $name"; }
  key=$(cat "$folder/key")
  certificate=$(cat "$folder/certificate")
  authority=$(cat .local/authority.crt)
  rm -r "$folder"
  "$put" "multihub-tls-$name" tls.key "$key"$'\n'
  "$put" "multihub-tls-$name" tls.crt "$certificate"$'\n'
  "$put" "multihub-tls-$name" ca.crt "$authority"$'\n'
}

# put_certificates PUT [CALLER ...]: the certificates of all roles, with the names by which the pods of deploy/base call each other, and of
# other callers, with their own names.
put_certificates() {
  local put=$1 name domain=$namespace.svc.cluster.local
  shift
  for name in "${databases[@]}"; do
    case $name in
      balances) put_certificate "$put" "$name" "DNS:$name.$domain,DNS:*.balances-peers.$domain" ;;
      gateway) put_certificate "$put" "$name" "DNS:$name.$domain,DNS:gateway-calls.$domain" ;;
      *) put_certificate "$put" "$name" "DNS:$name.$domain" ;;
    esac
  done
  for name in "$@"; do put_certificate "$put" "$name" "DNS:$name"; done
}

make() {
  local put=$1 name own token uri hashes=''
  nats_urls=()
  database_urls=()
  put_keys "$put"
  token=$(key)
  "$put" multihub sandbox-key "$token"
  for name in "${nats_users[@]}"; do
    own=NATS_URL_${name^^}
    uri=${!own:-$(nats_url "$name")}
    nats_urls+=("$name=$uri")
    # The job doctor connects as this user, because no other one may do less.
    [ "$name" != balances ] || "$put" multihub nats-url "$uri"
  done
  for name in "${nats_urls[@]}"; do "$put" multihub-nats "${name%%=*}" "${name#*=}"; done
  for name in "${database_users[@]}"; do
    own=MONGODB_URI_${name^^}
    uri=${!own:-$(database_uri "$name")}
    database_urls+=("$name=$uri")
    "$put" multihub-mongodb "$name" "$uri"
  done
  for name in "${callers[@]}"; do
    token=$(key)
    hashes+=${hashes:+,}$name:$(sha256 "$token")
    "$put" multihub-rpc "$name" "$token"
  done
  "$put" multihub-rpc callers "$hashes"
  token=mhp_$(key)
  first_token=$(sha256 "$token")
  "$put" multihub-backoffice first-token "$token"
  "$put" multihub-backoffice first-token-sha256 "$first_token"
}

# print_whole COMMAND: what it prints, or nothing when it fails: kubectl would apply the first half.
print_whole() {
  local printed
  printed=$("$@")
  printf '%s\n' "$printed"
}

master_keys=${MULTIHUB_MASTER_KEYS:-$(date +%Y%m):$(key)}
active_key=${MULTIHUB_ACTIVE_KEY:-${master_keys%%:*}}

case "$*" in
  kubernetes)
    file=.local/secrets.yaml
    need_urls
    [ ! -e "$file" ] || fail "$file is there already, with the keys of a system: move it away first"
    mkdir -p .local
    users_file=.local/database-users.js
    passwords_file=.local/nats-passwords
    rm -f "$users_file.part" "$passwords_file.part"
    make put_manifest >"$file.part"
    if [ "${CERTIFICATES:-}" != none ]; then
      make_authority
      put_certificates put_manifest >>"$file.part"
    fi
    for name in "$users_file" "$passwords_file"; do [ ! -e "$name.part" ] || mv "$name.part" "$name"; done
    mv "$file.part" "$file"
    report_users MongoDB MONGODB_URI "${database_urls[@]}" >&2
    report_users NATS NATS_URL "${nats_urls[@]}" >&2
    ;;
  compose)
    [ ! -e .local/compose ] || fail '.local/compose is there already, with the keys of a system: move it away first'
    folder=.local/compose.part
    database_users=(migrate "${databases[@]}")
    rm -rf "$folder"
    mkdir -p "$folder"
    # The user of the containers appends the list of erasures here; the folder above keeps everybody else out.
    mkdir -m 777 "$folder/erasures"
    passwords_file=$folder/nats-passwords
    users_file=$folder/database-users.js
    # Its server gets its users in its first health check: deploy/start-mongodb.js.
    MONGODB_URI='mongodb://mongodb:27017/?replicaSet=rs' NATS_URL=nats://nats:4222 make put_file
    mv "$users_file.part" "$users_file"
    mv "$passwords_file.part" "$passwords_file"
    chmod 644 "$users_file"
    for name in key-file administrator; do
      password=$(key)
      put_file multihub-mongodb "$name" "$password"
    done
    # Compose reads this file itself, for the values that are no secrets.
    printf 'MULTIHUB_RPC_CALLERS=%s\nMULTIHUB_ACTIVE_KEY=%s\nMULTIHUB_BACKOFFICE_FIRST_TOKEN=%s\n' \
      "$(cat "$folder/multihub-rpc/callers")" "$active_key" "$first_token" >"$folder/settings"
    mv "$folder" .local/compose
    ;;
  'keys kubernetes' | 'keys compose')
    [ -n "${MULTIHUB_MASTER_KEYS:-}" ] && [ -n "${MULTIHUB_ACTIVE_KEY:-}" ] ||
      fail 'MULTIHUB_MASTER_KEYS and MULTIHUB_ACTIVE_KEY are needed: the keys, and the id of the one that encrypts'
    if [ "$2" = kubernetes ]; then print_whole put_keys put_manifest; exit; fi
    folder=.local/compose
    put_keys put_file
    sed "s/^MULTIHUB_ACTIVE_KEY=.*/MULTIHUB_ACTIVE_KEY=$active_key/" "$folder/settings" >"$folder/settings.part"
    mv "$folder/settings.part" "$folder/settings"
    ;;
  'certificates kubernetes'*)
    [ -e .local/authority.key ] || fail '.local/authority.key is missing: the authority that "deploy/make-secrets.sh kubernetes" has made'
    for name in "${@:3}"; do [[ $name =~ ^[a-z][a-z0-9-]{0,40}$ ]] || fail "$name is not a name of small letters, digits and -"; done
    check_namespace
    print_whole put_certificates put_manifest "${@:3}"
    ;;
  *) fail 'usage: deploy/make-secrets.sh kubernetes | compose | keys kubernetes | keys compose | certificates kubernetes [NAME ...]' ;;
esac
