<?php

declare(strict_types=1);

namespace Multihub\Client;

use Multihub\Client\Gen\Tables;

/** A signed answer that says no. `retry` says what a program can do about it, by the table `Tables::RETRIES`. */
final class RefusalError extends MultihubError
{
    public readonly string $retry;

    /**
     * @param array<string, mixed>|null $details
     * @param array<string, mixed>|null $context
     */
    public function __construct(
        int $code,
        string $message,
        public readonly ?array $details,
        public readonly ?array $context,
        public readonly string $requestId,
        public readonly int $httpStatus,
    ) {
        $field = $details['description'] ?? null;
        parent::__construct("$code: $message" . (is_string($field) ? " ($field)" : ''), $code);
        $this->retry = Tables::RETRIES[$code] ?? 'never';
    }

    /** How long the answer asks to wait, in milliseconds. */
    public function retryAfterMs(): int
    {
        $seconds = $this->details['retry_after_seconds'] ?? 0;
        return is_int($seconds) ? $seconds * 1000 : 0;
    }
}
