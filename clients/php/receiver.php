<?php

declare(strict_types=1);

// A receiver for PHP's own server, by PSR-7: SECRETS are separated by commas, and RECEIVED names a file for the ids.

use Multihub\Client\CallbackReceiver;
use Nyholm\Psr7\Factory\Psr17Factory;
use Nyholm\Psr7\ServerRequest;

require __DIR__ . '/autoload.php';
require getenv('PSR7_AUTOLOAD') ?: '/usr/share/php/Nyholm/Psr7/autoload.php';

$store = function (array $callback): void {
    if (str_starts_with($callback['id'], 'fail')) {
        throw new RuntimeException('the store is away');
    }
    $payment = $callback['data']['result']['payment'] ?? null;
    file_put_contents((string) getenv('RECEIVED'), "$callback[id]\n", FILE_APPEND | LOCK_EX);
    error_log("verified $callback[id]: " . ($payment['status']['status'] ?? ''));
};
$receiver = new CallbackReceiver(explode(',', (string) getenv('SECRETS')), $store, new Psr17Factory());
$request = new ServerRequest($_SERVER['REQUEST_METHOD'], $_SERVER['REQUEST_URI'], getallheaders(), fopen('php://input', 'r'));
try {
    $status = $receiver->handle($request)->getStatusCode();
} catch (Throwable $error) {
    error_log($error->getMessage());
    $status = 500;
}
http_response_code($status);
