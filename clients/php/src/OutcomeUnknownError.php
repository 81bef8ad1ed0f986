<?php

declare(strict_types=1);

namespace Multihub\Client;

/**
 * No signed answer says whether the payment was created. It may exist. Call `createPayment` again later with the same request
 * and `resume: true`; never create it under another `c_id`.
 */
final class OutcomeUnknownError extends MultihubError
{
    public function __construct(public readonly string $cId, MultihubError $cause)
    {
        parent::__construct("the payment $cId may exist; resume it under the same c_id: {$cause->getMessage()}", 0, $cause);
    }
}
