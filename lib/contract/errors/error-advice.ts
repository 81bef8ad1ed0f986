import type { ErrorCode } from './error-table.ts'

const ASK_OPERATOR = 'Change nothing and ask the operator.'
const RETRY_UNCHANGED = 'Try again later, with the same idempotency key and exactly the same body.'
const NEW_PAYMENT = 'This payment has ended; create another one with a new `c_id`.'
const IF_ENDED = 'If a payment has ended with this code, create another one with a new `c_id`.'
const CHECK_STATUS =
  'Call `payment.status`. If the payment has not ended, wait: it will. If it has failed, create another one with a new ' +
  '`c_id`. If it does not exist (6010), send the same request again.'
const CHECK_OWNER =
  'Check the identifier and which of your credentials you use: objects of another merchant or environment are not found.'

/** What a merchant should do about each code of the error table. A code without advice does not compile. */
export const ERROR_ADVICE: Readonly<Record<ErrorCode, string>> = {
  1000: 'With HTTP 429, a quota is used up: wait as long as `Retry-After` says. Otherwise try again later.',
  1001: 'Check the path, letter by letter.',
  1002: 'Check the name of the method. If it is right, the method is not enabled for you, or the route is disabled.',
  1003:
    'Read `details.description`: the URL has a `query`, there are too many `headers`, the `host` header is not there ' +
    'exactly once, the HTTP `version` is not 1.0 or 1.1, the `transfer-encoding` is not just chunked, or the `body` is ' +
    'over 1 MiB or arrives in too many tiny pieces. `no callback destination` means: create payments with a ' +
    '`webhook_url`, or have the operator add a callback endpoint. Without a description, the request was not valid HTTP.',
  1004: 'Use the `service_id` of one of your own routes.',
  1005: 'Correct the field that `details.description` names; `body` means the body as a whole.',
  1006: 'Send `Content-Type: application/json` and no `Content-Encoding`.',
  1007: 'Use POST (GET for /openapi.json).',
  1008: 'Use a deposit route for `payment.in` and a withdrawal route for `payment.out`.',
  1009: ASK_OPERATOR,
  1010: 'Use an ISO 4217 code in capital letters.',
  1011: 'You have no account that this credential may see; ask the operator for a route.',
  1012: 'Top up the account.',
  1013: 'Repeat the first request exactly, or use a new idempotency key for a new request.',
  2000: RETRY_UNCHANGED,
  2001: `If you were creating a payment, call \`payment.status\` first. ${RETRY_UNCHANGED}`,
  2002: `If you were creating a payment, call \`payment.status\` first. ${RETRY_UNCHANGED}`,
  3000: 'Sign exactly the bytes that you send, with the right secret; check your clock; never use a nonce twice.',
  3001: 'Send `X-Data-Application-Id` exactly once, as a positive integer.',
  3002: 'Send the hash or signature exactly once, as 128 lower-case hexadecimal digits.',
  3003: 'Check the application id, and that it belongs to this installation.',
  3004: ASK_OPERATOR,
  3005: ASK_OPERATOR,
  3006: 'Call from an IP address on the allowlist of the credential, or have yours added.',
  3007: ASK_OPERATOR,
  3008:
    'Check that you use the path of the API version of this credential, and the credential that is meant for this route ' +
    'and currency. If both are right, ask the operator to permit the scope, the route, the currency or the environment.',
  3009: 'Wait for the next day in UTC, or have the limit raised.',
  4000: ASK_OPERATOR,
  4001: ASK_OPERATOR,
  4002: ASK_OPERATOR,
  5000: 'Ask the customer to resolve this with the provider, or to pay in another way.',
  5001: "Check the customer's account at the provider with the customer.",
  5002: 'Ask the customer to use another account at the provider.',
  6000: CHECK_STATUS,
  6001: 'Use a whole number of minor units that is greater than 0 and within the limits of the route.',
  6002: 'Use the currency of the route.',
  6003: 'Have the customer complete the verification, then create another payment.',
  6004: 'Wait for deposits, or send a smaller amount.',
  6005: 'Wait for the next month in your time zone, or send a smaller amount.',
  6006: 'Wait for the next day in your time zone, or send a smaller amount.',
  6009: 'Do not create it again: `context` has its `h_id` and `status`; `payment.status` shows the rest.',
  6010: CHECK_OWNER,
  6011: NEW_PAYMENT,
  6012: NEW_PAYMENT,
  6013: ASK_OPERATOR,
  6034: NEW_PAYMENT,
  6035: 'Send a smaller amount, or ask the operator about the limits of the route.',
  6043: NEW_PAYMENT,
  6044: NEW_PAYMENT,
  6045: NEW_PAYMENT,
  7000: `Try again later. ${IF_ENDED}`,
  7001: `Try again later. ${IF_ENDED}`,
  7002: `Try again later, or use another route. ${IF_ENDED}`,
  7003: `Try again later. ${IF_ENDED}`,
  8000: ASK_OPERATOR,
  8001: CHECK_STATUS,
  8600: 'Check the account with the recipient: its digits, check digits and IFSC.',
  8601: 'Check the bank code with the recipient.',
  8801: 'Read the status: the action is not possible in this status, or not yet.',
  9000: 'Correct or remove the field that `details.description` names.',
  10001: CHECK_OWNER,
  10002: 'Continue with the ticket that `details` names.',
  10003: 'Read the ticket: only a resolved or closed ticket can be reopened.',
  10004: 'Write a new comment instead.',
  10005: 'Upload a file, wait until it is ready, and name it in `attachment_ids`.',
  11001: CHECK_OWNER,
  11002: 'Only a successful deposit of which something is left can be refunded, at most 100 times.',
  11003: 'Write the amount as a text of digits, in minor units, without leading zeros.',
  11004: 'Ask for at most the `remaining_amount` in `details`: what refunds and chargebacks have left.',
  11005: 'Wait until the first refund has ended.',
  12001: CHECK_OWNER,
  13001: CHECK_OWNER,
  13002: 'Prepare the upload again.',
  13003: 'Wait for the scan, then try again.',
  13004: 'Upload another file.',
}
