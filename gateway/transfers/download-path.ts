import { pipeline } from 'node:stream/promises'
import { type AttachmentType, DOWNLOAD_PATH } from '#lib/contract/attachments.ts'
import { isPrematureClose } from '#lib/http/internal-link.ts'
import { INTERNAL_DOWNLOAD_PATH } from '#lib/patterns/attachment-transfer.ts'
import { toPublicError } from '#lib/rpc/errors.ts'
import { drainRequest } from '../http/request-body.ts'
import type { PublicPath } from '../http/server.ts'
import { DOWNLOAD_TARGET } from '../paths.ts'
import { type OpenTransfer, sendTransfer, type TransferDeps } from './open-transfer.ts'

/** The type of a download, as browsers need it. There is no other (F6). */
const CONTENT_TYPES: Readonly<Record<AttachmentType, string>> = {
  'application/pdf': 'application/pdf',
  'image/png': 'image/png',
  'image/jpeg': 'image/jpeg',
  'image/webp': 'image/webp',
  'text/plain': 'text/plain; charset=utf-8',
  'text/csv': 'text/csv; charset=utf-8',
}

/** Every browser saves the file and neither guesses its type, runs it, keeps it, nor tells another site of the link. */
const SAFETY_HEADERS = {
  'X-Content-Type-Options': 'nosniff',
  'Content-Security-Policy': "sandbox; default-src 'none'",
  'Cross-Origin-Resource-Policy': 'same-origin',
  'Referrer-Policy': 'no-referrer',
  'Cache-Control': 'private, no-store',
} as const

const LISTENERS_MAX = 20

/** The path from which the holder of a link downloads an attachment (F6). The bytes pass through without being kept. */
export function downloadPath(deps: TransferDeps, openTransfer: OpenTransfer): PublicPath {
  return {
    path: `${DOWNLOAD_PATH}:link`,
    target: DOWNLOAD_TARGET,
    verb: 'GET',
    async serve(exchange) {
      const { request, response, request_id } = exchange
      const transfer = openTransfer(exchange, 'download', DOWNLOAD_TARGET)
      const { link, sealed, signal } = transfer
      // A pipeline alone listens to the close eight times, so Node's limit of ten would warn of a leak.
      response.setMaxListeners(LISTENERS_MAX)
      response.once('close', () => transfer.end())
      try {
        const path = INTERNAL_DOWNLOAD_PATH + sealed
        const { body, headers } = await sendTransfer(deps, { method: 'GET', path, signal })
        response.writeHead(200, {
          'Content-Type': CONTENT_TYPES[link.mime_type],
          'Content-Length': String(link.size_bytes),
          'Content-Disposition': String(headers['content-disposition'] ?? 'attachment'),
          ...SAFETY_HEADERS,
          'X-Request-ID': request_id,
        })
        if (!request.complete) drainRequest(request, response)
        await pipeline(body, response, { signal })
        deps.exchange_log.logSuccess(exchange, 200)
      } catch (error) {
        if (!response.headersSent) throw error
        // The response was cut off, which its length shows to a caller that is still there.
        if (isPrematureClose(error) || signal.aborted) deps.exchange_log.logAborted(exchange)
        else deps.exchange_log.logFailure(exchange, toPublicError(error))
      } finally {
        transfer.end()
      }
    },
  }
}
