import { PublicError } from '#lib/contract/errors/public-error.ts'
import type { AttachmentLink, LinkKind } from '#lib/patterns/attachment-link.ts'
import { HTTP_LIMITS } from '../http/http-limits.ts'
import { CONCURRENCY_BUCKET, createLimitRefusal } from '../http/refusal.ts'
import { createKeyedCount } from '../limits/keyed-count.ts'

/** Limits the transfers in progress in this process, so that neither a merchant nor the holder of one link takes them all. */
export interface TransferShares {
  /**
   * Counts one more transfer; returns the function that ends it. Throws 1000 (429) when the merchant or the link has too
   * many (E10), and 2002 when the process has.
   */
  begin(link: AttachmentLink, kind: LinkKind): () => void
}

/** Other transfers end at an unknown time; clients should not ask at once again. */
const RETRY_AFTER_MS = 1_000
/** The key of the transfers of the whole process. */
const ALL = 'all'

/** Makes the limits of one process. */
export function createTransferShares(): TransferShares {
  const count = createKeyedCount()
  const { transfers_max, merchant_transfers_max, link_transfers_max } = HTTP_LIMITS
  return {
    begin({ merchant_id, environment, attachment_id, expires_at }, kind) {
      const merchant = `${merchant_id} ${environment}`
      const shares = [
        [`${merchant} ${kind} ${attachment_id} ${expires_at.getTime()}`, link_transfers_max],
        [merchant, merchant_transfers_max],
        [ALL, transfers_max],
      ] as const
      const ends: (() => void)[] = []
      const end = (): void => {
        for (const endOne of ends) endOne()
      }
      for (const [key, limit] of shares) {
        const endOne = count.begin(key, limit)
        if (endOne !== undefined) {
          ends.push(endOne)
          continue
        }
        end()
        throw key === ALL
          ? new PublicError(2002)
          : createLimitRefusal({ bucket: CONCURRENCY_BUCKET, limit, retry_after_ms: RETRY_AFTER_MS })
      }
      return end
    },
  }
}
