<?php

declare(strict_types=1);

namespace Multihub\Client;

/** The signatures of requests, answers and callbacks. All of them are lower-case hexadecimal digits. */
final class Signatures
{
    public const V1_PATH = '/public/api/multihub/v1';
    public const V2_PATH = '/public/api/multihub/v2';

    /** The path that queues the callback of a payment again. */
    public static function resendPath(string $paymentId): string
    {
        return '/api/v1/payments/' . rawurlencode($paymentId) . '/webhook/resend';
    }

    /**
     * The headers that sign a v1 request: a hash of its exact bytes.
     *
     * @return array<string, string>
     */
    public static function signV1(int $applicationId, string $secret, string $body): array
    {
        return ['X-Data-Application-Id' => (string) $applicationId, 'X-Data-Hash' => hash('sha512', $body . $secret)];
    }

    /**
     * The headers that sign a v2 request. The timestamp is the Unix time in seconds; the server accepts a nonce once.
     *
     * @return array<string, string>
     */
    public static function signV2(int $applicationId, string $secret, string $body, string $timestamp, string $nonce): array
    {
        $lines = ['service-multihub-request-v2', $applicationId, 'POST', self::V2_PATH, $timestamp, $nonce, hash('sha256', $body)];
        return [
            'X-Data-Application-Id' => (string) $applicationId,
            'X-Data-Timestamp' => $timestamp,
            'X-Data-Nonce' => $nonce,
            'X-Data-Signature' => hash_hmac('sha512', implode("\n", $lines), $secret),
        ];
    }

    /**
     * The headers that sign a request to the resend path, with timestamp and nonce or without both.
     *
     * @return array<string, string>
     */
    public static function signResend(
        int $applicationId,
        string $secret,
        string $path,
        string $body,
        ?string $timestamp = null,
        ?string $nonce = null,
    ): array {
        if ($timestamp === null || $nonce === null) {
            return self::signV1($applicationId, $secret, $body);
        }
        $prefix = implode("\n", ['service-merchant-webhook-resend-v1', 'POST', $path, $timestamp, $nonce, '', '']);
        return [
            'X-Data-Application-Id' => (string) $applicationId,
            'X-Data-Timestamp' => $timestamp,
            'X-Data-Nonce' => $nonce,
            'X-Data-Hash' => hash('sha512', $prefix . $body . $secret),
        ];
    }

    /** Whether the header `X-Data-Hash` of a v1 or resend response is right. */
    public static function verifyV1(string $secret, string $body, string $signature): bool
    {
        return hash_equals(hash('sha512', $body . $secret), $signature);
    }

    /** Whether the header `X-Data-Signature` of a v2 response is right. */
    public static function verifyV2(
        int $applicationId,
        string $secret,
        string $requestNonce,
        string $requestId,
        int $httpStatus,
        string $body,
        string $signature,
    ): bool {
        $digest = hash('sha256', $body);
        $lines = ['service-multihub-response-v2', $applicationId, $requestNonce, $requestId, $httpStatus, $digest];
        return hash_equals(hash_hmac('sha512', implode("\n", $lines), $secret), $signature);
    }

    /** The secret of the callbacks to a payment's `webhook_url`, derived from the API secret that created the payment. */
    public static function webhookSecret(#[\SensitiveParameter] string $apiSecret): string
    {
        return hash_hmac('sha256', 'service:merchant-webhook-signing:v1', $apiSecret);
    }
}
