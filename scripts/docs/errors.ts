import { ERROR_ADVICE } from '#lib/contract/errors/error-advice.ts'
import {
  ERROR_TABLE,
  type ErrorCode,
  type ErrorRow,
  isErrorCode,
  type Retry,
} from '#lib/contract/errors/error-table.ts'
import { tableText } from './limits.ts'

const RETRY_WORDS: Readonly<Record<Retry, string>> = {
  no: 'no',
  yes: 'yes, unchanged',
  depends: 'it depends',
  next_day: 'on the next day in UTC',
  while_scanning: 'while the file is scanned',
}

const UNKNOWN_ID = 'send an id that does not exist'
const NEEDS_OPERATOR = 'only the operator or a fault causes it'

/** How to provoke each code that comes in an envelope. Of the other codes, only 4xxx to 8xxx come: in `status.error`. */
const ENVELOPE: Readonly<Partial<Record<ErrorCode, string>>> = {
  1000: 'call `payment.notification` eleven times in a minute',
  1001: 'call another path',
  1002: 'send the method `payment.sideways`',
  1003: 'add a query to the URL',
  1004: 'send `service_id: 999999`',
  1005: 'leave `params` out',
  1006: 'send `Content-Type: text/plain`',
  1007: 'send PUT',
  1008: 'use a withdrawal route in `payment.in`',
  1010: 'send the currency `XQQ`',
  1011: NEEDS_OPERATOR,
  1013: 'send another payment under a used `operation_id`',
  2001: NEEDS_OPERATOR,
  2002: NEEDS_OPERATOR,
  3000: 'sign with a wrong secret',
  3001: 'leave the header out',
  3002: 'leave the header out',
  3003: 'send `X-Data-Application-Id: 999999`',
  3004: NEEDS_OPERATOR,
  3005: NEEDS_OPERATOR,
  3006: 'call from another address, when there is an allowlist',
  3007: NEEDS_OPERATOR,
  3008: 'sign a v2 request with a v1 credential',
  3009: 'exceed the daily limit, when there is one',
  6001: 'send the amount 0',
  6002: 'send the currency of another route',
  6004: 'withdraw more than the balance',
  6005: 'exceed the monthly limit of a withdrawal route',
  6006: 'exceed the daily limit of a withdrawal route',
  6009: 'create a payment twice',
  6010: UNKNOWN_ID,
  6035: 'exceed the limit per payment of a withdrawal route',
  7002: NEEDS_OPERATOR,
  8600: 'withdraw to an account with a wrong check digit',
  8601: 'withdraw with a bank code that does not exist',
  8801: 'resend the callback of a payment that is `processing`',
  9000: 'send a field that does not exist',
  10001: UNKNOWN_ID,
  10002: 'create a second ticket for the payment',
  10003: 'reopen an open ticket',
  10004: 'edit a comment after an hour',
  10005: 'create a ticket of the category `payment_issue` without a file',
  11001: UNKNOWN_ID,
  11002: 'ask for a refund of a deposit that ends in 905',
  11003: 'send the amount `"0100"`',
  11004: 'ask for more than the deposit',
  11005: 'ask for a refund twice',
  12001: UNKNOWN_ID,
  13001: UNKNOWN_ID,
  13002: 'finalize an upload after 15 minutes',
  13003: 'download a file before it is scanned',
  13004: 'upload the EICAR test file',
}

/** Where a code comes: in the envelope, in `status.error` of a payment, in both, or never. */
export function placesOf(code: ErrorCode): readonly ('envelope' | '`status.error`')[] {
  const is_of_payment = code >= 4000 && code < 9000
  return [
    ...(ENVELOPE[code] === undefined ? [] : (['envelope'] as const)),
    ...(is_of_payment ? (['`status.error`'] as const) : []),
  ]
}

/** The groups of codes: the first code of each, and what its codes are about. */
const GROUPS: readonly (readonly [first: number, title: string])[] = [
  [1000, 'The request'],
  [2000, 'The system'],
  [3000, 'Authentication'],
  [4000, 'The account at the provider'],
  [5000, 'The account of the customer'],
  [6000, 'The payment'],
  [7000, 'The provider'],
  [8000, 'Data and status'],
  [9000, 'Validation'],
  [10_000, 'Tickets'],
  [11_000, 'Refunds'],
  [12_000, 'Chargebacks'],
  [13_000, 'Files'],
]

/** The error tables for merchants, one for each group of codes. Each code is an anchor of the page. */
export function errorTables(): string {
  const codes = Object.keys(ERROR_TABLE).map(Number).filter(isErrorCode)
  const tables = GROUPS.map(([first, title]) => {
    const rows = codes.filter((code) => code >= first && code < first + 1_000).map(rowOf)
    return `\n### ${title}\n\n${tableText([COLUMNS, ...rows])}\n`
  })
  return tables.join('')
}

const COLUMNS = ['Code', 'Meaning', 'HTTP', 'Comes in', 'How to provoke it', 'Try again?', 'What to do']

function rowOf(code: ErrorCode): readonly unknown[] {
  const { http, second_http, message, retry }: ErrorRow = ERROR_TABLE[code]
  const statuses = second_http === undefined ? http : `${http} or ${second_http}`
  const places = placesOf(code)
  const amount = places.includes('`status.error`') ? [`an amount that ends in 66${code}`] : []
  const provoked = [...amount, ...(places.includes('envelope') ? [ENVELOPE[code]] : [])].join('; envelope: ')
  const comes = [places.join(', ') || 'never', provoked || '-']
  return [`<a id="${code}"></a>${code}`, message, statuses, ...comes, RETRY_WORDS[retry], ERROR_ADVICE[code]]
}
