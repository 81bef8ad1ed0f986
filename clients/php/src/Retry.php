<?php

declare(strict_types=1);

namespace Multihub\Client;

/** When and how long to wait before a request is sent again. */
final class Retry
{
    public function __construct(private readonly Settings $settings)
    {
    }

    /** The present time of a clock that never goes back, in milliseconds. */
    public static function nowMs(): float
    {
        return hrtime(true) / 1e6;
    }

    /** Whether a refusal can be the answer to an earlier request: a v1 signature does not say to which request it belongs. */
    public function canBeStale(): bool
    {
        return $this->settings->version === 'v1';
    }

    /** Whether the time is over after which no try begins. */
    public function isLate(float $beganMs): bool
    {
        return self::nowMs() - $beganMs > $this->settings->deadlineMs;
    }

    /** Whether an error leaves open if the server has acted on the request. */
    public function isUnanswered(MultihubError $error): bool
    {
        // Something on the way sent the request twice, and the answer is about the second one: its nonce was used by the first.
        $isRepeated = $error instanceof RefusalError && $error->getCode() === 3000;
        return $isRepeated || $error instanceof TransportError;
    }

    /** Whether the request has not left, because no connection was made. */
    public static function isNotSent(MultihubError $error): bool
    {
        return $error instanceof TransportError && $error->reason === TransportError::NOT_SENT;
    }

    /** Whether an unsigned answer refuses the credential. A server that does so once does so again. */
    public static function isCredentialRefused(MultihubError $error): bool
    {
        return $error instanceof TransportError && $error->reason === TransportError::CREDENTIAL;
    }

    /** How long to wait before the request is sent again, in milliseconds; null if it must not be, or no try or time is left. */
    public function waitAfter(MultihubError $error, int $tries, float $beganMs): ?float
    {
        $refusal = $error instanceof RefusalError ? $error : null;
        $canRepeat = $this->isUnanswered($error) || in_array($refusal?->retry, ['same_request', 'check_status'], true);
        $wantedMs = $refusal?->retryAfterMs() ?? 0;
        if (!$canRepeat || $tries >= $this->settings->triesMax || $wantedMs > $this->settings->waitMaxMs) {
            return null;
        }
        $backoffMs = min($this->settings->waitMs * 2 ** ($tries - 1), $this->settings->waitMaxMs);
        // Clients that failed together must not come back together.
        $waitMs = max($wantedMs, $backoffMs * random_int(500, 1000) / 1000);
        return self::nowMs() - $beganMs + $waitMs > $this->settings->deadlineMs ? null : $waitMs;
    }

    /**
     * Repeats a request that is harmless to repeat until it has an answer that counts. Throws the error `not_sent` only if no try
     * was sent; otherwise the error of a try that was.
     *
     * @template T
     * @param callable(): T $send
     * @return T
     */
    public function repeatedly(callable $send, ?float $beganMs = null): mixed
    {
        $beganMs ??= self::nowMs();
        $sent = null;
        for ($tries = 1; ; $tries++) {
            try {
                return $send();
            } catch (MultihubError $error) {
                $isNotSent = self::isNotSent($error);
                // A lost answer leaves more open than a refusal, so it is kept.
                if (!$isNotSent && ($sent === null || $this->isUnanswered($error) || !$this->isUnanswered($sent))) {
                    $sent = $error;
                }
                $waitMs = $this->waitAfter($error, $tries, $beganMs);
                if ($waitMs === null || self::isCredentialRefused($error)) {
                    throw $isNotSent ? $sent ?? $error : $error;
                }
                self::pause($waitMs);
            }
        }
    }

    public static function pause(float $waitMs): void
    {
        usleep((int) ($waitMs * 1000));
    }
}
