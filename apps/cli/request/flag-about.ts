import type { DescField } from '@bufbuild/protobuf'
import { enumNames } from './field-value.ts'

/** What flags mean whose names do not say it. */
const ABOUT: Readonly<Record<string, string>> = {
  operation_id: 'the same act under the same id is done once (default: a new id)',
  merchant_id: 'the merchant, such as 1001',
  created_from: 'from this time, in UTC: 2026-11-22T08:00:00Z, 2026-11-22, or 2h for two hours ago',
  created_to: 'before this time',
  at: 'as it was at this time',
  reveal: 'show personal data; it is audited',
  as_merchant: 'leave out what the merchant does not see',
  oldest_first: 'the oldest first',
  newest_first: 'the newest first',
  by_deadline: 'the nearest deadline first',
  amount: 'such as "123.00 INR"',
  payout_limits:
    'in major units, such as "daily=1000.00,monthly=5000.00"; names: minimum, maximum, daily, monthly, since_settlement',
  minimum_amount: 'the least amount of a payment, such as "1.00 INR"',
  above_minor: 'the amount, such as "2000.00 INR"; without it, the limit is removed',
  timezone: 'an IANA name, such as Asia/Kolkata',
  overlap_seconds: 'how long the old secret counts too',
  url: 'where callbacks go',
  provider_accounts: 'in the order in which they are tried',
  payment_id: 'of one payment',
  body: 'the text',
  internal: 'a note that the merchant does not see',
  expires_at: 'when it ends',
  rights: 'of read, support, money, admin, reveal, rotate',
  rpc: 'such as multihub.balances.v1.BalanceService/Adjust',
  only_refused: 'only refusals',
  reason: 'why; it is kept with the act',
  open_only: 'only what is not resolved',
  queue_anyway: 'also for a receiver that is down',
}

/** The description of a flag: what its field means, or the values that it takes. */
export function flagAbout(field: DescField): string {
  const choices =
    field.fieldKind !== 'map' && field.enum !== undefined ? [...enumNames(field.enum).keys()].join(', ') : ''
  return [ABOUT[field.name] ?? '', choices].filter((part) => part !== '').join(': ')
}
