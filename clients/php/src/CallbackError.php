<?php

declare(strict_types=1);

namespace Multihub\Client;

/**
 * A request that is not a callback of Multihub, or not one of the last five minutes. `reason` is `too_large`, `missing_header`,
 * `signature`, `timestamp` or `malformed`.
 */
final class CallbackError extends MultihubError
{
    public function __construct(public readonly string $reason, string $message)
    {
        parent::__construct($message);
    }
}
