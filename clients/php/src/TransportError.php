<?php

declare(strict_types=1);

namespace Multihub\Client;

/**
 * No signed answer arrived, so whether the server has acted is not known, except that it has not when `reason` is `not_sent`: no
 * connection was made. Other reasons are `no_answer`, `timeout`, `credential`,
 * `unsigned`, `too_large`, `malformed` or `other_request`; `text` is what arrived instead, which proves nothing. `credential` is
 * an unsigned refusal of the signature or the application id: when it stays, one of the two is wrong.
 */
final class TransportError extends MultihubError
{
    public const CREDENTIAL = 'credential';
    public const NOT_SENT = 'not_sent';

    public function __construct(
        public readonly string $reason,
        string $message,
        public readonly ?int $httpStatus = null,
        public readonly ?string $text = null,
    ) {
        parent::__construct($message);
    }
}
