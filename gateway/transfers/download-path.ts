import { DOWNLOAD_PATH } from '#lib/contract/attachments.ts'
import { isPrematureClose } from '#lib/http/internal-link.ts'
import {
  downloadHeaders,
  INTERNAL_DOWNLOAD_PATH,
  pipeDownload,
  sendTransfer,
} from '#lib/patterns/attachment-transfer.ts'
import { toPublicError } from '#lib/rpc/errors.ts'
import { drainRequest } from '../http/request-body.ts'
import type { PublicPath } from '../http/server.ts'
import { DOWNLOAD_TARGET } from '../paths.ts'
import type { OpenTransfer, TransferDeps } from './open-transfer.ts'

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
      response.once('close', () => transfer.end())
      try {
        const path = INTERNAL_DOWNLOAD_PATH + sealed
        const download = await sendTransfer(deps, { method: 'GET', path, signal })
        response.writeHead(200, { ...downloadHeaders(link, download), 'X-Request-ID': request_id })
        if (!request.complete) drainRequest(request, response)
        await pipeDownload(download.body, response, signal)
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
