<?php

declare(strict_types=1);

namespace Multihub\Client;

/** Verifies callbacks. */
final class Callbacks
{
    /** The largest callback. */
    public const MAX_BYTES = 256 * 1024;
    private const MAX_AGE_S = 300;

    /**
     * Verifies a callback over the exact bytes that arrived (`php://input`), and returns what it says. The secrets are those of
     * the endpoint or of the `webhook_url`; two while one is rotated. Nothing is parsed before its signature is verified, in
     * constant time. Throws `CallbackError`.
     *
     * @param array<string, string|null> $headers
     * @param list<string> $secrets
     * @return array<string, mixed>
     */
    public static function verify(array $headers, string $body, #[\SensitiveParameter] array $secrets, ?float $nowS = null): array
    {
        self::checkSecrets($secrets);
        if (strlen($body) > self::MAX_BYTES) {
            throw new CallbackError('too_large', 'the body is larger than any callback');
        }
        $byName = array_change_key_case($headers);
        $values = [];
        foreach (['timestamp', 'nonce', 'id', 'signature-v3'] as $name) {
            $values[] = $byName["x-webhook-$name"] ?? '';
            if (end($values) === '') {
                throw new CallbackError('missing_header', "x-webhook-$name is missing");
            }
        }
        [$timestamp, $nonce, $id, $signature] = $values;
        $isAuthentic = false;
        foreach ($secrets as $secret) {
            $expected = hash_hmac('sha512', "$timestamp.$nonce.$id.$body", $secret);
            $isAuthentic = hash_equals($expected, $signature) || $isAuthentic;
        }
        if (!$isAuthentic) {
            throw new CallbackError('signature', 'the signature is wrong');
        }
        if (!self::isRecent($timestamp, $nowS ?? microtime(true))) {
            throw new CallbackError('timestamp', 'the callback is not of the last five minutes');
        }
        $callback = json_decode($body, true, 64, JSON_BIGINT_AS_STRING);
        return is_array($callback) ? $callback : throw new CallbackError('malformed', 'the body is not a callback');
    }

    /**
     * What a receiver stores to handle a callback once. Refunds of one payment have the same `id`, but different keys.
     *
     * @param array<string, mixed> $callback
     */
    public static function key(array $callback): string
    {
        $payment = $callback['data']['result']['payment'] ?? null;
        if ($payment === null) {
            return $callback['id'];
        }
        $operations = array_map(fn (array $one): string => "$one[id]={$one['status']['status']}", $payment['operations']);
        return implode('|', [$callback['id'], $payment['status']['status'], ...$operations]);
    }

    /**
     * Throws unless there are secrets.
     *
     * @param list<string> $secrets
     */
    public static function checkSecrets(#[\SensitiveParameter] array $secrets): void
    {
        if ($secrets === [] || in_array('', $secrets, true)) {
            throw new \InvalidArgumentException('a secret of the callbacks is missing');
        }
    }

    private static function isRecent(string $timestamp, float $nowS): bool
    {
        if (preg_match('/^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(\.\d{1,9})?Z$/D', $timestamp, $parts) !== 1) {
            return false;
        }
        $whole = strtotime("$parts[1]Z");
        // Rounded to microseconds, because the difference of two floating-point times is not exact.
        return $whole !== false && round(abs($nowS - $whole - (float) ($parts[2] ?? 0)), 6) <= self::MAX_AGE_S;
    }
}
