import { fieldError, PublicError } from '#lib/contract/errors/public-error.ts'
import type { HeldBody } from '../hostile-connections/body-memory-budget.ts'
import { isTooFragmented } from '../hostile-connections/fragmented-body.ts'
import { closeAfterResponse } from '../hostile-connections/lingering-close.ts'
import type { Exchange } from './exchange.ts'
import { BODY_MAX_BYTES, HTTP_LIMITS } from './http-limits.ts'

/**
 * The bytes of the body, exactly as they came: signatures are over them. More than 1 MiB is 1003, told at once when
 * the length is announced, and so is one that comes in crumbs; a long body that cannot be held now is told to come again
 * (2002). Rejects with a `CallerGone` when the connection breaks first. What was taken of `held` is the caller's to
 * release once it lets go of the bytes: of a long body the request keeps nothing.
 */
export function readBody(
  { request, response }: Pick<Exchange, 'request' | 'response'>,
  held: HeldBody,
): Promise<Buffer> {
  const announced = Number(request.headers['content-length'] ?? Number.NaN)
  if (announced > BODY_MAX_BYTES) return Promise.reject(fieldError(1003, 'body'))
  return new Promise((resolve, reject) => {
    let body: Buffer | undefined
    let length = 0
    let pieces = 0
    const settle = (error?: Error): void => {
      // The request lives until its answer is there, and with its listeners so does what they know. Of a short body that
      // is less than it costs to take them off.
      if (error !== undefined || length > HTTP_LIMITS.short_body_bytes)
        request.off('data', take).off('end', settle).off('error', broke)
      if (error === undefined) resolve(body?.subarray(0, length) ?? Buffer.alloc(0))
      else reject(error)
    }
    const take = (piece: Buffer): void => {
      length += piece.length
      pieces += 1
      if (isTooFragmented(pieces, length)) {
        closeAfterResponse(response)
        settle(fieldError(1003, 'body'))
      } else if (length > BODY_MAX_BYTES) settle(fieldError(1003, 'body'))
      else if (!held.take(piece.length)) settle(new PublicError(2002))
      else if (pieces === 1 && piece.length === announced) body = piece
      else body = appended(body, length, piece)
    }
    const broke = (cause: Error): void => settle(new RequestAborted('the connection broke', { cause }))
    request.on('data', take).on('end', settle).on('error', broke)
  })
}

/**
 * The body so far and one piece more. It is copied into one buffer that doubles: a piece by itself, however small,
 * keeps all of the 64 KiB that the socket read it into.
 */
function appended(body: Buffer | undefined, length: number, piece: Buffer): Buffer {
  let room = body
  if (room === undefined || room.length < length) {
    room = Buffer.allocUnsafeSlow(Math.max(PIECE_ROOM_BYTES, 2 * length))
    body?.copy(room)
  }
  piece.copy(room, length - piece.length)
  return room
}

const PIECE_ROOM_BYTES = 512

/** The caller broke off before its request was complete: there is nobody to answer and nothing was done. */
export class RequestAborted extends Error {
  override readonly name = 'CallerGone'
}
