<?php

declare(strict_types=1);

namespace Multihub\Client;

/**
 * No signed answer arrived, so whether the server has acted is not known. `reason` is `no_answer`, `timeout`, `unsigned`,
 * `too_large`, `malformed` or `other_request`; `text` is what arrived instead, which proves nothing.
 */
final class TransportError extends MultihubError
{
    public function __construct(
        public readonly string $reason,
        string $message,
        public readonly ?int $httpStatus = null,
        public readonly ?string $text = null,
    ) {
        parent::__construct($message);
    }
}
