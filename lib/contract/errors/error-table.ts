/**
 * Whether a client may retry: `no` (change the request first), `yes` (later, with the same key), `depends` (the advice for
 * the code says on what), `next_day` (in UTC), or `while_scanning` (as long as the file is being scanned).
 */
export type Retry = 'no' | 'yes' | 'depends' | 'next_day' | 'while_scanning'

/** The gRPC status names that the table uses, spelled like Connect's `Code`. */
type RpcCode =
  | 'InvalidArgument'
  | 'NotFound'
  | 'AlreadyExists'
  | 'PermissionDenied'
  | 'Unauthenticated'
  | 'FailedPrecondition'
  | 'ResourceExhausted'
  | 'Unavailable'
  | 'Internal'
  | 'Aborted'

type HttpStatus = 400 | 403 | 404 | 409 | 429 | 503

/** One row of the error table. `http` is the HTTP status on the public paths. */
export interface ErrorRow {
  readonly http: HttpStatus
  /** A second HTTP status, which some refusals with this code have: `PublicError.http` (E10, E13). */
  readonly second_http?: HttpStatus
  readonly rpc: RpcCode
  readonly message: string
  readonly retry: Retry
}

const row = (http: HttpStatus, rpc: RpcCode, message: string, retry: Retry = 'no'): ErrorRow => ({
  http,
  rpc,
  message,
  retry,
})

/**
 * All errors that a caller of Multihub can get (spec: Errors; E12). The gateway, the services, the tests and the error
 * reference for merchants read this table. 1000 has status 429 when it refuses an exhausted rate-limit bucket (E10), and
 * 2002 has status 503 for a v2 nonce that cannot be stored (E13): see `PublicError.http`.
 */
export const ERROR_TABLE = {
  1000: { ...row(400, 'ResourceExhausted', 'Common error', 'yes'), second_http: 429 },
  1001: row(400, 'NotFound', 'Endpoint not found'),
  1002: row(404, 'NotFound', 'Method does not exist or is not available'),
  1003: row(400, 'FailedPrecondition', 'Incorrect use of the API'),
  1004: row(400, 'NotFound', 'Payment system does not exist for the application'),
  1005: row(400, 'InvalidArgument', 'Invalid request format or missing field'),
  1006: row(400, 'InvalidArgument', 'Invalid Content-Type'),
  1007: row(400, 'InvalidArgument', 'HTTP method not allowed'),
  1008: row(400, 'FailedPrecondition', 'Method not allowed for this payment system'),
  1009: row(400, 'FailedPrecondition', 'Invalid provider'),
  1010: row(400, 'InvalidArgument', 'Currency does not exist or is not available'),
  1011: row(400, 'FailedPrecondition', 'Balance not set for the application'),
  1012: row(400, 'FailedPrecondition', 'Not enough funds on the application'),
  1013: row(409, 'Aborted', 'Idempotency key reused with another payload'),
  2000: row(400, 'Internal', 'Payment hub error', 'yes'),
  2001: row(400, 'Internal', 'Unexpected error', 'yes'),
  2002: { ...row(400, 'Unavailable', 'A dependency is not available', 'yes'), second_http: 503 },
  3000: row(400, 'Unauthenticated', 'Authentication error'),
  3001: row(400, 'Unauthenticated', 'Missing or incorrect application id header'),
  3002: row(400, 'Unauthenticated', 'Missing or incorrect hash header'),
  3003: row(400, 'Unauthenticated', 'Application does not exist'),
  3004: row(400, 'PermissionDenied', 'Application is disabled'),
  3005: row(400, 'PermissionDenied', 'Application is blocked'),
  3006: row(400, 'PermissionDenied', 'Address is not in the allowlist'),
  3007: row(400, 'FailedPrecondition', 'Application settings error'),
  3008: row(403, 'PermissionDenied', 'Denied by the credential policy or scope'),
  3009: row(429, 'ResourceExhausted', 'Daily request limit of the credential exceeded', 'next_day'),
  4000: row(400, 'FailedPrecondition', 'Provider account error'),
  4001: row(400, 'FailedPrecondition', 'Provider authorization data incorrect'),
  4002: row(400, 'FailedPrecondition', 'Security issue with the provider'),
  5000: row(400, 'FailedPrecondition', 'Customer account error'),
  5001: row(400, 'NotFound', 'Provider account not found'),
  5002: row(400, 'PermissionDenied', 'Provider account blocked'),
  6000: row(400, 'FailedPrecondition', 'Payment error', 'depends'),
  6001: row(400, 'InvalidArgument', 'Incorrect transaction amount'),
  6002: row(400, 'InvalidArgument', 'Incorrect currency code'),
  6003: row(400, 'FailedPrecondition', 'Payment verification required'),
  6004: row(400, 'FailedPrecondition', 'Insufficient funds'),
  6005: row(400, 'ResourceExhausted', 'Monthly limit exceeded'),
  6006: row(400, 'ResourceExhausted', 'Daily limit exceeded'),
  6009: row(400, 'AlreadyExists', 'Payment already exists'),
  6010: row(400, 'NotFound', 'Payment does not exist'),
  6011: row(400, 'FailedPrecondition', 'Payment expired'),
  6012: row(400, 'FailedPrecondition', 'Payment canceled by the user'),
  6013: row(400, 'PermissionDenied', 'Ban on the payment'),
  6034: row(400, 'FailedPrecondition', 'Canceled by the provider'),
  6035: row(400, 'ResourceExhausted', 'Payout limits exceeded'),
  6043: row(400, 'FailedPrecondition', 'Payment canceled'),
  6044: row(400, 'FailedPrecondition', 'Payment declined'),
  6045: row(400, 'FailedPrecondition', 'User waiting time exceeded'),
  7000: row(400, 'Unavailable', 'Provider error', 'yes'),
  7001: row(400, 'Unavailable', 'Provider interaction error', 'yes'),
  7002: row(400, 'Unavailable', 'Provider not available', 'yes'),
  7003: row(400, 'Unavailable', 'Provider interaction problem', 'yes'),
  8000: row(400, 'Internal', 'Data error'),
  8001: row(400, 'Internal', 'Error processing data', 'depends'),
  8600: row(400, 'InvalidArgument', 'Invalid bank credentials'),
  8601: row(400, 'InvalidArgument', 'Invalid bank code'),
  8801: row(400, 'FailedPrecondition', 'The current status forbids the action'),
  9000: row(400, 'InvalidArgument', 'Validation error'),
  10001: row(404, 'NotFound', 'Ticket or payment not found'),
  10002: row(409, 'AlreadyExists', 'Ticket already exists for the payment'),
  10003: row(409, 'FailedPrecondition', 'Ticket state forbids the action'),
  10004: row(409, 'FailedPrecondition', 'Edit window of one hour has expired'),
  10005: row(400, 'FailedPrecondition', 'Verified attachment required'),
  11001: row(404, 'NotFound', 'Refund request not found'),
  11002: row(409, 'FailedPrecondition', 'Payment is not eligible for a refund'),
  11003: row(400, 'InvalidArgument', 'Invalid refund amount'),
  11004: row(409, 'FailedPrecondition', 'Refund amount exceeds the remaining amount'),
  11005: row(409, 'AlreadyExists', 'An active refund request already exists'),
  12001: row(404, 'NotFound', 'Chargeback not found'),
  13001: row(404, 'NotFound', 'Attachment not found'),
  13002: row(409, 'FailedPrecondition', 'Upload session expired'),
  13003: row(409, 'FailedPrecondition', 'Attachment is not ready', 'while_scanning'),
  13004: row(409, 'FailedPrecondition', 'Attachment rejected'),
} as const satisfies Readonly<Record<number, ErrorRow>>

/** A code of the error table. */
export type ErrorCode = keyof typeof ERROR_TABLE

/** Whether a number is a code of the table. Codes from outside (a provider, an older process) may not be. */
export function isErrorCode(code: number): code is ErrorCode {
  return Object.hasOwn(ERROR_TABLE, code)
}
