import type { ErrorCode } from '#lib/contract/errors/error-table.ts'

const SUPPORT = 'Change nothing and ask the operator.'
const LATER = 'Try again later, with the same key and the same bytes.'
const NEW_PAYMENT = 'This payment is over; begin another one under a new `c_id`.'
const AS_THE_END = 'Where a payment has ended with it, the next attempt is another one under a new `c_id`.'
const BY_STATUS =
  'Ask `payment.status`. A payment that has not ended will end by itself; after one that has ended badly, begin another ' +
  'one under a new `c_id`; if there is none (6010), send the same request again.'
const NOT_YOURS =
  'Check the identifier and which of your credentials you use: another merchant’s is not found either.'

/** What a merchant does about each code of the error table, for the reference. A code without advice does not compile. */
export const ADVICE: Readonly<Record<ErrorCode, string>> = {
  1000: 'With HTTP 429 a quota is used up: wait as long as `Retry-After` says. Otherwise try again later.',
  1001: 'Check the path, letter by letter.',
  1002: 'Check the method’s name; if it is right, the method is not switched on for you, or the route is disabled.',
  1003:
    'See `details.description`: the URL has a `query`, the `headers` are too many, the `host` is not named once, the ' +
    'HTTP `version` is not 1.0 or 1.1, the `transfer-encoding` is not just chunked, the `body` is over 1 MiB or in too ' +
    'many tiny pieces. With `no callback destination`, create payments with a `webhook_url` or have the operator ' +
    'subscribe an endpoint. Without a description the bytes were no valid HTTP.',
  1004: 'Use a `service_id` of your own routes.',
  1005: 'Put right the field that `details.description` names; `body` is the body as a whole.',
  1006: 'Send `Content-Type: application/json` and no `Content-Encoding`.',
  1007: 'Use POST (GET for /openapi.json).',
  1008: 'Use a deposit route for `payment.in` and a withdrawal route for `payment.out`.',
  1009: SUPPORT,
  1010: 'Use an ISO 4217 code in capital letters.',
  1011: 'You have no account that this credential may see; ask the operator for a route.',
  1012: 'Top up the account.',
  1013: 'Repeat the first request exactly, or use a new key for a new one.',
  2000: LATER,
  2001: `For a create, ask payment.status first. ${LATER}`,
  2002: `For a create, ask payment.status first. ${LATER}`,
  3000: 'Sign the exact bytes that you send, with the right secret; check the clock, and never use a nonce twice.',
  3001: 'Send `X-Data-Application-Id` once, as a positive integer.',
  3002: 'Send the hash or signature once, as 128 lower-case hexadecimal digits.',
  3003: 'Check the application id and whether it is of this installation.',
  3004: SUPPORT,
  3005: SUPPORT,
  3006: 'Call from an address on the allowlist, or have yours added.',
  3007: SUPPORT,
  3008: 'Use a credential that may do this: of this API version and environment, with the scope, for the route and the currency.',
  3009: 'Wait for the next day in UTC, or have the limit raised.',
  4000: SUPPORT,
  4001: SUPPORT,
  4002: SUPPORT,
  5000: 'Ask the customer to sort it out with the provider, or to pay in another way.',
  5001: 'Check the account with the customer.',
  5002: 'Ask the customer to use another account.',
  6000: BY_STATUS,
  6001: 'Use a whole number of minor units above 0 and within the limits of the route.',
  6002: 'Use the currency of the route.',
  6003: 'Have the customer complete the verification, then begin another payment.',
  6004: 'Wait for deposits, or send less.',
  6005: 'Wait for the next month in your timezone, or send less.',
  6006: 'Wait for the next day in your timezone, or send less.',
  6009: 'Do not create it again: `context` has its `h_id` and `status`; `payment.status` has the rest.',
  6010: NOT_YOURS,
  6011: NEW_PAYMENT,
  6012: NEW_PAYMENT,
  6013: SUPPORT,
  6034: NEW_PAYMENT,
  6035: 'Send less, or ask the operator about the limits of the route.',
  6043: NEW_PAYMENT,
  6044: NEW_PAYMENT,
  6045: NEW_PAYMENT,
  7000: `Try again later. ${AS_THE_END}`,
  7001: `Try again later. ${AS_THE_END}`,
  7002: `Try again later, or use another route. ${AS_THE_END}`,
  7003: `Try again later. ${AS_THE_END}`,
  8000: SUPPORT,
  8001: BY_STATUS,
  8600: 'Check the account with the recipient: its digits, check digits and IFSC.',
  8601: 'Check the bank code with the recipient.',
  8801: 'Read the status: what you want is not possible in it, or not yet.',
  9000: 'Put right, or leave out, the field that `details.description` names.',
  10001: NOT_YOURS,
  10002: 'Go on with the ticket that `details` names.',
  10003: 'Read the ticket: only a resolved or closed one can be reopened.',
  10004: 'Write a new comment instead.',
  10005: 'Upload a file, wait until it is ready, and name it in `attachment_ids`.',
  11001: NOT_YOURS,
  11002: 'Only a successful payment that is not fully refunded can be refunded.',
  11003: 'Write the amount as digits in a text, in minor units, without leading zeros.',
  11004: 'Ask for less: what remains of the payment is the most.',
  11005: 'Wait for the decision on the first request.',
  12001: NOT_YOURS,
  13001: NOT_YOURS,
  13002: 'Prepare the upload anew.',
  13003: 'Wait for the scan and try again.',
  13004: 'Upload another file.',
}
