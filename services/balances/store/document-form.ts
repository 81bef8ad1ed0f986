/** Whether one value is as it was written. */
type Check = (value: unknown) => boolean

/** A check for each field of a document. */
type Form = Readonly<Record<string, Check>>

const isText: Check = (value) => typeof value === 'string'
const isBigint: Check = (value) => typeof value === 'bigint'
const isInteger: Check = Number.isSafeInteger
const isTime: Check = (value) => value instanceof Date && !Number.isNaN(value.getTime())

const optional =
  (check: Check): Check =>
  (value) =>
    value === undefined || check(value)

const listOf =
  (check: Check): Check =>
  (value) =>
    Array.isArray(value) && value.every(check)

function hasForm(form: Form): Check {
  const checks = Object.entries(form)
  return (value) =>
    typeof value === 'object' &&
    value !== null &&
    checks.every(([name, check]) => check((value as Readonly<Record<string, unknown>>)[name]))
}

const WITHDRAWAL_COUNT: Form = { service_id: isInteger, day: isText, period: isInteger }

const HOLD: Form = {
  id: isText,
  merchant_id: isText,
  currency: isText,
  amount: isBigint,
  payment_id: optional(isText),
  counted: optional(hasForm(WITHDRAWAL_COUNT)),
}

const ACCOUNTS: Form = {
  merchant_id: isText,
  currency: isText,
  period: isInteger,
  available: isBigint,
  held: isBigint,
  clearing: isBigint,
  fees: isBigint,
  chargebacks: isBigint,
  adjustments: isBigint,
}

const WITHDRAWAL_TOTALS: Form = {
  ...WITHDRAWAL_COUNT,
  merchant_id: isText,
  currency: isText,
  day_total: isBigint,
  month_total: isBigint,
  period_total: isBigint,
}

const ENTRY: Form = {
  ...HOLD,
  kind: isText,
  debit: isText,
  credit: isText,
  reason: isText,
  refused_code: optional(isInteger),
  period: optional(isInteger),
  available: isBigint,
  held: isBigint,
}

/**
 * Whether a document of the journal has the form of a batch. A document that was altered, or restored with other types,
 * can have any form. Its hash does not show a number in place of a bigint, and a malformed one has no hash at all.
 */
export const hasBatchForm: Check = hasForm({
  shard: isInteger,
  seq: isBigint,
  time: isTime,
  format: isInteger,
  token: isText,
  entries: listOf(hasForm(ENTRY)),
  previous_hash: isText,
  hash: isText,
  ids: listOf(isText),
  statements: listOf(isText),
})

/** Whether a document has the form of the head of a snapshot. */
export const hasSnapshotHeadForm: Check = hasForm({
  shard: isInteger,
  format: isInteger,
  seq: isBigint,
  time: isTime,
  hash: isText,
  parts: listOf(hasForm({ seq: isBigint, id: isText, digest: isText })),
  repair_id: optional(isText),
  digest: isText,
})

/** Whether a document has the form of a part of a snapshot. */
export const hasSnapshotPartForm: Check = hasForm({
  shard: isInteger,
  format: isInteger,
  seq: isBigint,
  id: isText,
  accounts: listOf(hasForm(ACCOUNTS)),
  holds: listOf(hasForm(HOLD)),
  early_releases: listOf(isText),
  withdrawal_totals: listOf(hasForm(WITHDRAWAL_TOTALS)),
})
