import type { Keys } from '#lib/base/crypto/keys.ts'
import { createKeyedCount } from '#lib/base/limit.ts'
import { clock } from '#lib/base/time.ts'
import { PublicError } from '#lib/contract/errors/public-error.ts'
import type { IpRanges } from '#lib/http/address-policy.ts'
import { type ConnectionLimit, peerOf } from '#lib/http/connection-limit.ts'
import type { StreamHandler } from '#lib/http/internal-link.ts'
import { clientAddress } from '#lib/http/trusted-proxies.ts'
import { type AttachmentLink, type LinkKind, openLink } from '#lib/patterns/attachment-link.ts'
import type { Exchange } from '../http/exchange.ts'
import type { ExchangeLog } from '../http/exchange-log.ts'
import { HTTP_LIMITS } from '../http/http-limits.ts'
import { CONCURRENCY_BUCKET, createLimitRefusal } from '../http/limit-refusal.ts'
import { checkRequestHead } from '../http/request-head.ts'
import type { Responder } from '../http/response.ts'
import type { FloodLimiter } from '../limits/flood-limiter.ts'

/** What the paths of transfers need. */
export interface TransferDeps {
  /** Opens the links that the attachments service has made. */
  readonly keys: Keys<'link'>
  /** Sends a stream to that service. */
  readonly sendToAttachments: StreamHandler
  readonly connections: ConnectionLimit
  readonly flood: FloodLimiter
  readonly trusted_proxies: IpRanges | undefined
  /** The time by which links expire: the clock of the store (R8). */
  readonly now_ms: () => number
  readonly responder: Responder
  readonly exchange_log: ExchangeLog
}

/** Opens transfers; one per gateway, because it counts those in progress. */
export type OpenTransfer = ReturnType<typeof createOpenTransfer>

/**
 * Makes the function that begins a transfer: it proves the link and counts the transfer. It throws 13001 for a link that
 * is not one of ours or has expired (an expired session is the service's to refuse), 1000 with HTTP 429 when the merchant
 * or the link has too many transfers in progress or the network too many false links, and 2002 when the gateway has.
 */
export function createOpenTransfer(deps: TransferDeps) {
  const shares = createTransferShares()
  return (exchange: Exchange, kind: LinkKind, target: RegExp) => {
    const { request, context } = exchange
    context.method = `attachment.${kind}`
    checkRequestHead(request)
    const [, sealed = ''] = target.exec(request.url ?? '') ?? []
    const link = openLink(deps.keys.link, kind, sealed)
    // A false link is counted like a false signature, so that no caller can try many.
    if (link === undefined)
      throw deps.flood.recordFailure(clientAddress(request, deps.trusted_proxies)) ?? new PublicError(13001)
    context.merchant_id = link.merchant_id
    context.environment = link.environment
    const has_expired = link.expires_at.getTime() <= deps.now_ms()
    if (kind === 'download' && has_expired) throw new PublicError(13001)
    // A link of long ago proves nothing about who holds it now.
    if (!has_expired) deps.connections.markAuthenticated(peerOf(request.socket))
    const endShares = shares.begin(link, kind)
    const ending = new AbortController()
    const timeout = clock.after(HTTP_LIMITS.upload_timeout_ms, () => ending.abort())
    let has_ended = false
    return {
      link,
      /** The proof, which the attachments service checks again. */
      sealed,
      /** Aborts when the time of the transfer is over, or when `end` was called. */
      signal: ending.signal,
      /** Ends the transfer, also on the side of the attachments service. */
      end(): void {
        if (has_ended) return
        has_ended = true
        endShares()
        timeout.cancel()
        ending.abort()
      },
    }
  }
}

/** Other transfers end at an unknown time; clients should not ask at once again. */
const RETRY_AFTER_MS = 1_000
/** The key of the transfers of the whole process. */
const ALL = 'all'

/**
 * Makes the limits of the transfers in progress in this process, so that neither a merchant nor the holder of one link takes
 * them all.
 */
function createTransferShares() {
  const count = createKeyedCount()
  const { transfers_max, merchant_transfers_max, link_transfers_max } = HTTP_LIMITS
  return {
    /**
     * Counts one more transfer; returns the function that ends it. Throws 1000 (429) when the merchant or the link has too
     * many (E10), and 2002 when the process has.
     */
    begin({ merchant_id, environment, attachment_id, expires_at }: AttachmentLink, kind: LinkKind) {
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
