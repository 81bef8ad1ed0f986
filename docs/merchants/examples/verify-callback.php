<?php
// Verifies a callback (PHP 8). Pass four of its headers as arguments, and the bytes of its body on standard input:
//   php verify-callback.php X-Webhook-Timestamp X-Webhook-Nonce X-Webhook-Id X-Webhook-Signature-V3 <body
// Set WEBHOOK_SECRET to the endpoint's secret, or SECRET to the API secret for a callback to a payment's webhook_url.
declare(strict_types=1);

const MAX_AGE_SECONDS = 300;

/** The secret of an endpoint, or the one of a payment's webhook_url, which is derived from the API secret. */
function callback_secret(): string
{
    $secret = getenv('WEBHOOK_SECRET') ?: '';
    if ($secret !== '') {
        return $secret;
    }
    $api_secret = getenv('SECRET') ?: throw new RuntimeException('neither SECRET nor WEBHOOK_SECRET is set');
    return hash_hmac('sha256', 'service:merchant-webhook-signing:v1', $api_secret);
}

function is_authentic(string $timestamp, string $nonce, string $id, string $signature, string $body): bool
{
    $expected = hash_hmac('sha512', "$timestamp.$nonce.$id.$body", callback_secret());
    return hash_equals($expected, $signature) && abs(time() - strtotime($timestamp)) <= MAX_AGE_SECONDS;
}

// In a web server the body is file_get_contents('php://input'), and a header is $_SERVER['HTTP_X_WEBHOOK_NONCE'].
[, $timestamp, $nonce, $id, $signature] = $argv;
// The exact bytes are signed: never verify a body that was parsed and written again.
$verified = is_authentic($timestamp, $nonce, $id, $signature, file_get_contents('php://stdin'));
echo $verified ? "verified\n" : "not verified\n";
exit($verified ? 0 : 1);
