import { now } from '#lib/base/time.ts'
import { PublicError } from '#lib/contract/errors/public-error.ts'
import type { Collection, Stored } from '#lib/store/store.ts'
import type { MerchantScope } from '../../domain/support-resource.ts'
import type { AttachmentUse } from '../../use-cases/attachment-use.ts'
import { type AttachmentClaims, withClaimed } from '../../use-cases/claim-attachments.ts'
import {
  type Chargeback,
  type ChargebackHistoryEntry,
  canMove,
  hasEvidence,
  withEvidence,
  withStatus,
} from '../domain/chargeback.ts'
import { findChargebackById, keyOfChargeback } from '../store/chargebacks.ts'
import type { ChargebacksDeps } from './open-chargeback.ts'

/** Finds a merchant's chargeback. Throws 12001, also for a chargeback of another merchant or environment. */
export async function findChargeback(
  chargebacks: Collection<Chargeback>,
  query: MerchantScope & Pick<Chargeback, 'chargeback_id'>,
): Promise<Stored<Chargeback>> {
  const chargeback = await chargebacks.get(keyOfChargeback(query))
  if (!chargeback) throw new PublicError(12001)
  return chargeback
}

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

/** What adding evidence needs. */
export interface AddEvidenceDeps extends ChargebacksDeps {
  readonly attachments: AttachmentClaims
}

/**
 * Adds a file to a chargeback, which the merchant then sees. The file is claimed for the chargeback first, so no other one can
 * have it; a repetition changes nothing. Throws 12001 for an unknown chargeback, 13001 to 13004 and 9000 for a file that cannot
 * be used, and 8801 for one more than 20.
 */
export async function addEvidence(
  { chargebacks, runner, attachments }: AddEvidenceDeps,
  chargeback_id: string,
  attachment_id: string,
): Promise<Stored<Chargeback>> {
  const found = await findChargebackById(chargebacks, chargeback_id)
  if (!found) throw new PublicError(12001)
  const { merchant_id, environment } = found
  return withClaimed(
    attachments,
    {
      merchant_id,
      environment,
      purpose: 'chargeback_evidence',
      attachment_ids: [attachment_id],
      claim_owner: `chargeback:${chargeback_id}`,
    },
    async ({ files: [file], assertHeld }) => {
      const decide = (current: Chargeback): Chargeback | undefined => {
        assertHeld()
        return file && withEvidence(current, file, now())
      }
      const stored = await runner.update(keyOfChargeback(found), decide, found)
      if (!stored || !hasEvidence(stored, attachment_id)) throw new PublicError(8801)
      return stored
    },
  )
}

/** Whether a chargeback was stored and has a file (F7). */
export async function isUsedByChargeback(
  chargebacks: Collection<Chargeback>,
  { merchant_id, environment, attachment_id }: AttachmentUse,
  chargeback_id: string,
): Promise<boolean> {
  const chargeback = await chargebacks.get(keyOfChargeback({ merchant_id, environment, chargeback_id }))
  return chargeback !== undefined && hasEvidence(chargeback, attachment_id)
}
