import type { ErrorCode } from '#lib/contract/errors/error-table.ts'
import { PublicError } from '#lib/contract/errors/public-error.ts'
import type { Effect } from '#lib/patterns/effects/effect.ts'
import { closeAnomaly, newLedgerRefusalAnomaly } from './anomaly.ts'
import { type Correction, isAdmitted, type Payment, type StoredPayment } from './payment.ts'
import { holdFundsEffect, postEntryEffect } from './payment-effects.ts'

/** The operator's decision to give up an entry, with the entry that was booked instead, and why. */
export interface GivingUp extends Omit<Correction, 'at'> {
  readonly note: string
}

/**
 * The codes of refusals that no retry changes: the id of the entry belongs to another entry, or its hold is not open. With any
 * other code the entry could still be posted later, and would move the money a second time.
 */
const PERMANENT_CODES: readonly ErrorCode[] = [1013, 8801]

const RETRY_REASON =
  'only an entry that the ledger refused with 1013 or 8801 is given up: mend the cause, and retry this effect'
const HOLD_REASON =
  'a hold is not given up, because it has moved nothing and nothing was sent: mend the cause, and retry it'

/**
 * Ends the stuck effect of an entry that the ledger refuses permanently: what waited for the entry follows, and its anomaly is
 * dismissed (P7). Pure. `undefined` when this very decision was made before. Throws 1013 when its `operation_id` had another one,
 * and 8801 when the payment has no such stuck effect, or one that a retry can still end.
 */
export function giveUpEntry(payment: StoredPayment, givingUp: GivingUp, at: Date): Payment | undefined {
  const { effect_id, entry_id, operation_id, note } = givingUp
  const { corrections = [], effects } = payment
  const earlier = corrections.find((correction) => correction.operation_id === operation_id)
  if (earlier) {
    if (earlier.effect_id !== effect_id || earlier.entry_id !== entry_id) throw new PublicError(1013)
    return undefined
  }
  const given_up = effects.find(({ id, stuck }) => id === effect_id && stuck)
  if (given_up === undefined) throw new PublicError(8801)
  const anomalies = permanentRefusals(payment, given_up, at)
  if (!isAdmitted(payment) || !postEntryEffect.matches(given_up) || anomalies.length === 0) {
    const reason = holdFundsEffect.matches(given_up) ? HOLD_REASON : RETRY_REASON
    throw new PublicError(8801, { details: { reason } })
  }
  const corrected: Payment = {
    ...payment,
    effects: effects.filter((effect) => effect !== given_up),
    corrections: [...corrections, { effect_id, entry_id, operation_id, at }],
  }
  return anomalies.reduce(
    (current, anomaly) => closeAnomaly(current, anomaly, at, { operation_id, note }),
    corrected,
  )
}

/** The anomalies that the payment has because the ledger refused the entry permanently: one per code. */
function permanentRefusals(payment: StoredPayment, entry: Effect, at: Date): Effect[] {
  return PERMANENT_CODES.map((code) => newLedgerRefusalAnomaly(payment, { entry, code, at })).filter(
    ({ id }) => payment.anomalies?.includes(id),
  )
}
