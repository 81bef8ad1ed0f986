<?php

declare(strict_types=1);

// Drives the client for the tests in test/clients: one act per line of the input, one answer per line of the output.

use Multihub\Client\CallbackError;
use Multihub\Client\Callbacks;
use Multihub\Client\Client;
use Multihub\Client\OutcomeUnknownError;
use Multihub\Client\RefusalError;
use Multihub\Client\Settings;
use Multihub\Client\Signatures;
use Multihub\Client\TransportError;

require __DIR__ . '/autoload.php';

// What the acts share; an arrow function would keep the value of a variable from before the first act.
$state = new stdClass();
$received = tempnam(sys_get_temp_dir(), 'multihub-received-');
$servers = [];

$acts = [
    'settings' => function (array $act) use ($state): string {
        $s = $act['settings'];
        $settings = new Settings(
            $s['base_url'],
            $s['application_id'],
            $s['secret'],
            $s['version'],
            $s['timeout_ms'],
            $s['tries_max'],
            $s['wait_ms'],
            $s['wait_max_ms'],
            $s['deadline_ms'],
        );
        $state->client = new Client($settings);
        return print_r($state->client, true);
    },
    'create' => fn (array $act) => $state->client->createPayment($act['method'], $act['request'], $act['resume'] ?? false),
    'call' => fn (array $act) => $state->client->call($act['method'], $act['request']),
    'resend' => fn (array $act) => $state->client->resendWebhook($act['payment_id'], $act['operation_id']),
    'each' => fn (array $act) => iterator_to_array($state->client->each($act['method'], $act['request']), false),
    'balance_text' => fn (array $act) => (string) $state->client->balanceGet()['balance']['amounts'][0]['value'],
    'upload' => function (array $act) use ($state): array {
        $file = $act['file'];
        return $state->client->uploadFile($file['text'], $file['purpose'], $file['name'], $file['mime_type'], $act['operation_id'], $act['scan_ms'] ?? 60_000);
    },
    'download' => fn (array $act) => $state->client->downloadFile($act['h_id']),
    'sign' => fn (array $act) => match ($act['scheme']) {
        'v1' => Signatures::signV1((int) $act['application_id'], $act['secret'], $act['body']),
        'v2' => Signatures::signV2((int) $act['application_id'], $act['secret'], $act['body'], $act['timestamp'], $act['nonce']),
        default => Signatures::signResend(
            (int) $act['application_id'],
            $act['secret'],
            $act['path'],
            $act['body'],
            $act['timestamp'],
            $act['nonce'],
        ),
    },
    'check' => fn (array $act) => $act['scheme'] === 'v1'
        ? Signatures::verifyV1($act['secret'], $act['body'], $act['signature'])
        : Signatures::verifyV2(
            (int) $act['application_id'],
            $act['secret'],
            $act['request_nonce'],
            $act['request_id'],
            $act['http_status'],
            $act['body'],
            $act['signature'],
        ),
    'webhook_secret' => fn (array $act) => Signatures::webhookSecret($act['api_secret']),
    'verify' => fn (array $act) => Callbacks::verify(
        $act['headers'],
        $act['body'],
        $act['secrets'],
        isset($act['now_ms']) ? $act['now_ms'] / 1000 : null,
    )['id'] ?? null,
    'key' => fn (array $act) => Callbacks::key($act['callback']),
    'serve' => function (array $act) use ($received, &$servers): string {
        $socket = stream_socket_server('tcp://127.0.0.1:0');
        $address = stream_socket_get_name($socket, false);
        fclose($socket);
        $env = ['SECRETS' => implode(',', $act['secrets']), 'RECEIVED' => $received] + getenv();
        $log = tempnam(sys_get_temp_dir(), 'multihub-receiver-');
        $quiet = [['file', '/dev/null', 'r'], ['file', '/dev/null', 'w'], ['file', $log, 'w']];
        $servers[] = $server = proc_open([PHP_BINARY, '-S', $address, __DIR__ . '/receiver.php'], $quiet, $pipes, null, $env);
        while (!($probe = @stream_socket_client("tcp://$address"))) {
            proc_get_status($server)['running'] || throw new RuntimeException('the receiver ended: ' . file_get_contents($log));
            usleep(20_000);
        }
        fclose($probe);
        return "http://$address/callbacks";
    },
    'received' => fn (array $act) => array_values(array_filter(explode("\n", (string) file_get_contents($received)))),
];

$errorOf = fn (\Throwable $error): array => ['message' => $error->getMessage()] + match (true) {
    $error instanceof RefusalError => ['kind' => 'refusal', 'code' => $error->getCode(), 'retry' => $error->retry, 'operation_id' => $error->operationId],
    $error instanceof OutcomeUnknownError => ['kind' => 'unknown', 'text' => $error->getPrevious()->text ?? null],
    $error instanceof TransportError => ['kind' => 'transport', 'reason' => $error->reason, 'text' => $error->text, 'operation_id' => $error->operationId],
    $error instanceof CallbackError => ['kind' => 'callback', 'reason' => $error->reason],
    default => ['kind' => 'other'],
};

$end = function () use (&$servers, $received): void {
    foreach ($servers as $server) {
        proc_terminate($server);
    }
    @unlink($received);
};
register_shutdown_function($end);
pcntl_async_signals(true);
pcntl_signal(SIGTERM, fn () => exit(0));

while (($line = fgets(STDIN)) !== false) {
    $act = json_decode($line, true);
    try {
        $answer = ['result' => $acts[$act['act']]($act)];
    } catch (\Throwable $error) {
        $answer = ['error' => $errorOf($error)];
    }
    echo json_encode($answer, JSON_INVALID_UTF8_SUBSTITUTE | JSON_UNESCAPED_UNICODE), "\n";
}
