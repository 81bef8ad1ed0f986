<?php

declare(strict_types=1);

namespace Multihub\Client;

use Multihub\Client\Gen\Methods;
use Multihub\Client\Gen\Tables;

/**
 * A client of one credential. It signs requests, verifies the signature of each answer before it uses it, and repeats what is
 * harmless to repeat. Methods throw `RefusalError` for a signed refusal and `TransportError` without a signed answer.
 */
final class Client
{
    use Methods;

    private const FILE_MAX_BYTES = 10 * 1024 * 1024;
    private const UPLOAD_ANSWER_MAX_BYTES = 64 * 1024;
    private const SCAN_POLL_MAX_MS = 4000;

    private readonly Transport $transport;
    private readonly Retry $retry;

    public function __construct(#[\SensitiveParameter] Settings $settings)
    {
        $this->transport = new Transport($settings);
        $this->retry = new Retry($settings);
    }

    /**
     * Calls a method by its name.
     *
     * @param array<string, mixed> $request
     */
    public function call(string $method, array $request = []): mixed
    {
        $key = Tables::METHOD_KEYS[$method] ?? throw new \InvalidArgumentException("there is no method $method");
        $operation = $key === 'operation_id' ? ['operation_id' => self::newKey()] : [];
        $fields = ['method' => $method] + $request + ['params' => []] + $operation;
        $body = self::encode($fields);
        $send = fn (): mixed => $this->transport->sendSigned($body, isWithdrawal: $method === 'payment.out');
        return $key === 'payment' ? $send() : $this->repeatedly($send, $fields['operation_id'] ?? null);
    }

    /**
     * Every item of a list, page by page.
     *
     * @param array<string, mixed> $request
     * @return \Generator<int, array<string, mixed>>
     */
    public function each(string $method, array $request = []): \Generator
    {
        $params = $request['params'] ?? [];
        while (true) {
            $page = $this->call($method, ['params' => $params] + $request);
            foreach ($page['items'] as $item) {
                yield $item;
            }
            if ($page['next_cursor'] === null) {
                return;
            }
            if ($page['next_cursor'] === ($params['cursor'] ?? null)) {
                throw new MultihubError('the list repeats a page');
            }
            $params['cursor'] = $page['next_cursor'];
        }
    }

    /**
     * Creates a deposit or a withdrawal at most once, also when answers are lost. Keep the request until this returns or throws;
     * after a crash or an `OutcomeUnknownError` call it again with `resume: true`.
     *
     * @param 'payment.in'|'payment.out' $method
     * @param array{service_id: int, params: array{payment: array<string, mixed>}} $request
     * @return array<string, mixed> as of `payment.in`; `receiver.bank` is in the answer to the create only
     */
    public function createPayment(string $method, array $request, bool $resume = false): array
    {
        if ((Tables::METHOD_KEYS[$method] ?? null) !== 'payment') {
            throw new \InvalidArgumentException("$method creates no payment");
        }
        $identifiers = ['c_id' => $request['params']['payment']['identifiers']['c_id']];
        $body = self::encode(['method' => $method] + $request);
        $status = self::encode(['method' => 'payment.status', 'params' => ['payment' => ['identifiers' => $identifiers]]]);
        $creation = new PaymentCreation(
            $this->retry,
            $request,
            $method === 'payment.in' ? 'in' : 'out',
            fn (): mixed => $this->transport->sendSigned($body, isWithdrawal: $method === 'payment.out'),
            fn (): mixed => $this->transport->sendSigned($status),
        );
        return $creation->run($resume);
    }

    /**
     * Queues the callback of a payment with a final status again.
     *
     * @return array<string, mixed>
     */
    public function resendWebhook(string $paymentId, ?string $operationId = null): array
    {
        $operationId ??= self::newKey();
        $body = self::encode(['payment_id' => $paymentId, 'operation_id' => $operationId]);
        $path = Signatures::resendPath($paymentId);
        return $this->repeatedly(fn (): mixed => $this->transport->sendSigned($body, $path), $operationId);
    }

    /**
     * Uploads a file and waits until it is scanned. Returns its status, `scanning` when the scan takes longer. `operationId` is
     * the idempotency key: with the same one and the same file, an interrupted upload goes on.
     *
     * @param 'ticket'|'ticket_comment' $purpose
     * @return array<string, mixed> as of `attachment.status`
     */
    public function uploadFile(
        string $content,
        string $purpose,
        string $name,
        string $mimeType,
        ?string $operationId = null,
        int $scanMs = 60_000,
    ): array {
        $operation = ['operation_id' => $operationId ?? self::newKey()];
        $digest = ['size' => strlen($content), 'sha256' => hash('sha256', $content)];
        $params = ['purpose' => $purpose, 'name' => $name, 'mime_type' => $mimeType] + $digest;
        $prepared = $this->attachmentPrepare($operation + ['params' => $params]);
        $attachment = ['params' => ['attachment' => ['h_id' => $prepared['attachment']['identifiers']['h_id']]]];
        if (in_array($prepared['attachment']['status'], ['awaiting_upload', 'uploaded'], true)) {
            $put = fn () => $this->put($prepared['upload']['url'], $mimeType, $content);
            $this->repeatedly($put, $operation['operation_id']);
            $this->attachmentFinalize($operation + $attachment);
        }
        $beganMs = Retry::nowMs();
        for ($pollMs = 500; ; $pollMs = min($pollMs * 2, self::SCAN_POLL_MAX_MS)) {
            $status = $this->attachmentStatus($attachment);
            $isScanned = in_array($status['status'], ['ready', 'rejected', 'expired'], true);
            if ($isScanned || Retry::nowMs() - $beganMs > $scanMs) {
                return $status;
            }
            Retry::pause(min($pollMs, $scanMs));
        }
    }

    /** Sends the bytes. The answer is unsigned, so only the signed answer to the finalize says that they arrived. */
    private function put(string $url, string $mimeType, string $content): void
    {
        $headers = ['Content-Type' => $mimeType];
        [$status, , $body] = $this->transport->exchange('PUT', $url, $headers, $content, self::UPLOAD_ANSWER_MAX_BYTES);
        if ($status < 200 || $status >= 300) {
            $text = Transport::textOf($body);
            throw new TransportError('unsigned', "HTTP $status: $text", $status, $text);
        }
    }

    /** Downloads a ready file. Its bytes have the SHA-256 that the signed answer names. */
    public function downloadFile(string $hId): string
    {
        $shown = $this->attachmentGet(['params' => ['attachment' => ['h_id' => $hId]]]);
        return $this->retry->repeatedly(function () use ($shown): string {
            [$status, , $body] = $this->transport->exchange('GET', $shown['download']['url'], [], null, self::FILE_MAX_BYTES);
            if (!hash_equals($shown['attachment']['sha256'], hash('sha256', $body))) {
                throw new TransportError('unsigned', "HTTP $status: other bytes than those of the file", $status);
            }
            return $body;
        });
    }

    /** Repeats a request, and notes its operation_id on its error, because the client may have generated it. */
    private function repeatedly(callable $send, ?string $operationId): mixed
    {
        try {
            return $this->retry->repeatedly($send);
        } catch (MultihubError $error) {
            $error->operationId = $operationId;
            throw $error;
        }
    }

    private static function newKey(): string
    {
        return bin2hex(random_bytes(16));
    }

    /** @param array<string, mixed> $request */
    private static function encode(array $request): string
    {
        $flags = JSON_UNESCAPED_SLASHES | JSON_UNESCAPED_UNICODE | JSON_THROW_ON_ERROR;
        return json_encode(self::prepared($request, 'request'), $flags);
    }

    /** An empty array is an object unless its field is a list; an amount in floating point is not exact. */
    private static function prepared(mixed $value, string $key): mixed
    {
        if (is_float($value)) {
            throw new \InvalidArgumentException("$key is a float: amounts are whole numbers of minor units");
        }
        if ($value === []) {
            return in_array($key, Tables::LISTS, true) ? [] : new \stdClass();
        }
        if (!is_array($value)) {
            return $value;
        }
        $all = [];
        foreach ($value as $name => $inner) {
            $all[$name] = self::prepared($inner, (string) $name);
        }
        return $all;
    }
}
