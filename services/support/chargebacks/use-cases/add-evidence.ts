import { now } from '#lib/base/time.ts'
import { PublicError } from '#lib/contract/errors/public-error.ts'
import type { Stored } from '#lib/store/store.ts'
import { type AttachmentClaims, withClaimed } from '../../use-cases/claim-attachments.ts'
import { type Chargeback, hasEvidence, withEvidence } from '../domain/chargeback.ts'
import { findChargebackById, keyOfChargeback } from '../store/chargebacks.ts'
import type { ChargebacksDeps } from './record-chargeback.ts'

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
