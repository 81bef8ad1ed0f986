#!/usr/bin/env bash
# Verifies a callback by its headers and the bytes of its body:
#   verify-callback.sh X-Webhook-Timestamp X-Webhook-Nonce X-Webhook-Id X-Webhook-Signature-V3 <body
# WEBHOOK_SECRET is the endpoint's; without it, the secret of a payment's own webhook_url is derived from SECRET.
set -euo pipefail
: "${4:?is missing: give the four headers in this order}"
hmac() { openssl dgst "-$1" -hmac "$2" -r | cut -d' ' -f1; }

[ -n "${WEBHOOK_SECRET:-}" ] || : "${SECRET:?is not set, nor is WEBHOOK_SECRET}"
secret=${WEBHOOK_SECRET:-$(printf %s service:merchant-webhook-signing:v1 | hmac sha256 "$SECRET")}
expected=$({ printf '%s.%s.%s.' "$1" "$2" "$3"; cat; } | hmac sha512 "$secret")
# GNU date reads the timestamp; on other systems use what reads ISO 8601 there.
age=$(($(date +%s) - $(date -d "$1" +%s)))
if [ "$4" = "$expected" ] && [ "${age#-}" -le 300 ]; then
  echo verified
else
  echo 'not verified'
  exit 1
fi
