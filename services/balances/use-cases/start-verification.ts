import { uuidv7 } from '#lib/base/ids.ts'
import { now } from '#lib/base/time.ts'
import type { LedgerVerification } from '../domain/verification.ts'
import type { Verifications } from '../store/verifications.ts'
import { isFinished, type VerificationProgress } from './get-verification.ts'

/**
 * Starts a verification of the ledger, which the verifiers of all processes do in the background. While one is running,
 * a call changes nothing, so it may be repeated. With one exception: a verification from the first batch replaces a
 * running one that began where the verification before it had ended.
 */
export async function startVerification(
  verifications: Verifications,
  from_first_batch: boolean,
): Promise<VerificationProgress> {
  const next: LedgerVerification = { verification_id: uuidv7(), from_first_batch, started_at: now() }
  const shards = await verifications.listShards()
  const stored = await verifications.updateCurrent((current) => {
    const is_running = current && !isFinished(current, shards)
    const covers_request = current?.from_first_batch || !from_first_batch
    return is_running && covers_request ? undefined : next
  })
  return { verification: stored ?? next, is_finished: false, shards }
}
