#!/usr/bin/env bash
# Sends a v1 request and prints the response if its signature is right: v1.sh '{"method":"gateway.ping","params":{}}'
set -euo pipefail
body=${1:?is missing: give the JSON body as the argument}
: "${BASE_URL:?is not set}" "${APPLICATION_ID:?is not set}" "${SECRET:?is not set}"
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

hash=$(printf '%s%s' "$body" "$SECRET" | openssl dgst -sha512 -r | cut -d' ' -f1)
status=$(curl -sS "$BASE_URL/public/api/multihub/v1" --data-binary "$body" -D "$folder/head" -o "$folder/body" \
  -w '%{http_code}' -H 'Content-Type: application/json' -H "X-Data-Application-Id: $APPLICATION_ID" -H "X-Data-Hash: $hash")

expected=$({ cat "$folder/body"; printf %s "$SECRET"; } | openssl dgst -sha512 -r | cut -d' ' -f1)
given=$(tr -d '\r' <"$folder/head" | awk 'tolower($1) == "x-data-hash:" { print $2 }')
if [ "$given" != "$expected" ]; then
  echo "HTTP $status: the response is not signed with this secret" >&2
  exit 1
fi
cat "$folder/body"
