#!/usr/bin/env python3
"""Verifies a callback. Pass four of its headers as arguments, and the bytes of its body on standard input:
  verify-callback.py X-Webhook-Timestamp X-Webhook-Nonce X-Webhook-Id X-Webhook-Signature-V3 <body
Set WEBHOOK_SECRET to the endpoint's secret, or SECRET to the API secret for a callback to a payment's webhook_url."""
import hashlib
import hmac
import os
import sys
from datetime import datetime, timezone

MAX_AGE_SECONDS = 300


def callback_secret() -> bytes:
    """The secret of an endpoint, or the one of a payment's webhook_url, which is derived from the API secret."""
    if secret := os.environ.get("WEBHOOK_SECRET"):
        return secret.encode()
    api_secret = os.environ.get("SECRET") or sys.exit("neither SECRET nor WEBHOOK_SECRET is set")
    return hmac.new(api_secret.encode(), b"service:merchant-webhook-signing:v1", hashlib.sha256).hexdigest().encode()


def is_authentic(timestamp: str, nonce: str, delivery_id: str, signature: str, body: bytes) -> bool:
    signed = f"{timestamp}.{nonce}.{delivery_id}.".encode() + body
    expected = hmac.new(callback_secret(), signed, hashlib.sha512).hexdigest()
    if not hmac.compare_digest(expected.encode(), signature.encode()):
        return False
    sent = datetime.strptime(timestamp, "%Y-%m-%dT%H:%M:%S.%fZ").replace(tzinfo=timezone.utc)
    return abs((datetime.now(timezone.utc) - sent).total_seconds()) <= MAX_AGE_SECONDS


if __name__ == "__main__":
    # The exact bytes are signed: never verify a body that was parsed and written again.
    if not is_authentic(*sys.argv[1:5], sys.stdin.buffer.read()):
        print("not verified")
        sys.exit(1)
    print("verified")
