<?php

declare(strict_types=1);

namespace Multihub\Client;

use Psr\Http\Message\ResponseFactoryInterface;
use Psr\Http\Message\ResponseInterface;
use Psr\Http\Message\ServerRequestInterface;

/** Receives callbacks by PSR-7: its `handle` has the form of a PSR-15 handler. */
final class CallbackReceiver
{
    /**
     * @param list<string> $secrets
     * @param \Closure(array<string, mixed>): void $store stores a verified callback; when it throws, let the server answer 500,
     *     and Multihub sends the callback again
     */
    public function __construct(
        #[\SensitiveParameter] private readonly array $secrets,
        private readonly \Closure $store,
        private readonly ResponseFactoryInterface $responses,
    ) {
        Callbacks::checkSecrets($secrets);
    }

    public function handle(ServerRequestInterface $request): ResponseInterface
    {
        return $this->responses->createResponse($this->statusOf($request));
    }

    private function statusOf(ServerRequestInterface $request): int
    {
        $headers = array_map(static fn (array $values): string => implode(', ', $values), $request->getHeaders());
        $stream = $request->getBody();
        $body = '';
        while (!$stream->eof() && strlen($body) <= Callbacks::MAX_BYTES) {
            $body .= $stream->read(65_536);
        }
        try {
            $callback = Callbacks::verify($headers, $body, $this->secrets);
        } catch (CallbackError $error) {
            return ['too_large' => 413, 'malformed' => 400][$error->reason] ?? 401;
        }
        ($this->store)($callback);
        return 204;
    }
}
