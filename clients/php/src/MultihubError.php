<?php

declare(strict_types=1);

namespace Multihub\Client;

/** What all errors of this package extend. */
class MultihubError extends \RuntimeException
{
}
