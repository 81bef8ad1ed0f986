import { now } from '#lib/base/time.ts'
import { PublicError } from '#lib/contract/errors/public-error.ts'
import type { Stored } from '#lib/store/store.ts'
import { hasFile } from '../../domain/support-resource.ts'
import type { AttachmentUse } from '../../use-cases/attachment-use.ts'
import { withClaimed } from '../../use-cases/claim-attachments.ts'
import {
  type Chargeback,
  type ChargebackHistoryEntry,
  canMove,
  withEvidence,
  withStatus,
} from '../domain/chargeback.ts'
import { keyOfChargeback } from '../store/chargebacks.ts'
import { getChargeback } from './find-chargeback.ts'
import type { ChargebackDeps } from './open-chargeback.ts'

/**
 * The operator moves a chargeback to its next status. One that the merchant has won is credited back, normally before this
 * returns. Throws 12001 for an unknown chargeback, and 8801 for a change that the table forbids; a repetition changes nothing.
 */
export async function moveChargeback(
  { chargebacks, runner }: ChargebackDeps,
  chargeback_id: string,
  { status, note }: Omit<ChargebackHistoryEntry, 'at'>,
): Promise<Stored<Chargeback>> {
  const found = await getChargeback(chargebacks, chargeback_id)
  const decide = (current: Chargeback): Chargeback | undefined => {
    // Each status is entered once, so one that the chargeback was moved to is the act of this call, also after later moves (O12.8).
    const [, ...moves] = current.history
    if (current.status === status || moves.some((move) => move.status === status)) return undefined
    if (!canMove(current.status, status)) throw new PublicError(8801)
    return withStatus(current, { status, at: now(), note })
  }
  const stored = await runner.update(keyOfChargeback(found), decide, found)
  if (!stored) throw new PublicError(12001)
  return runner.runEffects(stored)
}

/**
 * Adds a file to a chargeback, which the merchant then sees. The file is claimed for the chargeback first, so no other one
 * can have it; a repetition changes nothing. Throws 12001 for an unknown chargeback, 13001 to 13004 and 9000 for a file that
 * cannot be used, and 8801 for one more than 20.
 */
export async function addEvidence(
  { chargebacks, runner, attachments }: ChargebackDeps,
  chargeback_id: string,
  attachment_id: string,
): Promise<Stored<Chargeback>> {
  const found = await getChargeback(chargebacks, chargeback_id)
  const { merchant_id, environment } = found
  return withClaimed(
    attachments,
    {
      merchant_id,
      environment,
      purpose: 'chargeback_evidence',
      attachment_ids: [attachment_id],
      used_by: `chargeback:${chargeback_id}`,
    },
    async ({ files: [file], assertHeld }) => {
      const decide = (current: Chargeback): Chargeback | undefined => {
        assertHeld()
        return file && withEvidence(current, file, now())
      }
      const stored = await runner.update(keyOfChargeback(found), decide, found)
      if (!stored || !hasFile(stored.evidence, attachment_id)) throw new PublicError(8801)
      return stored
    },
  )
}

/** Whether a chargeback was stored and has a file (F7). */
export async function isUsedByChargeback(
  chargebacks: ChargebackDeps['chargebacks'],
  { merchant_id, environment, attachment_id }: AttachmentUse,
  chargeback_id: string,
): Promise<boolean> {
  const chargeback = await chargebacks.get(keyOfChargeback({ merchant_id, environment, chargeback_id }))
  return chargeback !== undefined && hasFile(chargeback.evidence, attachment_id)
}
