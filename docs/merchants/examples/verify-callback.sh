#!/usr/bin/env bash
# Verifies a callback. Pass four of its headers as arguments, and the bytes of its body on standard input:
#   verify-callback.sh X-Webhook-Timestamp X-Webhook-Nonce X-Webhook-Id X-Webhook-Signature-V3 <body
# Set WEBHOOK_SECRET to the endpoint's secret, or SECRET to the API secret for a callback to a payment's webhook_url.
set -euo pipefail
: "${4:?is missing: pass the four headers in this order}"
hmac() { openssl dgst "-$1" -hmac "$2" -r | cut -d' ' -f1; }

[ -n "${WEBHOOK_SECRET:-}" ] || : "${SECRET:?is not set, and WEBHOOK_SECRET is not set either}"
secret=${WEBHOOK_SECRET:-$(printf %s service:merchant-webhook-signing:v1 | hmac sha256 "$SECRET")}
expected=$({ printf '%s.%s.%s.' "$1" "$2" "$3"; cat; } | hmac sha512 "$secret")
# The shell stops comparing at the first difference. Hashed under a key of this run, that does not show where it is.
key=$(openssl rand -hex 32)
hashed() { printf %s "$1" | hmac sha256 "$key"; }
# GNU date parses the timestamp. On other systems, use a program there that parses ISO 8601.
age=$(($(date +%s) - $(date -d "$1" +%s)))
if [ "$(hashed "$4")" = "$(hashed "$expected")" ] && [ "${age#-}" -le 300 ]; then
  echo verified
else
  echo 'not verified'
  exit 1
fi
