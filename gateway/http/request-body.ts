import type { IncomingMessage, ServerResponse } from 'node:http'
import { clock } from '#lib/base/time.ts'
import { fieldError, PublicError } from '#lib/contract/errors/public-error.ts'
import type { BodyReservation } from './body-memory.ts'
import type { Exchange } from './exchange.ts'
import { BODY_MAX_BYTES, HTTP_LIMITS } from './http-limits.ts'
import { closeAfterResponse, closeLingering } from './lingering-close.ts'

/** The exact bytes of a body, because signatures cover them. Throws 2002 when it was dropped to make room for others. */
export type ReceivedBody = () => Buffer

/**
 * Reads the body.
 *
 * Rejects with 1003 for more than 1 MiB (at once when the length is announced), for a body that is too fragmented, for one that
 * is neither complete nor longer than `short_body_bytes` after `short_body_timeout_ms`, and for one that is not complete after
 * `request_timeout_ms`. Rejects with 2002 when no memory can be reserved or the body is dropped to make room for others, and
 * with `RequestAborted` when the connection breaks. The caller releases the reservation when it drops the bytes; the request
 * itself keeps no long body alive.
 */
export function readBody(
  { request, response }: Pick<Exchange, 'request' | 'response'>,
  reservation: BodyReservation,
): Promise<ReceivedBody> {
  const announced = Number(request.headers['content-length'] ?? Number.NaN)
  if (announced > BODY_MAX_BYTES) return Promise.reject(fieldError(1003, 'body'))
  return new Promise((resolve, reject) => {
    let body: Buffer | undefined
    let length = 0
    let fragments = 0
    const finish = (error?: Error): void => {
      // The request lives until its response is sent, and its listeners keep the body alive that long. For short bodies,
      // removing the listeners costs more than keeping them.
      timeout.cancel()
      if (error !== undefined || length > HTTP_LIMITS.short_body_bytes)
        request.off('data', append).off('end', finish).off('error', abort)
      if (error === undefined) resolve(bytes)
      else reject(error)
    }
    let is_dropped = false
    const bytes: ReceivedBody = () => {
      if (is_dropped) throw new PublicError(2002)
      return body?.subarray(0, length) ?? Buffer.alloc(0)
    }
    reservation.onDropped(() => {
      is_dropped = true
      body = undefined
      // A complete body waits for its authentication, which then meets the 2002.
      if (request.complete) return
      closeAfterResponse(response)
      finish(new PublicError(2002))
    })
    const append = (fragment: Buffer): void => {
      length += fragment.length
      fragments += 1
      if (isTooFragmented(fragments, length)) refuseAndClose()
      else if (length > BODY_MAX_BYTES) finish(fieldError(1003, 'body'))
      else if (!reservation.reserve(fragment.length)) finish(new PublicError(2002))
      else if (fragments === 1 && fragment.length === announced) body = fragment
      else body = appendFragment(body, length, fragment)
    }
    const abort = (cause: Error): void => finish(new RequestAborted('the connection broke', { cause }))
    const refuseAndClose = (): void => {
      closeAfterResponse(response)
      finish(fieldError(1003, 'body'))
    }
    let timeout = clock.after(HTTP_LIMITS.short_body_timeout_ms, () => {
      if (length <= HTTP_LIMITS.short_body_bytes) return refuseAndClose()
      timeout = clock.after(
        HTTP_LIMITS.request_timeout_ms - HTTP_LIMITS.short_body_timeout_ms,
        refuseAndClose,
      )
    })
    request.on('data', append).on('end', finish).on('error', abort)
  })
}

/**
 * Copies a fragment to the end of the body, whose length is then `length`. The buffer doubles when it is full. Fragments
 * are not kept themselves, because each, however small, keeps the 64 KiB buffer alive that the socket read it into.
 */
function appendFragment(body: Buffer | undefined, length: number, fragment: Buffer): Buffer {
  let buffer = body
  if (buffer === undefined || buffer.length < length) {
    buffer = Buffer.allocUnsafeSlow(Math.max(BUFFER_MIN_BYTES, 2 * length))
    body?.copy(buffer)
  }
  fragment.copy(buffer, length - fragment.length)
  return buffer
}

const BUFFER_MIN_BYTES = 512

/** The caller closed the connection before its request was complete: nothing was done, and nothing can be answered. */
export class RequestAborted extends Error {
  override readonly name = 'RequestAborted'
}

/**
 * Whether a body of `bytes` arrived in more fragments than any legitimate client sends. A fragment of one byte costs as
 * much processor time as one of a thousand.
 */
export function isTooFragmented(fragments: number, bytes: number): boolean {
  return fragments > HTTP_LIMITS.body_fragments_base + bytes / HTTP_LIMITS.bytes_per_fragment
}

/**
 * Reads and discards the rest of a request that is already answered. So a client that is still sending can read the
 * response, and the next request on the connection is found. Closes the connection when the rest is too fragmented, or not
 * complete after `request_timeout_ms`.
 */
export function drainRequest(request: IncomingMessage, response: ServerResponse): void {
  let bytes = 0
  let fragments = 0
  // The response was sent long ago, so a caller that is still sending has had the time to read it.
  const timeout = clock.after(HTTP_LIMITS.request_timeout_ms, () => request.destroy())
  const cancel = (): void => timeout.cancel()
  request.once('end', cancel).once('close', cancel)
  const discard = (fragment: Buffer): void => {
    bytes += fragment.length
    fragments += 1
    if (!isTooFragmented(fragments, bytes)) return
    request.off('data', discard)
    closeAfterResponse(response)
  }
  request.on('data', discard)
  const { socket } = request
  // After a response with `Connection: close` Node calls this. Its own version closes at once, and bytes that arrive
  // later would reset the connection.
  socket.destroySoon = () => closeLingering(socket)
}
