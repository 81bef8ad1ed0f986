<?php

declare(strict_types=1);

namespace Multihub\Client;

/** What all errors of this package extend. */
class MultihubError extends \RuntimeException
{
    /** The key of the request that failed, given or generated; null where its method has none. */
    public ?string $operationId = null;
}
