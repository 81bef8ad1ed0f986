import type { IncomingMessage, ServerResponse } from 'node:http'
import { fromBinary } from '@bufbuild/protobuf'
import { AttachmentSchema } from '#gen/multihub/attachments/v1/attachment_pb.ts'
import { UPLOAD_PATH } from '#lib/contract/attachments.ts'
import { fieldError, PublicError } from '#lib/contract/errors/public-error.ts'
import type { AttachmentLink } from '#lib/patterns/attachment-link.ts'
import { INTERNAL_UPLOAD_PATH, readShort, sendTransfer } from '#lib/patterns/attachment-transfer.ts'
import { closeAfterResponse } from '../http/lingering-close.ts'
import { isTooFragmented, RequestAborted } from '../http/request-body.ts'
import { hasHeader, singleHeader } from '../http/request-head.ts'
import type { PublicPath } from '../http/server.ts'
import { ATTACHMENT_VIEW } from '../methods/attachments.ts'
import { UPLOAD_TARGET } from '../paths.ts'
import type { OpenTransfer, TransferDeps } from './open-transfer.ts'

/**
 * The path to which merchants send the bytes of an attachment (F2). The link is the proof, so the request has no signature
 * and its response neither. The bytes pass through without being kept.
 */
export function uploadPath(deps: TransferDeps, openTransfer: OpenTransfer): PublicPath {
  return {
    path: `${UPLOAD_PATH}:link`,
    target: UPLOAD_TARGET,
    verb: 'PUT',
    async serve(exchange) {
      const { request, response } = exchange
      const transfer = openTransfer(exchange, 'upload', UPLOAD_TARGET)
      const { link, sealed, signal } = transfer
      const upload = uploadBodyOf(request)
      try {
        checkUploadHead(request, link)
        const { body } = await sendTransfer(deps, {
          method: 'PUT',
          path: INTERNAL_UPLOAD_PATH + sealed,
          headers: { 'content-length': String(link.size_bytes) },
          body: upload.bytes,
          signal,
        })
        const attachment = fromBinary(AttachmentSchema, await readShort(body))
        deps.responder.sendSuccess(exchange, { attachment: ATTACHMENT_VIEW.render(attachment) })
      } catch (error) {
        throw upload.refusal() ?? reasonOf(error, request, response, signal)
      } finally {
        transfer.end()
      }
    },
  }
}

/** Refuses an upload that cannot be right before its first byte: 1006 for the type, 1005 and 9000 for the length. */
function checkUploadHead({ rawHeaders }: IncomingMessage, { mime_type, size_bytes }: AttachmentLink): void {
  const content_type = singleHeader(rawHeaders, 'content-type')
  if (content_type !== mime_type || hasHeader(rawHeaders, 'content-encoding')) throw new PublicError(1006)
  const length = singleHeader(rawHeaders, 'content-length')
  if (length === undefined) throw fieldError(1005, 'content-length')
  if (length !== String(size_bytes)) throw fieldError(9000, 'content-length', `${size_bytes} bytes`)
}

/** What the caller gets. A broken connection and a body that is too slow make the stream fail in ways of their own. */
function reasonOf(
  error: unknown,
  request: IncomingMessage,
  response: ServerResponse,
  signal: AbortSignal,
): unknown {
  if (request.destroyed && !request.complete)
    return new RequestAborted('the connection broke', { cause: error })
  if (!signal.aborted) return error
  closeAfterResponse(response)
  return fieldError(1003, 'body')
}

/**
 * Passes the bytes of a request on as they arrive. Stops when they are too fragmented (1003). The request itself stays open
 * when they are not read to the end, so that its response can be sent.
 */
export function uploadBodyOf(request: Pick<IncomingMessage, 'iterator'>) {
  let refusal: PublicError | undefined
  async function* bytes(): AsyncGenerator<Uint8Array> {
    let fragments = 0
    let length = 0
    for await (const chunk of request.iterator({ destroyOnReturn: false })) {
      fragments += 1
      length += chunk.length
      if (isTooFragmented(fragments, length)) {
        refusal = fieldError(1003, 'body')
        throw refusal
      }
      yield chunk
    }
  }
  return {
    bytes: bytes(),
    /** Why the gateway stopped it; `undefined` unless it did. The service sees only that the bytes broke off. */
    refusal: () => refusal,
  }
}
