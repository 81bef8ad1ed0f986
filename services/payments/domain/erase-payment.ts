import { isFinal } from '#lib/contract/payment-status.ts'
import { defineEffect, isOneOf } from '#lib/patterns/effects/define-effect.ts'
import { isAdmitted, type Payment, type StoredPayment } from './payment.ts'

/** Why a payment was erased: the operator asked for it, or its time is over. */
type ErasureCause = 'request' | 'retention'

/**
 * The effect that erases the payment's callbacks and the operator's notes and, on request, its ticket, refunds and chargebacks: by
 * themselves these are erased when their own time is over.
 */
export const erasePersonEffect = defineEffect({
  kind: 'erase_person',
  lane: 'independent',
  data: { cause: isOneOf<ErasureCause>(['request', 'retention']) },
  id: ({ payment_id }: Payment) => `${payment_id}:erase`,
})

const OPEN_REFUNDS: readonly string[] = ['pending', 'approving', 'approved']

/**
 * Whether a payment has ended, with its refunds and late lookups, and nothing of it waits to be done: only then nobody needs what
 * identifies its person (O11).
 */
export function hasEnded(payment: StoredPayment): payment is Payment {
  const { refunds = [], effects } = payment
  const is_open = effects.length > 0 || refunds.some(({ state }) => OPEN_REFUNDS.includes(state))
  return isAdmitted(payment) && isFinal(payment.status) && !is_open
}

/**
 * Since when a payment can be erased, for the index of the walk that erases: the end of what has ended, or the beginning of time
 * for one that an erasure waits for. `undefined` while it is open, and when it is erased. Pure.
 */
export function erasableSince(payment: StoredPayment): Date | undefined {
  const { erased_at, erase_when_ended, updated_at } = payment
  if (erased_at !== undefined || !hasEnded(payment)) return undefined
  return erase_when_ended ? new Date(0) : updated_at
}

/**
 * Since when the body of a payment can be archived: the last change of a production payment that has ended and is erased, so that no
 * file has what identifies a person, and neither an erasure nor a change of master keys concerns a file. Payments of test are
 * deleted instead. `undefined` for all others. Pure.
 */
export function archivableSince(payment: StoredPayment): Date | undefined {
  const { environment, erased_at, updated_at } = payment
  const can_be_archived = environment === 'production' && erased_at !== undefined && hasEnded(payment)
  return can_be_archived ? updated_at : undefined
}

/**
 * The payment without what identifies a person. Amounts, ids, statuses and times stay. For one that is erased already, only the
 * effect is repeated, because tickets and comments may have been written since. Pure.
 */
export function erasePayment(payment: Payment, cause: ErasureCause, at: Date): Payment {
  const erased = {
    ...payment,
    details: undefined,
    beneficiary: undefined,
    instructions: undefined,
    erase_when_ended: undefined,
    erased_at: payment.erased_at ?? at,
  }
  return { ...erased, effects: [...payment.effects, erasePersonEffect.newEffect(erased, { cause }, { at })] }
}
