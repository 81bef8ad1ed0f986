<?php

declare(strict_types=1);

namespace Multihub\Client;

/** What a client knows: one credential and its version. */
final class Settings
{
    /**
     * @param 'v1'|'v2' $version a credential works with one of them
     * @param int $timeoutMs the time for one answer: creating a payment can take 35 seconds
     * @param int $triesMax how often a request is sent at most
     * @param int $waitMs the first wait; each further one is twice as long
     * @param int $waitMaxMs the longest wait; an answer that asks for more is passed on to the caller
     * @param int $deadlineMs after this time no try begins
     */
    public function __construct(
        public readonly string $baseUrl,
        public readonly int $applicationId,
        #[\SensitiveParameter] public readonly string $secret,
        public readonly string $version,
        public readonly int $timeoutMs = 40_000,
        public readonly int $triesMax = 5,
        public readonly int $waitMs = 250,
        public readonly int $waitMaxMs = 60_000,
        public readonly int $deadlineMs = 180_000,
    ) {
        if (preg_match('/\A[0-9a-f]{64}\z/', $secret) !== 1) {
            throw new \InvalidArgumentException('the secret is not 64 lower-case hexadecimal characters');
        }
        if ($version !== 'v1' && $version !== 'v2') {
            throw new \InvalidArgumentException('the version is not v1 or v2');
        }
    }

    /**
     * What `print_r` and `var_dump` show: all but the secret.
     *
     * @return array<string, mixed>
     */
    public function __debugInfo(): array
    {
        return ['secret' => '(hidden)'] + get_object_vars($this);
    }
}
