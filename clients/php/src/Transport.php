<?php

declare(strict_types=1);

namespace Multihub\Client;

/** Sends signed requests, and verifies the signature of each answer before anything in it is used. */
final class Transport
{
    private const ANSWER_MAX_BYTES = 16 * 1024 * 1024;
    private const TEXT_MAX = 2000;
    // The refusals that the server does not sign, because it does not know whose secret to sign them with.
    private const UNSIGNED_CODES = [3000, 3001, 3002, 3003];

    public function __construct(private readonly Settings $settings)
    {
    }

    /** Sends one signed request and returns the `result` of the answer. A path is given on the resend path only. */
    public function sendSigned(string $body, ?string $path = null, bool $isWithdrawal = false): mixed
    {
        $s = $this->settings;
        $isV2 = $s->version === 'v2';
        [$timestamp, $nonce] = [(string) time(), bin2hex(random_bytes(16))];
        $signed = match (true) {
            $path !== null => Signatures::signResend($s->applicationId, $s->secret, $path, $body, $timestamp, $nonce),
            $isV2 => Signatures::signV2($s->applicationId, $s->secret, $body, $timestamp, $nonce),
            default => Signatures::signV1($s->applicationId, $s->secret, $body),
        };
        if ($isWithdrawal) {
            // The v1 hash does not cover the pair, but a withdrawal that is sent twice on the way is refused by its nonce.
            $signed = ['X-Data-Timestamp' => $timestamp, 'X-Data-Nonce' => $nonce] + $signed;
        }
        $url = rtrim($s->baseUrl, '/') . ($path ?? ($isV2 ? Signatures::V2_PATH : Signatures::V1_PATH));
        [$status, $headers, $content] = $this->exchange('POST', $url, ['Content-Type' => 'application/json'] + $signed, $body);
        $isSigned = $isV2 && $path === null
            ? Signatures::verifyV2(
                $s->applicationId,
                $s->secret,
                $nonce,
                $headers['x-request-id'] ?? '',
                $status,
                $content,
                $headers['x-data-signature'] ?? '',
            )
            : Signatures::verifyV1($s->secret, $content, $headers['x-data-hash'] ?? '');
        if (!$isSigned) {
            throw self::unsigned($status, $content);
        }
        return $this->resultOf($status, $content);
    }

    private static function unsigned(int $status, string $content): TransportError
    {
        $code = json_decode($content, true)['error']['code'] ?? null;
        $isCredential = in_array($code, self::UNSIGNED_CODES, true);
        $hint = $isCredential ? '; check the secret and the application id first' : '';
        $text = self::textOf($content);
        $message = "HTTP $status: the answer is not signed with this secret$hint: $text";
        return new TransportError($isCredential ? TransportError::CREDENTIAL : 'unsigned', $message, $status, $text);
    }

    /** The start of a body, for people. */
    public static function textOf(string $content): string
    {
        return (string) @iconv('UTF-8', 'UTF-8//IGNORE', substr($content, 0, self::TEXT_MAX));
    }

    private function resultOf(int $status, string $content): mixed
    {
        $envelope = json_decode($content, true, 64, JSON_BIGINT_AS_STRING);
        $error = $envelope['error'] ?? null;
        if (is_array($envelope) && ($envelope['success'] ?? null) === true) {
            return $envelope['result'] ?? null;
        }
        if (!is_array($envelope) || ($envelope['success'] ?? null) !== false || !is_int($error['code'] ?? null)) {
            throw new TransportError('malformed', "HTTP $status: the answer is not an envelope", $status, self::textOf($content));
        }
        throw new RefusalError(
            $error['code'],
            (string) ($error['message'] ?? ''),
            $error['details'] ?? null,
            $error['context'] ?? null,
            (string) ($envelope['request_id'] ?? ''),
            $status,
        );
    }

    /**
     * Sends a request within the time limit and reads at most so many bytes of the answer. Follows no redirect.
     *
     * @param array<string, string> $headers
     * @return array{int, array<string, string>, string} the status, the headers by lower-case name, and the body
     */
    public function exchange(
        string $method,
        string $url,
        array $headers,
        ?string $body,
        int $maxBytes = self::ANSWER_MAX_BYTES,
    ): array {
        $answered = [];
        $content = '';
        $lines = ['Expect:'];
        foreach ($headers as $name => $value) {
            $lines[] = "$name: $value";
        }
        $handle = curl_init($url);
        if ($handle === false) {
            throw new \InvalidArgumentException("$url is not a URL");
        }
        curl_setopt_array($handle, [
            CURLOPT_CUSTOMREQUEST => $method,
            CURLOPT_HTTPHEADER => $lines,
            CURLOPT_TIMEOUT_MS => $this->settings->timeoutMs,
            CURLOPT_NOSIGNAL => true,
            CURLOPT_FOLLOWLOCATION => false,
            CURLOPT_PROTOCOLS => CURLPROTO_HTTP | CURLPROTO_HTTPS,
            CURLOPT_HEADERFUNCTION => static function (\CurlHandle $_, string $line) use (&$answered): int {
                [$name, $value] = explode(':', $line, 2) + [1 => ''];
                $answered[strtolower(trim($name))] = trim($value);
                return strlen($line);
            },
            CURLOPT_WRITEFUNCTION => static function (\CurlHandle $_, string $chunk) use (&$content, $maxBytes): int {
                $content .= $chunk;
                // Any other number than the length of the chunk ends the transfer.
                return strlen($content) > $maxBytes ? -1 : strlen($chunk);
            },
        ]);
        if ($body !== null) {
            curl_setopt($handle, CURLOPT_POSTFIELDS, $body);
        }
        curl_exec($handle);
        $problem = curl_errno($handle);
        // curl notes the end of the handshake before it sends the first byte of the request.
        $handshake = stripos($url, 'https:') === 0 ? CURLINFO_APPCONNECT_TIME_T : CURLINFO_CONNECT_TIME_T;
        if ($problem !== 0 && curl_getinfo($handle, $handshake) === 0) {
            throw new TransportError(TransportError::NOT_SENT, 'no connection: ' . curl_error($handle));
        }
        if (strlen($content) > $maxBytes) {
            throw new TransportError('too_large', "the answer has more than $maxBytes bytes");
        }
        if ($problem === CURLE_OPERATION_TIMEDOUT) {
            throw new TransportError('timeout', "no answer within {$this->settings->timeoutMs} ms");
        }
        if ($problem !== 0) {
            throw new TransportError('no_answer', 'no answer: ' . curl_error($handle));
        }
        return [curl_getinfo($handle, CURLINFO_RESPONSE_CODE), $answered, $content];
    }
}
