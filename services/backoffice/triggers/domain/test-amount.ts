import { isErrorCode } from '#lib/contract/errors/error-table.ts'

/** What becomes of a deposit in the sandbox. */
export type Outcome = 'any' | 'paid' | 'paid_refund_fails' | 'fails' | 'expires' | 'canceled'

type Ending = Exclude<Outcome, 'any'>

/** The last three digits of an amount that decide (docs/merchants/testing.md). Any others are paid too. */
const ENDINGS: Readonly<Record<number, Ending>> = {
  901: 'fails',
  902: 'fails',
  905: 'expires',
  906: 'canceled',
  907: 'fails',
  911: 'paid_refund_fails',
}

const DIGITS: Readonly<Record<Ending, bigint>> = {
  paid: 908n,
  paid_refund_fails: 911n,
  fails: 901n,
  expires: 905n,
  canceled: 906n,
}

/** What the sandbox makes of a deposit of an amount in minor units. */
export function outcomeOf(minor: bigint): Ending {
  const code = Number(minor % 1_000_000n) - 660_000
  if (code >= 4000 && code < 9000 && isErrorCode(code)) return 'fails'
  return ENDINGS[Number(minor % 1000n)] ?? 'paid'
}

/** The amount, with other last three digits where it would not end so. */
export function amountFor(outcome: Outcome, minor: bigint): bigint {
  if (outcome === 'any' || outcomeOf(minor) === outcome) return minor
  return minor - (minor % 1000n) + DIGITS[outcome]
}
