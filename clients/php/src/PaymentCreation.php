<?php

declare(strict_types=1);

namespace Multihub\Client;

/** Creates a payment at most once, whatever happens to the answers. */
final class PaymentCreation
{
    // A duplicate that was created this long ago, by either clock, can be this very request, sent twice on the way.
    private const RECENT_S = 300;
    private const NOT_FOUND = 6010;
    private const DUPLICATE = 6009;

    /**
     * @param array<string, mixed> $request
     * @param 'in'|'out' $destination
     * @param \Closure(): mixed $send
     * @param \Closure(): mixed $lookUp
     */
    public function __construct(
        private readonly Retry $retry,
        private readonly array $request,
        private readonly string $destination,
        private readonly \Closure $send,
        private readonly \Closure $lookUp,
    ) {
    }

    /**
     * Sends the same bytes until a signed answer says what became of the payment. After an answer that was lost it looks the
     * payment up; if it does not exist yet, the look-up may have overtaken the create, so the same bytes are sent again. Only a
     * signed refusal, or that no create has left, says that there is no payment; everything else ends in `OutcomeUnknownError`.
     *
     * @return array<string, mixed>
     */
    public function run(bool $mayExist): array
    {
        $cId = $this->request['params']['payment']['identifiers']['c_id'];
        [$beganMs, $beganS] = [Retry::nowMs(), time()];
        $isSent = $mayExist;
        for ($tries = 1; ; $tries++) {
            $result = $this->attempt($this->send, $cId);
            if (is_array($result)) {
                return $result;
            }
            $error = $result;
            // After a try that was sent, another that was not proves nothing: the refusal of the first can be an older answer.
            $isSent = $isSent || !Retry::isNotSent($error);
            $isUnanswered = $this->retry->isUnanswered($error) && $isSent;
            $isUndecided = $isUnanswered || ($error instanceof RefusalError && $error->retry === 'check_status');
            $mayExist = $mayExist || $isUndecided;
            $waitMs = $this->retry->waitAfter($error, $tries, $beganMs);
            if ($waitMs !== null) {
                Retry::pause($waitMs);
            }
            $isDuplicate = $error->getCode() === self::DUPLICATE;
            // On v1 the refusal can be the answer to an earlier request.
            $mayBeStale = $this->retry->canBeStale() && $waitMs === null && !$isDuplicate && $isSent;
            if ($mayExist || $mayBeStale || $isDuplicate) {
                $found = $this->attempt(fn () => $this->retry->repeatedly($this->lookUp, $beganMs), $cId);
                if (is_array($found)) {
                    $isRecent = strtotime($found['payment']['timestamps']['created']) >= $beganS - self::RECENT_S;
                    if ($this->isSame($found['payment']) && ($mayExist || $mayBeStale || $isRecent)) {
                        return $found;
                    }
                    if ($error instanceof RefusalError) {
                        throw $error;
                    }
                } elseif (Retry::isCredentialRefused($error) && Retry::isCredentialRefused($found)) {
                    throw new OutcomeUnknownError($cId, $found);
                } elseif ($waitMs === null && $found->getCode() !== self::NOT_FOUND) {
                    if ($mayExist || !self::isRefusedAlike($error, $found)) {
                        throw new OutcomeUnknownError($cId, $found);
                    }
                }
            }
            if ($waitMs === null || $this->retry->isLate($beganMs)) {
                $isOpen = $isUndecided || ($mayExist && $waitMs !== null);
                throw $isOpen ? new OutcomeUnknownError($cId, $error) : $error;
            }
        }
    }

    /** @return array<string, mixed>|MultihubError the result of a call, or the error that the server or the network caused */
    private function attempt(callable $call, string $cId): array|MultihubError
    {
        try {
            $result = $call();
        } catch (MultihubError $error) {
            return $error;
        }
        // An answer about another payment is none: a v1 signature does not say to which request it belongs.
        if (is_array($result) && ($result['payment']['identifiers']['c_id'] ?? null) === $cId) {
            return $result;
        }
        return new TransportError('other_request', "the answer is not about the payment $cId");
    }

    /**
     * Whether the look-up was refused for the reason of the create: one that concerns any request, such as the credential (3xxx)
     * or a field (9000).
     */
    private static function isRefusedAlike(MultihubError $error, MultihubError $problem): bool
    {
        $code = $error->getCode();
        return $code === $problem->getCode() && (intdiv($code, 1000) === 3 || $code === 9000);
    }

    /**
     * Whether a payment is the wanted one, by all that its answer shows.
     *
     * @param array<string, mixed> $found
     */
    private function isSame(array $found): bool
    {
        $wanted = $this->request['params']['payment'];
        $serviceId = $found['service_id'] ?? $this->request['service_id'];
        $accountId = $wanted['receiver']['bank']['account']['id'] ?? null;
        return $found['amount']['value'] === $wanted['amount']['value']
            && $found['amount']['currency'] === $wanted['amount']['currency']
            && $found['destination'] === $this->destination
            && (string) $serviceId === (string) $this->request['service_id']
            && ($accountId === null || ($found['receiver']['bank_account']['id'] ?? $accountId) === $accountId);
    }
}
