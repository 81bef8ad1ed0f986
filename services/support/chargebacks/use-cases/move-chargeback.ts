import { now } from '#lib/base/time.ts'
import { PublicError } from '#lib/contract/errors/public-error.ts'
import type { Stored } from '#lib/store/store.ts'
import { type Chargeback, type ChargebackHistoryEntry, canMove, withStatus } from '../domain/chargeback.ts'
import { findChargebackById, keyOfChargeback } from '../store/chargebacks.ts'
import type { ChargebacksDeps } from './record-chargeback.ts'

/**
 * The operator moves a chargeback to its next status. One that the merchant has won is credited back, normally before this
 * returns. Throws 12001 for an unknown chargeback, and 8801 for a change that the table forbids; a repetition changes nothing.
 */
export async function moveChargeback(
  { chargebacks, runner }: ChargebacksDeps,
  chargeback_id: string,
  { status, note }: Pick<ChargebackHistoryEntry, 'status' | 'note'>,
): Promise<Stored<Chargeback>> {
  const found = await findChargebackById(chargebacks, chargeback_id)
  if (!found) throw new PublicError(12001)
  const decide = (current: Chargeback): Chargeback | undefined => {
    if (current.status === status) return undefined
    if (!canMove(current.status, status)) throw new PublicError(8801)
    return withStatus(current, { status, at: now(), ...(note === undefined ? {} : { note }) })
  }
  const stored = await runner.update(keyOfChargeback(found), decide, found)
  if (!stored) throw new PublicError(12001)
  return runner.runEffects(stored)
}
