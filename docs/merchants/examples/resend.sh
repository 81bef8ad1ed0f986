#!/usr/bin/env bash
# Requests the callback of a payment again, signed with timestamp and nonce: resend.sh PAYMENT_ID OPERATION_ID
set -euo pipefail
payment_id=${1:?is missing: give PAYMENT_ID and OPERATION_ID}
operation_id=${2:?is missing: give PAYMENT_ID and OPERATION_ID}
: "${BASE_URL:?is not set}" "${APPLICATION_ID:?is not set}" "${SECRET:?is not set}"
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
path="/api/v1/payments/$payment_id/webhook/resend"
body="{\"payment_id\":\"$payment_id\",\"operation_id\":\"$operation_id\"}"

timestamp=$(date +%s)
nonce=$(openssl rand -hex 16)
hash=$(printf 'service-merchant-webhook-resend-v1\nPOST\n%s\n%s\n%s\n\n%s%s' \
  "$path" "$timestamp" "$nonce" "$body" "$SECRET" | openssl dgst -sha512 -r | cut -d' ' -f1)
status=$(curl -sS "$BASE_URL$path" --data-binary "$body" -D "$folder/head" -o "$folder/body" -w '%{http_code}' \
  -H 'Content-Type: application/json' -H "X-Data-Application-Id: $APPLICATION_ID" \
  -H "X-Data-Timestamp: $timestamp" -H "X-Data-Nonce: $nonce" -H "X-Data-Hash: $hash")

expected=$({ cat "$folder/body"; printf %s "$SECRET"; } | openssl dgst -sha512 -r | cut -d' ' -f1)
given=$(tr -d '\r' <"$folder/head" | awk 'tolower($1) == "x-data-hash:" { print $2 }')
if [ "$given" != "$expected" ]; then
  echo "HTTP $status: the response is not signed with this secret" >&2
  exit 1
fi
cat "$folder/body"
