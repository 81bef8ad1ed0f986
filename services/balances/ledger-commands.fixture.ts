import fc from 'fast-check'
import { adjustmentId, type Command, type HoldCommand, resolutionId, settlementId } from './domain/command.ts'
import type { PayoutLimits } from './domain/payout-limits.ts'

const INT64_MAX = 2n ** 63n - 1n

/** Three merchants of the same shard of the test environment, so that they share batches. */
export const MERCHANTS = ['1', '12', '31'] as const

/**
 * Generates commands over few merchants, ids and holds. So repeats, id conflicts, resolutions of open and of unknown
 * holds, and amounts near 64 bits are frequent. Limits are near the amounts, and differ from one repeat to the next.
 */
export function commands(size: { min: number; max: number }): fc.Arbitrary<Command[]> {
  const number = fc.integer({ min: 0, max: 40 })
  const amount = fc.oneof(
    { weight: 12, arbitrary: fc.bigInt({ min: 1n, max: 1_000n }) },
    { weight: 1, arbitrary: fc.bigInt({ min: 2n ** 62n, max: INT64_MAX }) },
    { weight: 1, arbitrary: fc.constantFrom(0n, -1n, INT64_MAX) },
  )
  const limits = payoutLimits(5_000n)
  const common = fc.record({
    merchant_id: fc.constantFrom(...MERCHANTS),
    currency: fc.constantFrom('INR', 'MXN'),
    number,
    amount,
    limits,
  })
  const command = fc
    .tuple(fc.integer({ min: 0, max: 99 }), common)
    .map(([dice, fields]): Command => commandFrom(dice, fields))
  return fc.array(command, { minLength: size.min, maxLength: size.max, size: 'max' })
}

function commandFrom(
  dice: number,
  fields: { merchant_id: string; currency: string; number: number; amount: bigint; limits: PayoutLimits },
): Command {
  const { merchant_id, currency, number, amount, limits } = fields
  const reason = 'property'
  if (dice < 25) {
    const id = `credit-${number}`
    return {
      kind: 'transfer',
      id,
      merchant_id,
      currency,
      debit: 'clearing',
      credit: 'available',
      amount,
      reason,
    }
  }
  if (dice < 55) {
    const hold: HoldCommand = { kind: 'hold', id: `hold-${number}`, merchant_id, currency, amount, reason }
    return dice < 35 ? hold : { ...hold, limits }
  }
  if (dice < 80) {
    const hold_id = `hold-${number}`
    return {
      kind: dice < 68 ? 'capture' : 'release',
      id: resolutionId(hold_id),
      merchant_id,
      hold_id,
      reason,
    }
  }
  if (dice < 90) {
    const credit = dice < 86 ? 'chargebacks' : 'fees'
    return {
      kind: 'transfer',
      id: `${credit}-${number}`,
      merchant_id,
      currency,
      debit: 'available',
      credit,
      amount,
      reason,
    }
  }
  const operation_id = `op-${number}`
  if (dice < 93) {
    const id = settlementId(merchant_id, operation_id)
    return { kind: 'settlement', id, merchant_id, operation_id, currency, reason }
  }
  const id = adjustmentId(merchant_id, operation_id)
  const signed = amount === 0n || dice < 97 ? amount || 1n : -amount
  return { kind: 'adjustment', id, merchant_id, operation_id, currency, amount: signed, reason }
}

/** Payout limits up to `max` in zones whose days begin up to 25 hours apart; some limits are absent. */
function payoutLimits(max: bigint): fc.Arbitrary<PayoutLimits> {
  const limit = fc.oneof(fc.constant(0n), fc.bigInt({ min: 1n, max }))
  return fc.record({
    service_id: fc.constantFrom(7, 8),
    timezone: fc.constantFrom(
      'UTC',
      'Asia/Kolkata',
      'Pacific/Kiritimati',
      'Pacific/Midway',
      'America/Mexico_City',
    ),
    maximum: limit,
    daily: limit,
    monthly: limit,
    since_settlement: limit,
  })
}

/**
 * Generates mostly withdrawals of one merchant with funds for all of them, so that only their limits refuse them, with
 * captures, releases and settlements between them.
 */
export function withdrawals(size: { min: number; max: number }): fc.Arbitrary<Command[]> {
  const [merchant_id] = MERCHANTS
  const common = { merchant_id, reason: 'property' }
  const drawn = fc.record({
    dice: fc.integer({ min: 0, max: 99 }),
    number: fc.integer({ min: 0, max: 200 }),
    amount: fc.bigInt({ min: 1n, max: 100n }),
    limits: payoutLimits(1_500n),
  })
  const command = drawn.map(({ dice, number, amount, limits }): Command => {
    const hold_id = `hold-${number}`
    const currency = 'INR'
    if (dice < 65) return { kind: 'hold', id: hold_id, ...common, currency, amount, limits }
    if (dice < 95)
      return { kind: dice < 75 ? 'capture' : 'release', id: resolutionId(hold_id), ...common, hold_id }
    const operation_id = `op-${number}`
    const id = settlementId(merchant_id, operation_id)
    return { kind: 'settlement', id, ...common, operation_id, currency }
  })
  const funds: Command = {
    kind: 'transfer',
    id: 'funds',
    ...common,
    currency: 'INR',
    debit: 'clearing',
    credit: 'available',
    amount: 1_000_000n,
  }
  return fc
    .array(command, { minLength: size.min, maxLength: size.max, size: 'max' })
    .map((list) => [funds, ...list])
}
