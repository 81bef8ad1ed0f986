#!/usr/bin/env bash
# Sends a v2 request and prints the response if its signature is right: v2.sh '{"method":"gateway.ping","params":{}}'
# For trials only: openssl gets the secret as an argument, which other users of this machine could see.
set -euo pipefail
body=${1:?is missing: give the JSON body as the argument}
: "${BASE_URL:?is not set}" "${APPLICATION_ID:?is not set}" "${SECRET:?is not set}"
path=/public/api/multihub/v2
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
sha256() { openssl dgst -sha256 -r | cut -d' ' -f1; }
sign() { openssl dgst -sha512 -hmac "$SECRET" -r | cut -d' ' -f1; }

timestamp=$(date +%s)
nonce=$(openssl rand -hex 16)
signature=$(printf 'service-multihub-request-v2\n%s\nPOST\n%s\n%s\n%s\n%s' \
  "$APPLICATION_ID" "$path" "$timestamp" "$nonce" "$(printf %s "$body" | sha256)" | sign)
status=$(curl -sS "$BASE_URL$path" --data-binary "$body" -D "$folder/head" -o "$folder/body" -w '%{http_code}' \
  -H 'Content-Type: application/json' -H "X-Data-Application-Id: $APPLICATION_ID" \
  -H "X-Data-Timestamp: $timestamp" -H "X-Data-Nonce: $nonce" -H "X-Data-Signature: $signature")

header() { tr -d '\r' <"$folder/head" | awk -v name="$1:" 'tolower($1) == name { print $2 }'; }
expected=$(printf 'service-multihub-response-v2\n%s\n%s\n%s\n%s\n%s' \
  "$APPLICATION_ID" "$nonce" "$(header x-request-id)" "$status" "$(sha256 <"$folder/body")" | sign)
if [ "$(header x-data-signature)" != "$expected" ]; then
  echo "HTTP $status: the response is not signed with this secret" >&2
  exit 1
fi
cat "$folder/body"
